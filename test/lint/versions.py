#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the release number is everywhere the one in configure.ac. Prints TAP. Each check is first tested with the
number of another release."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What is checked → where → how the number is written there.
PLACES = {
    "the newest entry of packaging/debian/changelog": (r"packaging/debian/changelog$", r"\Asluice \((?:\d+:)?([^)-]+)-"),
    "pages of the manual": (r"docs/man/", r'^\.TH .*"Sluice ([^"]+)"'),
    "the Helm chart": (r"packaging/helm/sluice/Chart\.yaml$", r"^(?:version|appVersion): (.*)$"),
    "tags of the image": (r"(?:docs|packaging)/(?:kubernetes|image)/", r"(?:newTag: *|\bsluice:)(\d[\w.]*\d)"),
}
CHANGELOG = "CHANGELOG.md"
HEADING = re.compile(r"^## (.*)$", re.M)
RELEASE = re.compile(r"(\d+\.\d+\.\d+), \d{4}-\d{2}-\d{2}$")


def number_of_release(configure):
    return re.search(r"^AC_INIT\(\[sluice\], *\[([^]]+)\]", configure, re.M).group(1)


def others(version, texts, where, how):
    """Numbers of other releases, and a sentence where there is none at all."""
    found = [(name, number) for name, text in texts.items() if re.match(where, name)
             for number in re.findall(how, text, re.M)]
    yield from (f"{name}: {number}, and the release is {version}" for name, number in found if number != version)
    if not found:
        yield f"nothing is found by {where} and {how}"


def wrong_headings(version, changelog):
    """The change log has what is not released, then releases with their days, the newest first."""
    headings = HEADING.findall(changelog)
    released = headings[1:] if headings[:1] == ["Unreleased"] else headings
    yield from (f"'## {one}' is neither Unreleased nor VERSION, YEAR-MONTH-DAY" for one in released
                if not RELEASE.match(one))
    numbers = [tuple(map(int, one.split(",")[0].split("."))) for one in released if RELEASE.match(one)]
    if numbers != sorted(numbers, reverse=True):
        yield "releases are not in order"
    if not headings or headings[0] != "Unreleased" and not headings[0].startswith(f"{version}, "):
        yield f"the first heading is neither Unreleased nor {version}"


def blind(version, texts):
    """Checks that do not find a wrong number."""
    yield from (title for title, (where, how) in PLACES.items() if not list(others(version + "1", texts, where, how)))
    yield from (title for title, (where, how) in PLACES.items() if not list(others(version, {}, where, how)))
    for wrong in ("", "## 9.9.9\n", "## Unreleased\n\n## 0.1\n", "## 0.0.1, 2026-01-01\n",
                  "## Unreleased\n\n## 1.0.0, 2026-01-01\n\n## 1.0.1, 2026-01-02\n"):
        if not list(wrong_headings(version, wrong)):
            yield f"a change log with {wrong!r}"


def main():
    tap = Tap()
    version = number_of_release(read(ROOT, "configure.ac"))
    texts = {name: read(ROOT, name) or "" for name in source_files(ROOT) if name.startswith(("docs/", "packaging/"))}
    for title, (where, how) in PLACES.items():
        tap.check(f"of {version}: {title}", others(version, texts, where, how))
    headings = wrong_headings(version, read(ROOT, CHANGELOG))
    tap.check("the change log has what is not released, and releases with their days", headings)
    tap.check("these see the number of another release", blind(version, texts))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
