# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit report of ginkgo."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LONGEST_REASON = 300
NOT_SELECTED = "skipped"  # ginkgo's message for a test that --focus does not match
INTERRUPTED = "interrupted"  # ginkgo's status
_TEST = "[It] "


class Malformed(Exception):
    """The file is not a JUnit report."""


@dataclasses.dataclass(frozen=True)
class Result:
    test: str
    result: str
    reason: str  # empty for a test that passed
    seconds: float


@dataclasses.dataclass(frozen=True)
class Report:
    results: list  # of the tests that ran, sorted by name
    broken: list   # reasons why the suite itself failed, for instance a node that was not ready


def read(path):
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise Malformed(f"cannot read the report {path}: {error}") from error
    return parsed(root)


def parsed(root):
    results, broken = [], []
    for case in root.iter("testcase"):
        name = case.get("name", "")
        result = _result(name.removeprefix(_TEST), case)
        if result and name.startswith(_TEST):
            results.append(result)
        elif result and result.result == FAILED:
            broken.append(f"{name}: {result.reason}")
    return Report(sorted(results, key=lambda one: one.test), broken)


def _result(test, case):
    """The result, or None for a test that was not selected, or that the end of the run interrupted."""
    if case.get("status") == INTERRUPTED:
        return None
    seconds = float(case.get("time", "0"))
    skipped = case.find("skipped")
    if skipped is not None:
        reason = skipped.get("message", "")
        return None if reason == NOT_SELECTED else Result(test, SKIPPED, _first(reason.removeprefix("skipped - ")), seconds)
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            return Result(test, FAILED, _first(found.text or found.get("message", "")) or kind, seconds)
    return Result(test, PASSED, "", seconds)


def _first(text):
    """The first paragraph of a message, on one line, without the mark and the prefix of a failure."""
    paragraph = re.split(r"\n\s*\n|\n(?=In \[)", text.strip())[0]
    return re.sub(r"\s+", " ", re.sub(r"^\[FAILED\] ", "", paragraph))[:LONGEST_REASON].strip()


def names(root):
    """The tests that a dry run selected."""
    return [result.test for result in parsed(root).results if result.result == PASSED]
