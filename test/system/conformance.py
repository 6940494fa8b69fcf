#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Generates docs/conformance.md from the cases, the unit tests that name them, and result files of run.py; cells without
new results stay as they are."""

import argparse
import difflib
import glob
import json
import os
import re
import sys
import tempfile
import time

# Some titles contain lengths; the page has those of the short form.
for _name in [name for name in os.environ if name.startswith("SLUICE_")]:
    del os.environ[_name]

import run  # noqa: E402  # pylint: disable=wrong-import-position
from lib import page, programs, verdicts  # noqa: E402  # pylint: disable=wrong-import-position
from lib.catalogue import SECTIONS  # noqa: E402  # pylint: disable=wrong-import-position

MOST_LINES = 30  # of a difference
WIDEST = 160     # characters of each
BEFORE = 40      # characters shown before the first that differs


class Unreadable(Exception):
    """A file without results."""


def options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("page", metavar="PAGE", help="the page, docs/conformance.md")
    parser.add_argument("results", nargs="*", metavar="RESULTS",
                        help="result file of test/system/run.py, or a folder with such files and folders of steps")
    parser.add_argument("--check", action="store_true",
                        help="print TAP instead of updating the page; exit with 1 if the page is not current")
    parser.add_argument("--step", nargs=2, action="append", default=[], metavar=("PART/STEP", "FILE"),
                        help="with --check: a step of this run and its result file, which must be there; repeatable")
    parser.add_argument("--absent", action="append", default=[], metavar="PART/STEP",
                        help="with --check: a step that this run did not take; its rows keep their cells; repeatable")
    parser.add_argument("--update-command", metavar="COMMAND",
                        help="with --check: the command to recommend when the page is not current")
    return parser.parse_args()


def documents_in(paths):
    """The contents of result files, and of those in folders, by path."""
    found = {}
    for path in paths:
        if os.path.isdir(path):
            inside = [one for pattern in ("*.json", "*/results.json") for one in sorted(glob.glob(os.path.join(path, pattern)))]
            found.update((one, document) for one in inside if is_of_run(document := read(one)))
        else:
            found[path] = of_run(path, read(path))
    return found


def of_run(path, document):
    if not is_of_run(document):
        raise Unreadable(f"{path} is not a result file of test/system/run.py; write one with run.py --results")
    return document


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot read results from {path}: {error}; run the step again that writes it") from error


def is_of_run(document):
    """Reports of the kit and of benchmarks have other members."""
    return isinstance(document, dict) and document.keys() == {"backend", "results"}


def rows_of(registry, units):
    """One row for each number of the catalogue, and one for each case without a number."""
    rows = [verdicts.Row(str(number), tuple(case for case in registry if number in case.numbers), tuple(units.get(number, ())))
            for cases in SECTIONS.values() for number in cases]
    for case in registry:
        if not case.numbers:
            rows.append(verdicts.Row(case.test, (case,)))
    return rows


def made(text, documents, registry, units):
    """The new page, from the current page `text` and from the results."""
    return page.Writer(rows_of(registry, units), verdicts.Results(documents), page.OldPage(text)).text()


def unit_tests():
    """Case number → test files whose comments or titles name it, as `case 12` or `cases 12, 13`."""
    root = programs.source_root()
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "test", "unit", "**", "*.cpp"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        # Only comments and string literals name conformance cases; `case 3:` elsewhere is a switch.
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


def difference(before, after):
    """Lines that describe the difference of two pages: of each row its first cell, and the place that differs."""
    before, after = before.splitlines(), after.splitlines()
    found = []
    for kind, first, last, other_first, other_last in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            continue
        old, new = before[first:last], after[other_first:other_last]
        paired = len(old) == len(new)
        for number in range(max(len(old), len(new))):
            start = _agreement(old[number], new[number]) if paired else 0
            found += [f"{mark} {_part(lines[number], start)}" for mark, lines in (("-", old), ("+", new)) if number < len(lines)]
    more = len(found) - MOST_LINES
    return found if more <= 0 else [*found[:MOST_LINES - 1], f"… and {more + 1} more lines"]


def _agreement(one, other):
    return len(os.path.commonprefix([one, other]))


def _part(line, start):
    label = line[:line.find("|", 1) + 1] if line.startswith("|") else ""
    from_here = max(len(label), start - BEFORE)
    cut = line[from_here:from_here + WIDEST]
    return label + ("…" if from_here > len(label) else "") + cut + ("…" if from_here + WIDEST < len(line) else "")


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def add(self, title, problems=(), skip=""):
        self.number += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.number} - {title}" + (f" # SKIP {skip}" if skip else ""))
        for line in problems:
            print(f"#   {line}")

    def finish(self):
        print(f"1..{self.number}")
        return 1 if self.failed else 0


def check(wanted, registry, units):
    tap, documents = Tap(), [*documents_in(wanted.results).values()]
    for step, path in wanted.step:
        title = f"results of {step}"
        if not os.path.exists(path):
            tap.add(title, [f"{path} is missing, so this run has not written it: run test/run.sh --part {step}"])
            continue
        document = read(path)
        if document.keys() == {"skipped"}:  # by the harness, if this machine cannot run the step
            tap.add(title, skip=f"{document['skipped']}; its rows keep their cells")
        else:
            documents.append(of_run(path, document))
            tap.add(title)
    if wanted.absent:
        tap.add("results of other steps", skip=f"not read by this run, so their rows keep their cells: {', '.join(wanted.absent)}")
    text = _text(wanted.page)
    after = made(text, documents, registry, units)
    advice = f"update it with: {wanted.update_command}" if wanted.update_command else "update it without --check"
    name = os.path.relpath(wanted.page, programs.source_root())
    tap.add(f"{name} is current", [] if after == text else [advice, *difference(text, after)])
    return tap.finish()


def update(wanted, registry, units):
    documents = documents_in(wanted.results)
    text = _text(wanted.page)
    after = made(text, documents.values(), registry, units)
    if after != text:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(wanted.page) or ".", delete=False) as file:
            file.write(after)
        os.chmod(file.name, 0o644)
        os.replace(file.name, wanted.page)
    for path in documents:  # an old file may have results of another commit
        print(f"read {path}, written {time.strftime('%Y-%m-%d %H:%M', time.localtime(os.path.getmtime(path)))}")
    print(f"{wanted.page} was current" if after == text else f"{wanted.page} is updated")
    return 0


def _text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def main():
    wanted = options()
    registry, units = run.load_cases(), unit_tests()
    try:
        return (check if wanted.check else update)(wanted, registry, units)
    except Unreadable as error:
        print(f"conformance.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
