# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Part conformance: docs/conformance.md agrees with the cases, the unit tests and the results of this run."""

import dataclasses
import os

import parts_system
import parts_vm
from parts_build import READY
from step import NEVER, Step

PART = "conformance"


def read(run):
    """The steps whose results the page contains."""
    return [step for part in (parts_system.system, parts_system.swap, parts_vm.vm) for step in part(run) if step.records]


def conformance(run):
    """Works without results: it then compares the page with the existing cases and unit tests only."""
    command = ["python3", run.test("system/conformance.py"), "--check", os.path.join(run.source, "docs/conformance.md"),
               "--update-command", f"make -C {run.build} conformance"]
    return [Step(PART, "", command, 120, after=tuple(step.id for step in read(run)), again=NEVER, weight=0.3, expected=3)]


def with_results(run, steps):
    """The steps of a run; part conformance reads the results of those among them, and of no earlier run."""
    if not any(step.part == PART for step in steps):
        return steps
    # With --filter a step may have nothing to run, and leaves no file then.
    there = {} if run.words else {step.id: step for step in steps if step.records}
    words = []
    for step in read(run):
        words += ["--step", step.id, step.records] if step.id in there else ["--absent", step.id]
    about = {"needs": READY} if there else {}
    return [dataclasses.replace(step, command=[*step.command, *words], **about) if step.part == PART else step for step in steps]


def remove_earlier(steps):
    """Removes results of earlier runs, so that they are not attributed to this run."""
    for step in steps:
        if step.records and os.path.exists(step.records):
            os.remove(step.records)
