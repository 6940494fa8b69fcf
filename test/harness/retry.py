# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs failed tests again, alone. A test that then passes failed because of parallel steps, and is reported as retried."""

import dataclasses
import os

import results
from scheduler import Scheduler
from step import NEVER, WHOLE

SHORT = 300  # seconds: the longest limit of a step that runs again when it failed as a whole
MOST = 10    # failed tests; with more of them the machine or the change is broken, not the test


class _Silent:
    """Watches a step that runs again."""

    def __init__(self):
        self.end = None

    def started(self, step):
        pass

    def tick(self, steps):
        pass

    def ended(self, _, end):
        self.end = end
        return True


class Retry:
    def __init__(self, settings, processes, say):
        self._settings = settings
        self._processes = processes
        self._say = say
        self._logs = settings.log("again")
        self._number = 0

    def run(self, outcomes):
        """Changes the outcomes in place."""
        candidates = [outcome for outcome in outcomes if outcome.failed and may_run_again(outcome)]
        number = sum(len(outcome.failed) for outcome in candidates)
        if number > MOST:
            self._say(f"{number} tests failed: none runs again, as that is for at most {MOST}")
            return
        os.makedirs(self._logs, exist_ok=True)
        for outcome in candidates:
            # One run for all failures with the same command, such as two tests of one name.
            steps = {}
            for failure in outcome.failed:
                step = self._step(outcome.step, failure)
                if step:
                    steps.setdefault(tuple(map(str, step.command)), (step, []))[1].append(failure)
            for step, failures in steps.values():
                self._run_one(outcome, step, failures)

    def _step(self, step, failure):
        """The step that runs this test again, or None."""
        if step.again != WHOLE:
            return step.again(step, failure)
        # A function chooses the command from the results of other steps, as in the first run.
        return dataclasses.replace(step, command=step.command() if callable(step.command) else step.command)

    def _run_one(self, outcome, step, failures):
        self._number += 1
        logs = os.path.join(self._logs, str(self._number))
        os.makedirs(logs, exist_ok=True)
        self._say(f"again   {step.id}: {failures[0].name[:150]}" + (f" and {len(failures) - 1} more" if failures[1:] else ""))
        watch = _Silent()
        Scheduler([dataclasses.replace(step, needs=(), after=(), absent=None, clean=())], 1, self._processes, logs, watch).run()
        second = results.read(self._settings, step, watch.end, logs)
        outcome.ended.cpu += watch.end.cpu
        if step.reports and results.reports_in(step.reports):
            second.failed.append(results.tap.Failure("a sanitizer reported", []))
        if proves(second, failures):
            self._say("        passed")
            if any(failure.whole for failure in failures):
                outcome.passed, outcome.skipped = second.passed, second.skipped
            else:
                outcome.passed += [failure.name for failure in failures]
            outcome.failed = [failure for failure in outcome.failed if failure not in failures]
            outcome.retried += failures
        else:
            self._say("        failed")
            for failure in failures:
                failure.why += ["alone it failed, too:", *(line for one in second.failed[:5] for line in (one.name, *one.why[:2]))]


def may_run_again(outcome):
    step = outcome.step
    if step.again == NEVER or step.is_build or step.reports and results.reports_in(step.reports):
        return False
    return not any(failure.whole for failure in outcome.failed) or step.limit <= SHORT


def proves(second, failures):
    """Whether the second run proves that these tests pass: nothing failed, and each is listed as passed. A program
    that failed as a whole, and a daemon of test/system/run.py that did not start, have no name when all is well."""
    return second.good and bool(second.passed) and all(
        failure.whole or failure.name.startswith("start ") or failure.name in second.passed for failure in failures)
