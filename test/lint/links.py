#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Links between pages lead to files, and to headings, that are there. Prints TAP."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading):
    """What a heading is called in links, as forges make it."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(text):
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.M)}


def dead(name, text, page_of, exists):
    """Links of a page that lead nowhere. `page_of` gives the text of a page, `exists` whether there is such a file."""
    for link in LINK.findall(FENCED.sub("", text)):
        if ":" in link:
            continue
        file, _, heading = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), file)) if file else name
        if not exists(target):
            yield f"{name}: there is no {link}"
        elif heading and target.endswith(".md") and heading not in anchors(page_of(target)):
            yield f"{name}: {target} has no heading that {link} leads to"


def blind():
    """Dead links that are not found, and good ones that are called dead."""
    pages = {"a/b.md": "# One: `two`\n```\n# no heading\n```\n"}
    for link, wrong in (("b.md", False), ("b.md#one-two", False), ("b.md#no-heading", True), ("c.md", True), ("#here", False),
                        ("#there", True), ("https://sluice.dev/x", False)):
        text = f"# Here\n[x]({link})\n"
        found = list(dead("a/a.md", text, {**pages, "a/a.md": text}.get, {*pages, "a/a.md"}.__contains__))
        if bool(found) != wrong:
            yield f"{link}: {found}"


def main():
    tap = Tap()
    tap.check("dead links are found, and no others", blind())
    pages = [name for name in source_files(ROOT) if name.endswith(".md")]
    exists = lambda name: os.path.exists(os.path.join(ROOT, name))  # noqa: E731
    found = [one for name in pages for one in dead(name, read(ROOT, name), lambda page: read(ROOT, page), exists)]
    tap.check(f"links of {len(pages)} pages lead somewhere", found if pages else ["there are no pages"])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
