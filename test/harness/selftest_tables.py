# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the harness: steps of both forms, the table of --changed, and what a change selects."""

import dataclasses
import os
import shutil
import subprocess
import sys

import changed
import parts
import parts_basic
import parts_conformance
import parts_system
from parts_build import BUILD
from settings import SOURCE, Settings

sys.path += [os.path.join(SOURCE, "test", "lint"), os.path.join(SOURCE, "test", "system")]
import run as system_run  # noqa: E402
from source_files import source_files  # noqa: E402


def tests(folder):
    for long in (False, True):
        form = "long" if long else "short"
        run = Settings(folder, os.path.join(folder, "logs"), long=long, jobs=2)
        steps = parts.with_builds(run, parts.steps_of(run, parts.PARTS))
        yield f"{form} form: each step has a name of its own, and logs of its own", list(_doubles(steps))
        yield f"{form} form: every step that another one waits for exists", list(_unknown(steps))
        yield f"{form} form: every program of a step is there", list(_missing(steps))
        yield f"{form} form: every filter of a step matches a case", list(_unmatched(steps))
    quick = parts.steps_of(run, parts.QUICK)
    yield "--quick names steps that exist", [] if len(quick) > len(parts.QUICK) else [str(quick)]
    unbuilt = parts.with_builds(Settings(folder, folder, with_build=False), quick)
    yield "--no-build neither installs nor configures", [step.id for step in unbuilt if step.id in ("install", "build")]
    yield "a lint that uses a program of the distribution waits for the installation", list(_hasty())
    yield "one step with sanitizers brings the one that counts their reports", _lonely(run)
    yield from _covered(folder)
    yield from _conformance(folder)
    yield "--changed names only parts that exist", sorted({one for row in changed.TABLE.values() for one in row} - {*parts.PARTS})
    yield "--changed has a row for every folder and file of the top, and of test", list(_without_row())
    yield "--changed has no row for what does not exist", [row for row in changed.TABLE if not os.path.exists(os.path.join(SOURCE, row))]
    for path, expected in (("docs/glossary.md", {"lint"}), ("nowhere/a.c", {*parts.PARTS}), ("core/subdir.am", {*parts.PARTS}),
                           ("docs/conformance.md", {"lint", "conformance"}), ("test/bench/load.py", {"lint", "bench"}),
                           ("test/harness/backends_in_vm.sh", {"lint", "vm"})):
        found = set(changed.parts_of(path)[0])
        yield f"--changed: {path}", [] if found == expected else [f"expected {sorted(expected)}, found {sorted(found)}"]
    title = "--changed sees what is committed, edited and new"
    if shutil.which("git"):
        yield title, _in_clone(os.path.join(folder, "clone"))
    else:
        yield f"{title} # SKIP git is not installed", []


def _doubles(steps):
    for names in ([step.id for step in steps], [step.file for step in steps]):
        yield from sorted({name for name in names if names.count(name) > 1})


def _unknown(steps):
    known = {step.id for step in steps}
    for step in steps:
        yield from (f"{step.id}: {name}" for name in {*step.needs, *step.after} - known)


def _hasty():
    for name in {*parts_basic.LINT} - {*parts_basic.LINT_WITH_PACKAGES}:
        with open(os.path.join(SOURCE, "test", "lint", name), encoding="utf-8") as file:
            if "shutil.which(" in file.read():
                yield name


def _missing(steps):
    for step in steps:
        command = [] if callable(step.command) else step.command
        yield from (f"{step.id}: {word}" for word in command
                    if word.startswith(SOURCE + os.sep) and " " not in word and not os.path.exists(word))


def _covered(folder):
    run = Settings(folder, os.path.join(folder, "logs"))
    alone = {step.id: _trials(step.command) for step in parts.steps_of(run, ["system", "swap"]) if step.id in parts_system.COVERED}
    beside = {step.id: step for step in parts.steps_of(run, parts.PARTS)}
    for name, (other, _) in parts_system.COVERED.items():
        rest, covered = _trials(beside[name].command), _trials(beside[other].command)
        yield f"{name} omits only what {other} runs", sorted(map(str, alone[name] - rest - covered))
        yield f"{name} omits something beside {other}, and nothing alone", [] if rest < alone[name] else [f"{len(rest)} trials"]


