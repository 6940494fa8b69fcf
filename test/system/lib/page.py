# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes docs/conformance.md."""

import re

from . import differences, verdicts
from .catalogue import AREAS, DIFFERENT, NOT_APPLICABLE, REPLACED, SECTIONS
from .verdicts import COLUMNS, PASSED

HEADER = """# Conformance

Behaviour is compared with kube-proxy 1.36, case by case. **Packets** are the system tests in `test/system`: real
daemon, real kernel, which server answers and from which address. **Unit** are tests of the code, without a kernel.
For each mode, and each variant of iptables:

| cell | meaning |
|---|---|
| passed | at least one test of the row ran in this mode, and none failed |
| passed ≠ | the same, and a test asserts an intended difference from iptables mode, which is listed below |
| skipped: reason | the machine lacked a requirement of the tests |
| long form | only the long form of `test/run.sh` has tests for this mode |
| does not apply | the case does not apply to the mode; the reason is below |
| – | there is no system test for this mode |
| not covered | no system test and no unit test names the case |

`test/run.sh` fails if this page differs from its tests and their results. Tests that a run does not include, or that the
machine cannot run, keep their cells. A test that swaps backends counts for every mode that served in it. Do not edit the
page: `make conformance` updates it from the results of the last run.
"""
BAR = re.compile(r"(?<!\\)\|")
DIFFERENCES = re.compile(r"#+ Differences in (\S+) mode$")
CASE, TEST, PACKETS, NAME = "case", "test", "packets", "name"


class OldPage:
    """The cells and differences of an existing page."""

    def __init__(self, text=""):
        self._cells = {}  # (key, column) → cell, without ≠
        self._names = {}  # (key, mode) → names of differences
        mode, titles = "", None
        for line in text.splitlines():
            if line.startswith("#"):
                found = DIFFERENCES.match(line)
                mode = found[1] if found else ""
            cells = _split(line)
            if cells is None:
                titles = None
            elif titles is None:
                titles = cells
            elif not line.startswith("|--"):
                self._read(dict(zip(titles, cells)), mode)

    def _read(self, row, mode):
        if mode and NAME in row:
            for key in row[CASE].split(", "):
                self._names.setdefault((key.strip("`"), mode), set()).add(row[NAME].strip("`"))
        key = row.get(CASE) or row.get(PACKETS, "").strip("`")
        for column in COLUMNS:
            if column in row:
                self._cells[key, column] = row[column].removesuffix(" ≠")

    def cell(self, key, column):
        return self._cells.get((key, column))

    def names(self, key, column):
        return self._names.get((key, verdicts.mode_of(column)), set())


def _split(line):
    """The cells of a row of a table, or None."""
    return [cell.strip().replace("\\|", "|") for cell in BAR.split(line)[1:-1]] if line.startswith("|") else None


def _row(*cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _table(*titles):
    return [_row(*titles), "|" + "---|" * len(titles)]


class Writer:
    """`rows` has a verdicts.Row for each number of the catalogue and for each case without a number."""

    def __init__(self, rows, results, old):
        self._rows = {row.key: row for row in rows}
        self._results = results
        self._old = old
        self._names = {(row.key, column): verdicts.differing(row, column, results, old.names(row.key, column))
                       for row in rows for column in COLUMNS}

    def text(self):
        lines = [HEADER, self._covered()]
        for title, cases in SECTIONS.items():
            lines += [f"\n## {title}\n", *_table(CASE, "what", PACKETS, "unit", *COLUMNS)]
            lines += [self._numbered(number, what) for number, what in cases.items()]
        for title, areas in AREAS.items():
            lines += [f"\n## {title}\n", *self._unnumbered(lambda case, areas=areas: case.area in areas, "title")]
        lines += _reasons("Intended differences from upstream", "what Sluice does instead", REPLACED.items())
        for mode in sorted({verdicts.mode_of(column) for column in COLUMNS}):
            if mode in DIFFERENT:
                lines += _reasons(f"Differences in {mode} mode", "difference and reason", DIFFERENT[mode].items())
            else:
                lines += self._differences(mode)
            if mode in NOT_APPLICABLE:
                lines += _reasons(f"Cases that do not apply to {mode} mode", "why", NOT_APPLICABLE[mode].items())
        apart = {area for areas in AREAS.values() for area in areas}
        lines += ["\n## Additional tests\n", *self._unnumbered(lambda case: case.area not in apart, "name")]
        return "\n".join(lines) + "\n"

    def _covered(self):
        numbers = [str(number) for cases in SECTIONS.values() for number in cases]
        covered = sum(bool(self._rows[number].cases or self._rows[number].units) for number in numbers)
        return f"{covered} of {len(numbers)} cases have a test."

    def _cells(self, row):
        for column in COLUMNS:
            found = verdicts.cell(row, column, self._results, self._old.cell(row.key, column))
            yield found + (" ≠" if found == PASSED and self._names[row.key, column] else "")

    def _numbered(self, number, what):
        row = self._rows[str(number)]
        what += " (differs, see below)" if number in REPLACED else ""
        return _row(row.key, what, _listed(sorted({case.test for case in row.cases})), _listed(row.units), *self._cells(row))

    def _unnumbered(self, is_included, attribute):
        """The table of the included cases without a number."""
        rows = [row for row in self._rows.values() if not row.key.isdigit() and is_included(row.cases[0])]
        rows.sort(key=lambda row: row.cases[0].name)
        return [*_table(TEST, PACKETS, *COLUMNS),
                *(_row(getattr(row.cases[0], attribute), f"`{row.key}`", *self._cells(row)) for row in rows)]

    def _differences(self, mode):
        """The differences that cases assert in this mode."""
        met = {}
        for (key, column), names in self._names.items():
            for name in names:
                if verdicts.mode_of(column) == mode:
                    met.setdefault(name, []).append(key)
        if not met:
            return []
        rows = sorted((sorted(keys, key=_in_order), name) for name, keys in met.items())
        rows.sort(key=lambda row: [_in_order(key) for key in row[0]])
        return [f"\n## Differences in {mode} mode\n", *_table(CASE, NAME, "difference and reason"),
                *(_row(", ".join(key if key.isdigit() else f"`{key}`" for key in keys), f"`{name}`",
                       differences.ALL[name].described_for(mode)) for keys, name in rows)]


def _in_order(key):
    return not key.isdigit(), key.zfill(4)


def _listed(names):
    return "<br>".join(f"`{name}`" for name in names)


def _reasons(title, column, rows):
    return [f"\n## {title}\n", *_table(CASE, column), *(_row(str(key), reason) for key, reason in rows)]
