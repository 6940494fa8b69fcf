# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/conformance-upstream.md from the list of tests and the committed results."""

import re

from .documents import KUBE_PROXY, SLUICE
from .junit import FAILED, PASSED, SKIPPED

NAME = "docs/conformance-upstream.md"
INTRODUCTION = """\
# Conformance: upstream's tests

Results of Kubernetes' own end-to-end tests of sig-network, in a cluster of this tree: real etcd, API server, controllers,
kubelets, containerd and upstream's e2e.test, on nodes that are network namespaces of one machine. In ipvs mode each node is
an emulated machine, because this kernel has no IPVS. The same list runs with kube-proxy as the control. [conformance.md](conformance.md) has this project's own cases.

`test/cluster/upstream.py` runs the tests, compares the results with kube-proxy's, and writes this page from
`test/cluster/results`. `test/cluster/upstream_tests.toml` has the groups, each exclusion, and the known failures.
A test that fails with Sluice and passes with kube-proxy makes the lint fail unless it is a known failure. Do not edit the page.
"""
_TAGS = re.compile(r"\[sig-network\] | \[(?:LinuxOnly|NodeConformance)\]")
_TITLES = {KUBE_PROXY: "kube-proxy", SLUICE: "Sluice"}
FEW = 6  # names of excluded tests that are listed; of more tests only the common words
_VERSIONS = ("kubernetes", "containerd", "kernel", "sluice")


def short(test):
    """The name without tags that every test of the page has, or that say nothing about it."""
    return _TAGS.sub("", test)


def title(run):
    return f"{_TITLES[run.proxy]} {run.mode}"


def text(tests, names, runs):
    """The page, from the list, the names of all tests of sig-network, and the runs of `documents.read_runs`."""
    parts = [INTRODUCTION, _numbers(tests, names), _runs(tests, runs), _known(tests, names, runs), _skipped(runs)]
    parts += [_group(group, tests.tests_of(group, names), runs) for group in tests.groups]
    parts += [_omitted(tests, names), _excluded(tests, names)]
    return "\n".join(part for part in parts if part)


def _table(head, rows):
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _numbers(tests, names):
    excluded = sum(map(len, tests.excluded(names).values()))
    return f"Of {len(names)} tests of sig-network {len(names) - excluded} run and {excluded} are excluded.\n"


def _runs(tests, runs):
    rows = []
    for run in runs:
        counts = [sum(run.count(group, result) for group in run.groups) for result in (PASSED, FAILED, SKIPPED)]
        seconds = sum(group["seconds"] for group in run.groups.values())
        rows.append([title(run), *counts, seconds, *(run.versions.get(key, "") for key in _VERSIONS), run.date])
    head = ["proxy and mode", "passed", "failed", "skipped", "seconds", "Kubernetes", "containerd", "kernel", "Sluice", "date"]
    again = "\n\"run 2\" and \"run 3\": the test failed before, and ran again without the tests that passed.\n"
    notes = again if any(run.attempts for run in runs) else ""
    notes += "".join(f"\nNot run in {one.mode} mode: {one.reason}.\n" for one in tests.absent)
    return "## Runs\n\n" + _table(head, rows) + notes


def _known(tests, names, runs):
    """The failures of Sluice, with the reason that the list has."""
    rows = [[title(run), short(test), tests.known_reason(run.mode, test) or "fails with kube-proxy, too"]
            for run in runs if run.proxy == SLUICE
            for test in names if run.result(test) and run.result(test).result == FAILED]
    return "## Failures\n\n" + (_table(["mode", "test", "reason"], rows) if rows else "No test failed with Sluice.\n")


def _skipped(runs):
    """Skips with the reason that the test printed; runs with the same reason share a row."""
    rows = {}
    for run in runs:
        for test, (_, one) in sorted(run.results.items()):
            if one.result == SKIPPED:
                rows.setdefault((short(test), one.reason), []).append(title(run))
    if not rows:
        return ""
    everywhere = [title(run) for run in runs]
    cells = [[test, "all" if proxies == everywhere else ", ".join(proxies), reason]
             for (test, reason), proxies in sorted(rows.items())]
    return "## Tests that skip themselves\n\n" + _table(["test", "proxy and mode", "reason that the test prints"], cells)


def _group(group, tests, runs):
    rows = [[short(test), *(_cell(run, test) for run in runs)] for test in tests]
    return f"## Group {group.name}\n\n{group.about[0].upper()}{group.about[1:]}.\n\n" + _table(
        ["test", *map(title, runs)], rows)


def _cell(run, test):
    result = run.result(test)
    if result is None:
        return "–"  # omitted in this mode, see the table of omitted tests
    word = f"**{result.result}**" if result.result == FAILED else result.result
    return f"{word} (run {run.attempts[test]})" if test in run.attempts else word


def _omitted(tests, names):
    rows = [[one.mode, one.reason, len(found), "<br>".join(map(short, found))] for one, found in tests.omitted(names).items()]
    return "## Tests omitted in one mode\n\n" + _table(["mode", "reason", "tests", "names"], rows) if rows else ""


def _excluded(tests, names):
    rows = []
    for one, found in tests.excluded(names).items():
        rows.append([one.needs, one.reason, len(found), "<br>".join(map(short, found)) if len(found) <= FEW else _common(found)])
    return "## Excluded tests\n\n" + _table(["needs", "reason", "tests", "names"], rows)


def _common(tests):
    """The words that the names begin with."""
    first, last = short(min(tests)).split(" "), short(max(tests)).split(" ")
    same = [one for one, other in zip(first, last) if one == other]
    number = next((number for number, (one, other) in enumerate(zip(first, last)) if one != other), len(same))
    return " ".join([*first[:number], "…"])
