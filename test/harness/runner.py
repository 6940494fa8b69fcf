# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs steps and collects their outcomes, while it prints what happens."""

import json
import os
import sys
import time

import load
import report
import results
from scheduler import Scheduler, log_files
from step import STATUS, Ended, Outcome

SHARE = 1.2  # weights of the steps side by side, per processor
QUIET = 10   # seconds between lines of a build that is not watched
WIDEST = 120  # characters of such a line


def budget(settings):
    """Sum of the weights of steps that run side by side, and how many may."""
    return SHARE * min(load.PROCESSORS, settings.jobs), 1 if settings.jobs == 1 else None


class Runner:
    """Watches a scheduler."""

    def __init__(self, settings, processes):
        self.outcomes = []
        self._settings = settings
        self._processes = processes
        self._builds = {}    # step → _Progress
        self._skipped = set()  # parts that could not run

    def run(self, steps, at_once=True):
        weight, most = budget(self._settings)
        Scheduler(steps, weight, self._processes, self._settings.logs, self, most if at_once else 1).run()

    def started(self, step):
        report.started(step)
        if step.is_build and step.kind == STATUS:
            self._builds[step.id] = _Progress(log_files(self._settings.logs, step)[0])

    def tick(self, steps):
        for step in steps:
            if step.id in self._builds:
                self._builds[step.id].show()

    def ended(self, step, ended):
        progress = self._builds.pop(step.id, None)
        if progress:
            progress.close()
        outcome = results.read(self._settings, step, ended)
        self.outcomes.append(outcome)
        report.ended(outcome)
        return outcome.good

    def dropped(self, step, why, is_skip):
        """A step that cannot run: one skip for its part, or nothing if a failure is the reason."""
        report.say(f"not run {step.id}: {why}")
        if is_skip and step.records:
            os.makedirs(os.path.dirname(step.records), exist_ok=True)
            with open(step.records, "w", encoding="utf-8") as file:
                json.dump({"skipped": why}, file)
        if is_skip and not step.is_build and step.part not in self._skipped:
            self._skipped.add(step.part)
            now = time.monotonic()
            self.outcomes.append(Outcome(step, Ended(0, now, now), skipped=[(step.part, why)]))


class _Progress:
    """Shows the output of a build: each line on a terminal, otherwise a line from time to time."""

    def __init__(self, path):
        self._path = path
        self._place = 0
        self._shown = time.monotonic()
        self._every = 0 if sys.stdout.isatty() else QUIET

    def show(self):
        if time.monotonic() - self._shown < self._every:
            return
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                text = file.read()
        except OSError:
            return
        whole = text[:text.rfind(b"\n") + 1]
        self._place += len(whole)
        lines = [line for line in whole.decode("utf-8", "replace").splitlines() if line.strip()]
        for line in lines if self._every == 0 else lines[-1:]:
            report.say(line if len(line) <= WIDEST else line[:WIDEST - 1] + "…")
        if lines:
            self._shown = time.monotonic()

    def close(self):
        if self._every == 0:
            self.show()

