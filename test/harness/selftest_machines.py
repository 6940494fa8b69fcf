# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that share a virtual machine: which do, and how the result of each is read."""

import contextlib
import io
import os
import subprocess

import parts
import parts_conformance
import results
import shared_machines
import vm_result
from settings import Settings
from step import NEVER, WHOLE, Ended, Step
from tap import Failure

HERE = os.path.dirname(os.path.abspath(__file__))
BEGINS, ENDED, WARNING = "[ 1.0] steps_in_vm: %s begins\n", "[ 2.0] steps_in_vm: %s has ended\n", "[ 1.5] WARNING: CPU: 0 PID: 1 at net\n"
PANIC = "[ 1.5] Kernel panic - not syncing: Fatal exception\n"


def tests(folder):
    folder = os.path.join(folder, "machines")
    run = Settings(folder, os.path.join(folder, "logs"), jobs=2)
    yield from _merged(run)
    yield from _judged()
    yield from _repeated(run)
    yield from _inside(os.path.join(folder, "inside"))


def _expect(found, expected):
    return [] if found == expected else [f"expected {expected}", f"found    {found}"]


def _merged(run):
    alone = parts.steps_of(run, parts.PARTS)
    steps = shared_machines.merged(run, alone)
    sharing = [step.id for step in alone if step.guest]
    machines = [step for step in steps if step.id not in {one.id for one in alone}]
    yield "steps of one kernel share a machine in the short form, and keep their names, results and limits", _expect(
        ([step.name for step in machines], [(step.id, step.records, step.limit, step.kind) for step in steps if step not in machines]),
        (["machine-6.1"], [(step.id, step.records, step.limit, step.kind) for step in alone])) or _expect(len(sharing) > 4, True)
    yield "the machine runs the commands of all, and has their folders, programs and variables", \
        [f"{step.id}: {word}" for step in alone if step.guest for word in (*step.guest, *step.writes, *step.programs, *step.environment)
         if word not in " ".join([*machines[0].command, *machines[0].programs])]
    yield "each step that shares it waits for it, as conformance waits for the step", _expect(
        [step.id for step in steps if step.after == (machines[0].id,)], sharing) or \
        [name for name in sharing if parts_conformance.PART not in name and not any(
            step.part == parts_conformance.PART and (name in step.after or not _records(alone, name)) for step in steps)]
    yield "a test that fails in it runs again in a machine of its own", \
        [step.id for step in steps if step.id in sharing and not _is_alone(step)] or _expect(machines[0].again, NEVER)
    one = parts.steps_of(run, ["vm/ipvs"])
    yield "a step that shares with no other has a machine of its own", _expect(shared_machines.merged(run, one), one)
    long = Settings(run.build, run.logs, long=True, jobs=2)
    steps = parts.steps_of(long, ["vm"])
    yield "long form: each step has a machine of its own", _expect(shared_machines.merged(long, steps), steps)


def _records(steps, name):
    return next(step.records for step in steps if step.id == name)


def _is_alone(step):
    again = step.again(step, Failure("a", [], source="servers")) if step.again != WHOLE else step
    return any(word.endswith("vm/run") for word in again.command) and not any("steps_in_vm" in word for word in again.command)


def _judged():
    good = BEGINS % "a" + ENDED % "a"
    yield "a step has the status with which it ended", _expect([vm_result.judge(status, "a", good) for status in "03"], [(0, ""), (3, "")])
    yield "a step that hangs has passed its limit", _expect(vm_result.judge("124", "a", BEGINS % "a"), (124, ""))
    for title, error in (("warns", WARNING), ("panics", PANIC)):
        found = [vm_result.judge("0", name, BEGINS % "a" + ENDED % "a" + BEGINS % "b" + error + ENDED % "b" + BEGINS % "c" + ENDED % "c")
                 for name in "abc"]
        yield f"a kernel that {title}: the step fails, and so do those after it, but not those before", _expect(
            [(status, "in this" in reason, "in an earlier" in reason, error.strip() in reason) for status, reason in found],
            [(0, False, False, False), (125, True, False, True), (125, False, True, True)])
    for title, name, console in (("was not reached", "b", good), ("did not end", "a", BEGINS % "a"), ("whose machine did not start", "a", "")):
        status, reason = vm_result.judge("", name, console)
        yield f"a step that {title} has failed with a reason", _expect((status, bool(reason)), (125, True))
    yield "a step without its mark on the console has failed, whatever its status", _expect(vm_result.judge("0", "a", "")[0], 125)


def _repeated(run):
    place = shared_machines.folder(run, "6.1")
    os.makedirs(place)
    for name, text in (("a.out", "ok 1 - x\n1..1\n"), ("a.err", "said\n"), ("a.status", "0\n"), ("b.out", "ok 1 - y\n"),
                       ("console", BEGINS % "a" + ENDED % "a" + BEGINS % "b" + PANIC)):
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name, expected in (("a", (["x"], [])), ("b", (["y"], ["printed no plan and ended with status 125"])),
                           ("c", ([], ["printed no plan and ended with status 125"]))):
        outcome = _outcome(run, place, name)
        yield f"results of steps that shared a machine: {name}", _expect((outcome.passed, [one.name for one in outcome.failed]), expected) or \
            _expect(any("panic" in word for one in outcome.failed for word in one.why), name != "a")


def _outcome(run, place, name):
    step = Step("vm", name, [], 20)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = vm_result.main(place, name, os.path.join(place, "console"))
    for ending, stream in (("tap", out), ("err", err)):
        with open(os.path.join(run.logs, f"vm-{name}.{ending}"), "w", encoding="utf-8") as file:
            file.write(stream.getvalue())
    return results.read(run, step, Ended(status))


def _inside(folder):
    """Runs steps_in_vm.sh here, with files in place of the kernel's."""
    for name in ("dev", "proc", "results"):
        os.makedirs(os.path.join(folder, name))
    steps = (("one", "20", "echo out; echo err >&2; exit 3"), ("two", "20", "echo 1..0"), ("three", "0.1", "exec sleep 20"),
             ("four", "20", "echo 1..1"))
    done = subprocess.run(["sh", os.path.join(HERE, "steps_in_vm.sh"), f"{folder}/results", *(word for step in steps for word in step)],
                          env={**os.environ, "SLUICE_VM_ROOT": folder}, capture_output=True, text=True, check=False)
    yield "steps in one machine: each has its output and its status, and none runs after one that hangs", _expect(
        {name: _text(folder, "results", name) for name in sorted(os.listdir(f"{folder}/results"))},
        {"one.err": "err\n", "one.out": "out\n", "one.status": "3\n", "three.err": "", "three.out": "", "three.status": "124\n",
         "two.err": "", "two.out": "1..0\n", "two.status": "0\n"})
    yield "steps in one machine: the machine's own result names those that ran, and the limit that passed", _expect(
        (done.stdout, done.stderr, done.returncode != 0),
        ("1..4\nok 1 - one has run\nok 2 - two has run\n", "the limit of three, 0.1 s, passed\n", True))
    marks = [line.removeprefix("<4>steps_in_vm: ") for line in _text(folder, "dev", "kmsg").splitlines()]
    yield "steps in one machine: the console has their beginnings and ends", _expect(
        marks, ["one begins", "one has ended", "two begins", "two has ended", "three begins"])
    yield "steps in one machine: after a limit the console has the processes", [] if "sleep 20" in _text(folder, "dev", "console") else [
        _text(folder, "dev", "console")]


def _text(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()