def _trials(command):
    """What a step of test/system/run.py runs: names of cases, each with a family and a protocol."""
    program = next(place for place, word in enumerate(command) if word.endswith("system/run.py"))
    wanted = system_run.options(command[program + 1:])
    return {(one.test, *pair) for one in system_run.load_cases() if system_run.chosen(one, wanted)
            for source in system_run.sources_of(one, wanted) for pair in system_run.parameters(one, wanted, source)}


def _unmatched(steps):
    """Filters that would choose nothing, or exclude nothing, without a word."""
    known = system_run.load_cases()
    for step in steps:
        words = [] if callable(step.command) or not any(str(word).endswith("system/run.py") for word in step.command) else step.command
        for option, text in zip(words, words[1:]):
            if option in ("--filter", "--except") and not any(system_run.matches(one, text) for one in known):
                yield f"{step.id}: {option} {text}"


def _lonely(run):
    found = [step.name for step in parts.steps_of(run, ["asan/unit_tests"])]
    return [] if found == ["detection", "unit_tests", "reports"] else found


def _conformance(folder):
    """The results that part conformance reads."""
    def asked(run, *chosen):
        """(Steps that must have left results, steps that are not read, needs)."""
        step = next(one for one in parts.steps_of(run, [*chosen, "conformance"]) if one.part == parts_conformance.PART)
        words = step.command
        return ({words[place + 1] for place, word in enumerate(words) if word == "--step"},
                {words[place + 1] for place, word in enumerate(words) if word == "--absent"}, step.needs)

    def expect(found, expected):
        return [] if found == expected else [f"expected {expected}", f"found    {found}"]

    run = Settings(folder, os.path.join(folder, "logs"))
    steps = parts.steps_of(run, parts.PARTS)
    writing = {step.id for step in steps if step.records}
    step = next(step for step in steps if step.id == parts_conformance.PART)
    yield "conformance runs after every step whose results it reads", expect({*step.after}, writing)
    yield "conformance reads what the steps of the page write", \
        [] if writing >= {"system/iptables", "system/legacy", "swap/userspace", "swap/legacy", "vm/ipvs-swap"} else [str(writing)]
    yield "a step knows the result file that it writes", \
        [step.id for step in steps if step.records and (step.records not in step.command or step.part not in ("system", "swap", "vm"))]
    yield "the whole run must leave all results", expect(asked(run, *parts.PARTS), (writing, set(), (BUILD,)))
    yield "conformance alone reads none, and needs no build", expect(asked(run), (set(), writing, ()))
    yield "a part of the run must leave its results", expect(asked(run, "swap"), (
        {name for name in writing if name.startswith("swap/")}, {name for name in writing if not name.startswith("swap/")}, (BUILD,)))
    filtered = dataclasses.replace(run, words=("nothing has this name",))
    yield "with --filter conformance reads no results", expect(asked(filtered, "swap"), (set(), writing, ()))
    there = os.path.join(folder, "earlier.json")
    with open(there, "w", encoding="utf-8") as file:
        file.write("{}")
    parts_conformance.remove_earlier([dataclasses.replace(step, records=there), dataclasses.replace(step, records=f"{there}.none")])
    yield "results of an earlier run are removed", [there] if os.path.exists(there) else []


def _without_row():
    for name in source_files(SOURCE):
        first, _, rest = name.partition("/")
        expected = f"test/{rest.partition('/')[0]}" if first == "test" else first
        if expected not in changed.TABLE:
            yield expected


def _in_clone(clone):
    def git(*words):
        subprocess.run(["git", "-C", clone, "-c", "user.name=t", "-c", "user.email=t@localhost", *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def write(name):
        with open(os.path.join(clone, name), "a", encoding="utf-8") as file:
            file.write("x\n")

    os.makedirs(clone)
    git("init", "-b", "main")
    for name in ("one", "two", "three"):
        write(name)
        git("add", name)
    git("commit", "-m", "first")
    git("checkout", "-b", "work")
    write("one")
    git("commit", "-a", "-m", "second")
    write("two")
    write("four")
    found = changed.files(clone, changed.base_of(clone, ""))
    return [] if found == {"one": False, "two": False, "four": True} else [str(found)]
