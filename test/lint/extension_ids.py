#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Documents, man pages and comments name the extensions by the ids that the headers of the ABI define. Prints TAP."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = "sdk/include/sluice/abi/"
DEFINED = re.compile(r'^inline constexpr char (k\w+)\[\] = "(\w[^"]*/\d+)";', re.M)
# An id, with or without its revision. "sluice.dev/v1alpha1" is an API group and no id.
MENTIONED = re.compile(r"\bsluice\.(?:(?:host|backend)\.\w+(?:/\w+)?|[\w.]+/\d+\b)")
# Pages that authors of backends read: each id must be in each of them.
COMPLETE = ("docs/plugin/host.md", "docs/abi.md")
# Ids of a header that does not exist, or of a header that is changed on purpose.
INVENTED = {
    "test/abi/bindings.sh": {"sluice.host.relay/2"},
    "test/abi/gate.sh": {"sluice.host.relay/2"},
    "test/abi/skew/next.sh": {"sluice.host.next/1", "sluice.backend.next/1"},
}
SELF = "test/lint/extension_ids.py"  # has wrong ids for the checks of the checks


def defined(texts):
    """The ids by constant, as the headers have them."""
    return dict(pair for name, text in texts.items() if name.startswith(HEADERS) for pair in DEFINED.findall(text))


def unknown(ids, texts):
    """Mentions of ids that no header has."""
    for name, text in texts.items():
        known = {*ids.values(), *INVENTED.get(name, ())}
        for number, line in enumerate(text.split("\n"), 1):
            # A man page writes "\-" and "\&" where others write "-" and nothing.
            plain = re.sub(r"\\[&/]?", "", line) if name.startswith("docs/man/") else line
            yield from (f"{name}:{number}: {one}: no header in {HEADERS} has this id"
                        for one in MENTIONED.findall(plain) if one not in known)


def missing(ids, page):
    """Ids and constants that a page does not have."""
    if not ids:
        yield f"no header in {HEADERS} has an id"
    for constant, one in ids.items():
        if not re.search(re.escape(one) + r"(?!\w)", page):
            yield f"the id {one} ({constant}) is not there"


def blind(ids):
    """Mistakes that are not found, and correct texts that count as mistakes."""
    good = next(iter(ids.values()), "")
    stale = re.sub(r"\d+$", "0", good)
    for text, wrong in ((good, False), (stale, True), (good.split("/")[0], True), (good + "0", True), (good + "x", True),
                        ("sluice.inspect/1", True), ("sluice.dev/v1alpha1", False), ("com.example.table/1", False),
                        ("sluice.<side>.<name>/<revision>", False)):
        if bool(list(unknown(ids, {"a.md": f"of (`{text}`), and"}))) != wrong:
            yield f"{text!r} in a page"
    if not list(unknown(ids, {"docs/man/a.3": ".B " + stale.replace(".", "\\&.").replace("/", "\\/")})):
        yield f"{stale} in a man page, with escapes"
    for text, wrong in ((" ".join(ids.values()), False), (" ".join(list(ids.values())[1:]), True), ("", True)):
        if bool(list(missing(ids, text))) != wrong:
            yield f"a guide with {text!r}"
    if not list(missing({}, "")):
        yield "headers without ids"


def main():
    tap = Tap()
    texts = {name: read(ROOT, name) or "" for name in source_files(ROOT) if name != SELF}
    ids = defined(texts)
    tap.check("mentions of extensions have the ids of the headers", unknown(ids, texts))
    for page in COMPLETE:
        tap.check(f"{page} names the id of each of {len(ids)} extensions", missing(ids, texts[page]))
    tap.check("these see stale, incomplete and invented ids", blind(ids))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
