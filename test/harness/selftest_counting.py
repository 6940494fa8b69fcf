# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Counting of TAP streams: passes, failures, skips, and every way in which a program can die."""

import tap

# title, exit status, (passed, failed, skipped, name of the first failure), stream
STREAMS = (
    ("passes", 0, (2, 0, 0, ""), "1..2\nok 1 - a\nok 2 - b\n"),
    ("a plan at the end", 0, (2, 0, 0, ""), "ok 1 - a\nok 2 - b\n1..2\n"),
    ("a failure by its name", 1, (1, 1, 0, "b c"), "1..2\nok 1 - a\nnot ok 2 - b c\n#   why\n"),
    ("a failure without a name", 1, (0, 1, 0, "test 1"), "1..1\nnot ok 1\n"),
    ("skips", 0, (1, 0, 1, ""), "1..2\nok 1 - a # SKIP no kernel\nok 2 - b\n"),
    ("a failure that calls itself a skip", 1, (0, 1, 0, "a # SKIP b"), "1..1\nnot ok 1 - a # SKIP b\n"),
    ("a whole program skipped", 0, (0, 0, 0, ""), "1..0 # SKIP nothing to do\n"),
    ("output between results", 0, (1, 0, 0, ""), "building\n# note\nok 1 - a\nokay\n1..1\n"),
    ("lines that end with a carriage return", 0, (1, 0, 0, ""), "ok 1 - a\r\n1..1\r\n"),
    ("no plan", 0, (1, 1, 0, "printed no plan"), "ok 1 - a\n"),
    ("no output, dead", 139, (0, 1, 0, "printed no plan and ended with status 139"), ""),
    ("a time limit", 124, (1, 1, 0, "printed no plan and ended with its time limit (status 124)"), "ok 1 - a\n"),
    ("fewer tests than planned", 0, (1, 1, 0, "planned 3 tests and ran 1"), "1..3\nok 1 - a\n"),
    ("more tests than planned", 0, (2, 1, 0, "planned 1 tests and ran 2"), "1..1\nok 1 - a\nok 2 - b\n"),
    ("two plans", 0, (1, 1, 0, "printed 2 plans"), "1..1\nok 1 - a\n1..1\n"),
    ("an empty plan", 0, (0, 1, 0, "ran no test"), "1..0\n"),
    ("a bad end after good tests", 1, (1, 1, 0, "ended with status 1 although no test failed"), "1..1\nok 1 - a\n"),
    ("a time limit after good tests", 124, (1, 1, 0, "ended with its time limit (status 124) although no test failed"),
     "1..1\nok 1 - a\n"),
    ("bailing out", 1, (1, 1, 0, "Bail out! no root"), "1..2\nok 1 - a\nBail out! no root\n"),
)
EXPLAINED = "1..3\nnot ok 1 - a\n#   one\n# two\nok 2 - b\n# not of it\nnot ok 3 - c\n#   three\n"


def tests(_):
    for title, status, expected, stream in STREAMS:
        found = tap.count(stream, status)
        counts = (len(found.passed), len(found.failed), len(found.skipped), found.failed[0].name if found.failed else "")
        yield f"counts {title}", [] if counts == expected else [f"expected: {expected}", f"found:    {counts}"]
    why = [failure.why for failure in tap.count(EXPLAINED, 1).failed]
    yield "counts what a test says of its failure", [] if why == [["  one", "two"], ["  three"]] else [str(why)]
    long = tap.count("not ok 1 - a\n" + "# x\n" * 50 + "1..1\n", 1).failed[0].why
    yield "keeps the beginning of a long explanation", [] if len(long) == tap.MOST_WORDS else [f"{len(long)} lines"]
    skips = tap.count("ok 1 - a # skip no kernel\nok 2 # SKIP\n1..2\n").skipped
    expected = [("a", "no kernel"), ("", "no reason")]
    yield "keeps the reasons of skips", [] if skips == expected else [str(skips)]
