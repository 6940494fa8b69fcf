# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of one kernel share a virtual machine, which saves the processor time of its start. A step of its own runs the machine;
the steps that share it then only repeat their results. If a test fails, it runs again in a machine of its own."""

import dataclasses
import os
import shlex

from step import NEVER, Step


def merged(run, steps):
    """The steps, with one machine for all that may share one."""
    groups = {}
    for step in steps:
        if step.guest:
            groups.setdefault(step.kernel, []).append(step)
    for kernel, members in groups.items():
        if len(members) > 1:
            machine = _machine(run, kernel, members)
            place = steps.index(members[0])
            steps = [*steps[:place], machine, *(_member(run, step, machine) if step in members else step for step in steps[place:])]
    return steps


def folder(run, kernel):
    return run.log(f"vm-machine-{kernel}")


def console(run, kernel):
    return os.path.join(folder(run, kernel), "console")  # is emptied with the folder before each run


def _machine(run, kernel, members):
    first, limit = members[0], sum(step.limit for step in members)
    place = folder(run, kernel)
    command = [*run_words(run, kernel, limit, console(run, kernel), place, *(one for step in members for one in step.writes)),
               run.test("harness/steps_in_vm.sh"), place]
    for step in members:
        variables = [f"{name}={value}" for name, value in step.environment.items()]
        command += [step.name, str(step.limit), shlex.join(["exec", "env", *variables, *step.guest])]
    return Step(first.part, f"machine-{kernel}", command, limit, needs=_union(members, "needs"), after=_union(members, "after"),
                programs=_union(members, "programs"), clean=(place, *_union(members, "clean")), locks=_union(members, "locks"),
                weight=first.weight, nice=first.nice, expected=sum(step.expected for step in members), counted=False, again=NEVER)


def run_words(run, kernel, limit, console_file, *results):
    """The command line of test/vm/run up to the command inside."""
    folders = (word for one in results for word in ("--results", one))
    return [run.test("harness/with_plugins.sh"), run.build, plugins(run), "python3", run.test("vm/run"), "--builddir", run.build,
            "--kernel", kernel, "--limit", str(limit), "--resident", *folders, "--console", console_file, "--"]


def plugins(run):
    """The folder of backends for daemons in a machine."""
    return run.log("vm-plugins")


def _member(run, step, machine):
    command = ["python3", run.test("harness/vm_result.py"), folder(run, step.kernel), step.name, console(run, step.kernel)]
    return dataclasses.replace(step, command=command, after=(machine.id,), programs=(), clean=(), locks=(), weight=0.1, nice=0,
                               expected=1, guest=(), again=lambda _, failure: step.again(step, failure))


def _union(steps, field):
    return tuple(dict.fromkeys(one for step in steps for one in getattr(step, field)))
