#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the form of the documents: their length, their line width, and that a table of contents leads to each page.
Prints TAP."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README, CONTENTS = "README.md", "docs/README.md"
PACKAGED = "packaging/debian/sluice-doc.docs"
LONGEST = {README: 120}
LONGEST_PAGE = 250
WIDTH = 100
# Generated pages are as long as their tables. Decisions are history; their own index lists them.
GENERATED = ("docs/benchmarks/", "docs/reference/", "docs/conformance.md", "docs/conformance-upstream.md")
HISTORY = ("docs/decisions/",)
# Folders with an index of their own, which the contents name.
INDEXES = ("docs/runbooks/", "docs/decisions/", "docs/kubernetes/", "docs/troubleshoot/")
FENCED = re.compile(r"^ *```.*?^ *```[^\n]*\n?", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s#]+)")


def pages(names):
    return [name for name in names if name == README or name.startswith("docs/") and name.endswith(".md")]


def too_long(texts):
    for name, text in texts.items():
        most, lines = LONGEST.get(name, LONGEST_PAGE), text.count("\n")
        if not name.startswith((*GENERATED, *HISTORY)) and lines > most:
            yield f"{name}: {lines} lines, at most {most}; split it"


def too_wide(texts):
    for name, text in texts.items():
        if name.startswith((*GENERATED, *HISTORY)):
            continue
        for line in FENCED.sub("", text).splitlines():
            # A table row, code, or a line that cannot be broken.
            if len(line) > WIDTH and not line.startswith(("|", "    ", "#", "<!--")) and " " in line[:WIDTH].lstrip(" -*>"):
                if "](" not in line or len(LINK.sub("](", line)) > WIDTH:
                    yield f"{name}: {len(line)} columns, at most {WIDTH}: {line[:60]}…"


def targets(name, text):
    return {os.path.normpath(os.path.join(os.path.dirname(name), link)) for link in LINK.findall(text) if ":" not in link}


def unlisted(texts):
    """Pages that neither the contents nor the index of their folder lead to."""
    listed = targets(CONTENTS, texts.get(CONTENTS, ""))
    for index in INDEXES:
        own = next((one for one in (f"{index}README.md", f"{index.rstrip('/')}.md") if one in texts), None)
        if own in listed:
            listed |= targets(own, texts[own])
    for name in texts:
        if name not in (README, CONTENTS) and name not in listed:
            yield f"{name}: no link in {CONTENTS}"


def not_packaged(texts, packaged):
    """Pages that the documentation package lacks. The contents would have the name of the README of another package."""
    for name in texts:
        if name not in (README, CONTENTS) and not name.startswith("docs/runbooks/") and not any(
                name == one or name.startswith(f"{one}/") for one in packaged):
            yield f"{name} is not in {PACKAGED}"


def untitled(texts):
    yield from (f"{name}: the first line is not '# Title'" for name, text in texts.items() if not text.startswith("# "))


def blind():
    """Checks that do not find their violation."""
    contents = {CONTENTS: "# Contents\n[a](a.md)\n", "docs/a.md": "# A\n"}
    cases = {
        "a long page": list(too_long({"docs/a.md": "# A\n" * 251})),
        "a long README": list(too_long({README: "# A\n" * 121})),
        "a wide line": list(too_wide({"docs/a.md": "# A\n" + "word " * 30 + "\n"})),
        "a page that is not listed": list(unlisted({**contents, "docs/b.md": "# B\n"})),
        "a page that is not packaged": list(not_packaged({"docs/a/b.md": "# B\n"}, ["docs/c", "docs/a.md"])),
        "a page without a title": list(untitled({"docs/a.md": "A\n"})),
    }
    yield from (f"not found: {name}" for name, found in cases.items() if not found)
    good = [*unlisted(contents), *too_wide({"docs/a.md": "# A\n| " + "word " * 30 + "|\n```\n" + "word " * 30 + "\n```\n"}),
            *too_long({"docs/reference/a.md": "x\n" * 300}), *not_packaged({"docs/a/b.md": "# B\n"}, ["docs/a"])]
    yield from (f"called wrong: {one}" for one in good)


def main():
    texts = {name: read(ROOT, name) for name in pages(source_files(ROOT))}
    tap = Tap()
    tap.check("each check finds its violation", blind())
    tap.check(f"{len(texts)} pages have titles", untitled(texts) if texts else ["there are no pages"])
    tap.check("pages are short", too_long(texts))
    tap.check("lines are short", too_wide(texts))
    tap.check("the contents lead to each page", unlisted(texts))
    tap.check("the documentation package has each page", not_packaged(texts, read(ROOT, PACKAGED).split()))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
