# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the harness: steps of both forms, the table of --changed, and what a change selects."""

import os
import shutil
import subprocess
import sys

import changed
import parts
from settings import SOURCE, Settings

sys.path.append(os.path.join(SOURCE, "test", "lint"))
from source_files import source_files  # noqa: E402


def tests(folder):
    for long in (False, True):
        form = "long" if long else "short"
        run = Settings(folder, os.path.join(folder, "logs"), long=long, jobs=2)
        steps = parts.with_builds(run, parts.steps_of(run, parts.PARTS))
        yield f"{form} form: each step has a name of its own, and logs of its own", list(_doubles(steps))
        yield f"{form} form: every step that another one waits for exists", list(_unknown(steps))
        yield f"{form} form: every program of a step is there", list(_missing(steps))
    quick = parts.steps_of(run, parts.QUICK)
    yield "--quick names steps that exist", [] if len(quick) > len(parts.QUICK) else [str(quick)]
    unbuilt = parts.with_builds(Settings(folder, folder, with_build=False), quick)
    yield "--no-build neither installs nor configures", [step.id for step in unbuilt if step.id in ("install", "build")]
    yield "one step with sanitizers brings the one that counts their reports", _lonely(run)
    yield "--changed names only parts that exist", sorted({one for row in changed.TABLE.values() for one in row} - {*parts.PARTS})
    yield "--changed has a row for every folder and file of the top, and of test", list(_without_row())
    yield "--changed has no row for what does not exist", [row for row in changed.TABLE if not os.path.exists(os.path.join(SOURCE, row))]
    for path, expected in (("docs/operations.md", {"lint"}), ("nowhere/a.c", {*parts.PARTS}), ("core/subdir.am", {*parts.PARTS}),
                           ("test/bench/load.py", {"lint", "bench"}), ("test/harness/backends_in_vm.sh", {"lint", "vm"})):
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


def _missing(steps):
    for step in steps:
        command = [] if callable(step.command) else step.command
        yield from (f"{step.id}: {word}" for word in command
                    if word.startswith(SOURCE + os.sep) and " " not in word and not os.path.exists(word))


def _lonely(run):
    found = [step.name for step in parts.steps_of(run, ["asan/unit_tests"])]
    return [] if found == ["detection", "unit_tests", "reports"] else found


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
