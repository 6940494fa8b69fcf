# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Counts a stream of TAP. A test that is not proven to have passed has failed: a program that dies, prints no plan, or
runs another number of tests than it planned is a failure of its own."""

import dataclasses
import re

MOST_WORDS = 20  # lines kept of a test's failure output
LONGEST_WORD = 400

_PLAN = re.compile(r"1\.\.([0-9]+)")
_RESULT = re.compile(r"(not )?ok(?=[ \t]|$)[ \t]*[0-9]*[ \t]*(?:-[ \t]*)?")
_SKIP = re.compile(r"(?:^|[ \t])#[ \t]*SKIP[ \t]*", re.I)
_COMMENT = re.compile(r"[ \t]*# ?")


@dataclasses.dataclass
class Failure:
    name: str
    why: list
    whole: bool = False  # the program failed, not one of its tests
    source: str = ""     # the program, where one step runs several


@dataclasses.dataclass
class Counted:
    passed: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # (name, reason)


def count(text, status=0):
    """The results in `text`, printed by a program that ended with `status` as a shell reports it."""
    found = Counted()
    plans = ran = planned = 0
    skipped_all = bailed = False
    explained = None  # the failure that comments are about
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        plan = _PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
            plans += 1
            if planned == 0:
                skipped_all = bool(re.search("# *SKIP", line, re.I))
        elif line.startswith("Bail out!"):
            bailed = True
            found.failed.append(Failure(line, [], whole=True))
        elif _RESULT.match(line):
            ran += 1
            explained = _add(found, line, ran)
        elif explained and len(explained.why) < MOST_WORDS and _COMMENT.match(line):
            explained.why.append(_COMMENT.sub("", line, count=1)[:LONGEST_WORD])
    sentence = None if bailed else _whole(found, status, plans, planned, ran, skipped_all)
    if sentence:
        found.failed.append(Failure(sentence, [], whole=True))
    return found


def _add(found, line, number):
    """Adds one result; returns the failure that the comments after it explain."""
    match = _RESULT.match(line)
    name = line[match.end():]
    skip = _SKIP.search(name)
    if skip and not match.group(1):
        found.skipped.append((name[:skip.start()], name[skip.end():].strip() or "no reason"))
    elif skip:
        found.failed.append(Failure(name, []))
    elif match.group(1):
        found.failed.append(Failure(name or f"test {number}", []))
        return found.failed[-1]
    else:
        found.passed.append(name)
    return None


def _whole(found, status, plans, planned, ran, skipped_all):
    """The error of the stream as a whole, or None."""
    if plans == 0:
        return "printed no plan" + (f" and ended with {reason(status)}" if status else "")
    if plans > 1:
        return f"printed {plans} plans"
    if ran != planned:
        return f"planned {planned} tests and ran {ran}"
    if planned == 0 and not skipped_all:
        return "ran no test"
    if status and not found.failed:
        return f"ended with {reason(status)} although no test failed"
    return None


def reason(status):
    return f"its time limit (status {status})" if status in (124, 137) else f"status {status}"
