# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs steps many times beside busy processes, to find tests that fail only then. Nothing is retried."""

import collections
import dataclasses
import os
import sys

import report
from runner import Runner

BUSY = "while True: pass"


def run(settings, processes, steps, wanted):
    """Builds once, then repeats; the exit status."""
    runner = Runner(settings, processes)
    runner.run([step for step in steps if step.is_build])
    built = runner.outcomes
    if any(outcome.failed for outcome in built):
        report.print_reasons(built, settings.logs)
        return _sum(built)
    tests = [step for step in steps if not step.is_build]
    for number in range(wanted.busy):
        log = settings.log(f"busy-{number}")
        processes.start([sys.executable, "-c", BUSY], log, log)
    everything, failures = [], collections.Counter()
    for number in range(1, wanted.times + 1):
        report.say(f"repetition {number} of {wanted.times}, beside {wanted.busy} busy processes")
        found = _once(settings, processes, tests, number)
        everything += found
        names = [report.named(outcome, failure) for outcome in found for failure in outcome.failed]
        failures.update(set(names))
        report.say(f"repetition {number}: {len(names)} failed")
        for name in names:
            report.say(f"  {name[:200]}")
    report.print_reasons(everything, settings.logs)
    report.say(f"In {wanted.times} repetitions failed:" if failures else f"In {wanted.times} repetitions no test failed.")
    for name, count in failures.most_common():
        report.say(f"  {count:>3} times  {name[:200]}")
    return _sum(built + everything)


def _once(settings, processes, tests, number):
    """One repetition; logs of each repetition are kept."""
    here = dataclasses.replace(settings, logs=settings.log(f"stress-{number}"))
    os.makedirs(here.logs, exist_ok=True)
    runner = Runner(here, processes)
    runner.run(tests)
    return runner.outcomes


def _sum(outcomes):
    return report.last_line(sum(len(one.passed) for one in outcomes), sum(len(one.failed) for one in outcomes),
                            sum(len(one.skipped) for one in outcomes))
