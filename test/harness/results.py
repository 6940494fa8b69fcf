# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the results of an ended step from its logs."""

import glob
import os
import re

import tap
from scheduler import log_files
from step import CHECKS, MACHINE, STATUS, Outcome

TAIL = 20  # lines of a log that are shown
FOREIGN = ("sluice-", "clang", "thread", "packages", "package-test", "image-test")  # folders of a build tree with other trees in them


def read(settings, step, ended, logs=None):
    """`logs` is where its files are: those of the run unless the step has run again."""
    logs = logs or settings.logs
    out, err = log_files(logs, step)
    outcome = Outcome(step, ended)
    if step.kind == STATUS:
        _add(outcome, _status(step, ended.status, out))
    elif step.kind == CHECKS:
        _checks(outcome, settings, out)
    elif not settings.words or not _nothing_matches(err, ended.status):
        _add(outcome, tap.count(_text(out), ended.status))
        if step.kind == MACHINE:
            _machine(outcome)
    _add_words(outcome, err)
    if not step.counted and outcome.good:
        outcome.passed = []
    return outcome


def prefix(step):
    """The prefix of its test names in lists."""
    return "vm" if step.kind == MACHINE else step.id


def _add(outcome, counted, source=""):
    outcome.passed += counted.passed
    outcome.skipped += counted.skipped
    for failure in counted.failed:
        failure.source = source
        outcome.failed.append(failure)


def _status(step, status, log):
    """One test: the command succeeds."""
    counted = tap.Counted()
    if status == 0:
        counted.passed.append(step.title)
    elif status in (124, 137):
        why = [f"its time limit of {step.limit:g} s passed", *_tail(log)]
        counted.failed.append(tap.Failure(step.title, why, whole=True))
    else:
        counted.failed.append(tap.Failure(step.title, [f"status {status}, see {log}", *_tail(log)], whole=True))
    return counted


def trs_files(build):
    """Verdicts of `make check` in this build tree, without those of trees inside it."""
    found = []
    for folder, folders, files in os.walk(build):
        folders[:] = [name for name in folders if not name.startswith(FOREIGN)]
        found += [os.path.join(folder, name) for name in files if name.endswith(".trs")]
    return sorted(found)


def _checks(outcome, settings, log):
    for trs in trs_files(settings.build):
        program = os.path.relpath(trs.removesuffix(".trs"), settings.build)
        good = re.search(r"^:global-test-result: (PASS|SKIP)", _text(trs), re.M)
        _add(outcome, tap.count(_text(trs.removesuffix(".trs") + ".log"), 0 if good else 1), source=program)
    status = outcome.ended.status
    if not (outcome.passed or outcome.failed or outcome.skipped) or status and not outcome.failed:
        complaint = re.search(r"^.*(?: \*\*\* .*[Nn]o rule|error:|Error [0-9]).*$", _text(log), re.M)
        why = f"status {status}: {complaint.group(0) if complaint else 'no reason found'}, see {log}"
        outcome.failed.append(tap.Failure("make check", [why], whole=True))


def _machine(outcome):
    """Programs that ran in one machine, each with files of its own."""
    for name in outcome.step.machines:
        file = os.path.join(outcome.step.results, name)
        status = _text(f"{file}.status").strip()
        _add(outcome, tap.count(_text(f"{file}.tap"), int(status) if status.isdigit() else 124), source=name)


def _nothing_matches(err, status):
    """Whether --filter leaves no case of test/system/run.py to this step."""
    return status == 2 and "no case matches" in _text(err)


def _add_words(outcome, err):
    """Messages of test/vm/run about the machine, and the end of standard error of a program that died."""
    for failure in outcome.failed:
        if failure.whole and not failure.why:
            failure.why = _tail(err, 5)
    said = [line.removeprefix("test/vm/run: ") for line in _text(err).splitlines() if line.startswith("test/vm/run: ")]
    if said and outcome.failed:
        outcome.failed[-1].why += [line for line in said if line not in outcome.failed[-1].why]


def _tail(path, lines=TAIL):
    return _text(path).splitlines()[-lines:]


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def reports_in(folder):
    """Reports of sanitizers."""
    return [path for path in glob.glob(os.path.join(folder, "report.*")) if os.path.getsize(path)]
