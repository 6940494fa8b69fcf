#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Turns result files of run.py into docs/conformance.md: conformance.py RESULTS.json… > docs/conformance.md"""

import glob
import json
import os
import re
import sys

from lib import programs
from lib.catalogue import DIFFERENT, NOT_APPLICABLE, REPLACED, SECTIONS
from lib.tap import FAIL, PASS, SKIP

HEADER = """# Conformance

Behaviour is compared with kube-proxy 1.36, case by case. **Packets** are the system tests in `test/system`: real
daemon, real kernel, who answered and from which address. **Unit** are tests of the code, without a kernel.
Per backend: how many runs of the case passed (family, protocol and source each count), or what was wrong. What a
backend has no part in, and what is to be seen otherwise with it, is told below the tables, with reasons; where runs
assert such a difference of mode ipvs or nftables, their number is marked with ≠.
`not covered` is said where no test of either sort names the case.

This file is made by `test/system/conformance.py` from results of `test/system/run.py`; do not edit it.
"""


def main():
    if len(sys.argv) < 2:
        print("usage: conformance.py RESULTS.json… > docs/conformance.md", file=sys.stderr)
        return 2
    documents = [_load(path) for path in sys.argv[1:]]
    backends = sorted({document["backend"] for document in documents})
    runs = {}
    for document in documents:
        for record in document["results"]:
            for number in record["numbers"]:
                runs.setdefault(number, {}).setdefault(document["backend"], []).append(record)
    units = unit_tests()
    print(HEADER)
    print("\n".join(totals(documents)))
    for title, cases in SECTIONS.items():
        print(f"\n## {title}\n")
        print("| case | what | packets | unit | " + " | ".join(backends) + " |")
        print("|" + "---|" * (4 + len(backends)))
        for number, what in cases.items():
            print(row(number, what, runs.get(number, {}), units.get(number, []), backends))
    table("Decided otherwise than upstream", "what Sluice does instead", REPLACED)
    for mode in sorted({_mode(backend) for backend in backends}):
        different = DIFFERENT.get(mode) or asserted_differences(documents, mode)
        if different:
            table(f"What is to be seen otherwise in mode {mode}", "what, and why", different)
        if mode in NOT_APPLICABLE:
            table(f"What does not apply to mode {mode}", "why", NOT_APPLICABLE[mode])
    print("\n## Beyond the cases\n\n| test | " + " | ".join(backends) + " |\n|" + "---|" * (1 + len(backends)))
    for name in sorted({record["name"] for document in documents for record in document["results"]
                        if not record["numbers"]}):
        print(f"| {name} | " + " | ".join(verdict(named(documents, backend, name)) for backend in backends) + " |")
    return 0


def _load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def table(title, column, rows):
    print(f"\n## {title}\n\n| case | {column} |\n|---|---|")
    for number, reason in rows.items() if isinstance(rows, dict) else rows:
        print(f"| {number} | {reason} |")


def asserted_differences(documents, mode):
    """Numbers of cases → what is otherwise, as the runs of this mode asserted it."""
    numbers = {}
    for document in documents:
        if _mode(document["backend"]) == mode:
            for record in document["results"]:
                for why in record.get("differs", []):
                    numbers.setdefault(why, set()).update(record["numbers"] or {record["name"]})
    rows = [(sorted(found, key=_in_order), why) for why, found in numbers.items()]
    rows.sort(key=lambda row: [_in_order(one) for one in row[0]])
    return [(", ".join(map(str, found)), why) for found, why in rows]


def _in_order(number_or_name):
    return isinstance(number_or_name, str), str(number_or_name).zfill(4)


def _mode(backend):
    """Of "iptables-nft", for one."""
    return backend.partition("-")[0]


def totals(documents):
    covered = set()
    for document in documents:
        results = [record["result"] for record in document["results"]]
        covered |= {number for record in document["results"] for number in record["numbers"]}
        yield (f"- {document['backend']}: {results.count(PASS)} runs passed, {results.count(FAIL)} failed, "
               f"{results.count(SKIP)} skipped")
    covered |= set(unit_tests())
    every = [number for cases in SECTIONS.values() for number in cases]
    yield f"- {len([number for number in every if number in covered])} of {len(every)} cases have a test"


def row(number, what, by_backend, units, backends):
    packets = sorted({record["test"] for records in by_backend.values() for record in records})
    what += " (decided otherwise, see below)" if number in REPLACED else ""
    cells = [verdict(by_backend.get(backend, []), number in NOT_APPLICABLE.get(_mode(backend), {}))
             for backend in backends]
    if not packets and not units:
        cells = ["not covered"] * len(backends)
    return f"| {number} | {what} | " + "<br>".join(f"`{name}`" for name in packets) + " | " + \
        "<br>".join(f"`{path}`" for path in units) + " | " + " | ".join(cells) + " |"


def verdict(records, not_applicable=False):
    if not records:
        return "does not apply" if not_applicable else "–"
    results = [record["result"] for record in records]
    if FAIL in results:
        return f"**{results.count(FAIL)} of {len(results)} failed**"
    if PASS in results:
        mark = " ≠" if any("differs" in record for record in records) else ""
        return f"{results.count(PASS)} passed{mark}" + (f", {results.count(SKIP)} skipped" if SKIP in results else "")
    return "skipped: " + records[0]["reason"]


def named(documents, backend, name):
    return [record for document in documents if document["backend"] == backend
            for record in document["results"] if record["name"] == name]


def unit_tests():
    """Case number → test files whose comments or titles name it, as `case 12` or `cases 12, 13`."""
    root = programs.source_root()
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "test", "unit", "**", "*.cpp"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        # Only comments and string literals speak of conformance cases; `case 3:` elsewhere is a switch.
        for comment in re.findall(r"//[^\n]*|\"[^\"\n]*\"", text):
            for numbers in re.findall(r"\bcases? (\d+(?:(?:, | and |–|-)\d+)*)", comment):
                for number in _expand(numbers):
                    files = found.setdefault(number, [])
                    name = os.path.relpath(path, root)
                    if name not in files:
                        files.append(name)
    return found


def _expand(text):
    for part in re.split(r", | and ", text):
        first, *last = re.split("[–-]", part)
        yield from range(int(first), int(last[0] if last else first) + 1)


if __name__ == "__main__":
    sys.exit(main())
