# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A step: one command of a part, with its properties for the scheduler, the results and the retry."""

import dataclasses

# How the results of a step are read.
TAP = "tap"          # from its standard output
STATUS = "status"    # one test, passed when the exit status is 0
CHECKS = "checks"    # `make check`: each program leaves NAME.log and NAME.trs
MACHINE = "machine"  # several programs in one virtual machine, each with files NAME.tap and NAME.status

# How a failed test is retried; may also be a function: (step, failure) → the step that runs this test alone, or None.
WHOLE = "whole"  # the step runs again
NEVER = "never"  # a failure is a finding


@dataclasses.dataclass
class Step:
    part: str
    name: str
    command: object  # words, or a function that returns them when the step starts
    limit: float     # seconds on a machine that is not overloaded
    kind: str = TAP
    title: str = ""          # name of the test of a STATUS step
    needs: tuple = ()        # steps that must have succeeded
    after: tuple = ()        # steps that must have ended
    programs: tuple = ()     # targets of make in the build tree that are not in the main build
    locks: tuple = ()        # no two steps with the same lock run side by side
    weight: float = 1.0      # processors that it keeps busy on average
    quiet: bool = False      # compares times or traffic: nothing runs beside it beyond what weights allow
    expected: float = 30     # seconds, for the order only
    environment: dict = dataclasses.field(default_factory=dict)
    again: object = WHOLE
    clean: tuple = ()        # folders that are emptied first
    results: str = ""        # folder of a MACHINE step
    records: str = ""        # file with the results of cases that docs/conformance.md has
    machines: tuple = ()     # names of programs of a MACHINE step
    kernel: str = ""         # release of the kernel in the virtual machine that it needs
    guest: tuple = ()        # its command in that machine, if it may share one with other steps
    writes: tuple = ()       # folders of results that this command writes
    reports: str = ""        # folder with reports of sanitizers, which are findings
    nice: int = 0            # less than 0: before everything else, where that is allowed
    counted: bool = True     # success is a test that passed
    is_build: bool = False   # makes something that other steps use: its output is shown, and it is never repeated
    absent: object = None    # function: why this machine cannot run it, or None

    @property
    def id(self):
        return f"{self.part}/{self.name}" if self.name else self.part

    @property
    def file(self):
        """How its logs are named."""
        return self.id.replace("/", "-")


@dataclasses.dataclass
class Ended:
    """How a step ended."""

    status: int  # as a shell reports it; 124 after the limit
    started: float = 0
    ended: float = 0
    cpu: float = 0
    load: float = 0

    @property
    def seconds(self):
        return self.ended - self.started


@dataclasses.dataclass
class Outcome:
    """The results of a step."""

    step: Step
    ended: Ended
    passed: list = dataclasses.field(default_factory=list)   # names
    failed: list = dataclasses.field(default_factory=list)   # tap.Failure
    skipped: list = dataclasses.field(default_factory=list)  # (name, reason)
    retried: list = dataclasses.field(default_factory=list)  # names

    @property
    def good(self):
        return not self.failed
