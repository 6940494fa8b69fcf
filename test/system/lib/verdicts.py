# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The text of a cell of docs/conformance.md. The results of a run decide; without results the page keeps its cell.

A cell has no counts, and a skipped test does not change it. So the page changes with the behaviour or the tests, and
not with the machine that generates it.
"""

import dataclasses

from . import differences
from .catalogue import NOT_APPLICABLE
from .tap import FAIL, PASS, SKIP

COLUMNS = ("iptables-legacy", "iptables-nft", "ipvs", "nftables", "userspace")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped: "
LONG_FORM, DOES_NOT_APPLY, NOTHING, NOT_COVERED = "long form", "does not apply", "–", "not covered"


@dataclasses.dataclass(frozen=True)
class Row:
    """The subject of one row of the page."""

    key: str  # the number of a case, or the name of its function if it has no number
    cases: tuple  # from the registry
    units: tuple = ()  # files of unit tests


def mode_of(column):
    """The mode of a column such as "iptables-nft"."""
    return column.partition("-")[0]


def takes(case, column):
    """Whether the runs of this column include the case."""
    mode, _, variant = column.partition("-")
    return mode in case.backends and (variant or "nft") in case.variants


def columns_of(backend, record):
    """The column of the run, and those of other modes that served during the case."""
    found = {backend}
    for mode in record.get("modes", ()):
        if not backend.endswith("-legacy"):
            found.add("iptables-nft" if mode == "iptables" else mode)
    return found & {*COLUMNS}


class Results:
    """The records of the result files of a run."""

    def __init__(self, documents):
        self._all, self._own = {}, {}
        for document in documents:
            for record in document["results"]:
                self._own.setdefault((record["test"], document["backend"]), []).append(record)
                for column in columns_of(document["backend"], record):
                    self._all.setdefault((record["test"], column), []).append(record)
        self._passed = {record["test"] for records in self._all.values() for record in records if record["result"] == PASS}

    def of(self, row, column):
        return [record for case in row.cases for record in self._all.get((case.test, column), [])]

    def passed(self, case, column):
        """Passed records of the runs of that column itself, which have the differences of its mode."""
        return [record for record in self._own.get((case.test, column), []) if record["result"] == PASS]

    def has_seen(self, row):
        """Whether a case of the row has passed in any mode."""
        return any(case.test in self._passed for case in row.cases)


def is_result(cell):
    return cell == PASSED or (cell or "").startswith(SKIPPED)


def cell(row, column, results, before):
    """`before` is the current cell of the page, or None."""
    kept = before if is_result(before) else None
    records = results.of(row, column)
    outcomes = {record["result"] for record in records}
    if FAIL in outcomes:  # the run fails, or a repetition of the test passed
        return before or FAILED
    if PASS in outcomes:
        return PASSED
    if SKIP in outcomes:  # kernels of machines have different features
        return kept or SKIPPED + min(record["reason"] for record in records if record["result"] == SKIP)
    if not row.cases and not row.units:
        return NOT_COVERED
    is_taken = any(takes(case, column) for case in row.cases)
    if is_taken and kept:
        return kept
    if row.key.isdigit() and int(row.key) in NOT_APPLICABLE.get(mode_of(column), {}):
        return DOES_NOT_APPLY
    if is_taken:
        return LONG_FORM
    # A case for another mode may swap to this one, which only its results show.
    return kept if kept and row.cases and not results.has_seen(row) else NOTHING


def differing(row, column, results, before):
    """Names of the differences from iptables mode that this row asserts; `before` are those on the page. They are kept if a run
    does not include all families and protocols."""
    mode = mode_of(column)
    names = {one.described_for(mode): name for name, one in differences.ALL.items() if one.concerns(mode)}
    met, is_complete = set(), True
    for case in row.cases:
        if takes(case, column):
            records = results.passed(case, column)
            met.update(names[sentence] for record in records for sentence in record.get("differs", ()) if sentence in names)
            ran = {tuple(record["parameters"][:2]) for record in records}
            is_complete = is_complete and ran >= {(family, protocol) for family in case.families for protocol in case.protocols}
    return met if is_complete else met | ({*before} & {*names.values()})
