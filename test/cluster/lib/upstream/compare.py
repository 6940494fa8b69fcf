# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares results of Sluice with those of kube-proxy and with the list of known failures."""

from .documents import KUBE_PROXY, SLUICE
from .junit import FAILED, PASSED


def problems(runs, tests):
    """Regressions against kube-proxy that the list does not have, and its entries that are no longer true."""
    controls = [run for run in runs if run.proxy == KUBE_PROXY]
    control = [run for run in controls if not tests.is_partial(run.mode)]
    if len(control) != 1:
        yield f"{len(control)} runs of kube-proxy, expected one as the control"
        return
    found = [run.mode for run in runs if run.proxy == SLUICE]
    if found != sorted(tests.modes):
        yield f"results of Sluice in the modes {found}, expected {sorted(tests.modes)}"
    for run in runs:
        if run.proxy == SLUICE:
            same = next((one for one in controls if one.mode == run.mode), None)
            yield from against(run, control[0], tests, same)


def against(run, control, tests, same=None):
    """Problems of a run. `same` is a run of kube-proxy in the same mode; it may have fewer tests than the control."""
    if run.versions.get("kubernetes") != control.versions.get("kubernetes"):
        yield f"{run.name}: Kubernetes {run.versions.get('kubernetes')}, the control {control.versions.get('kubernetes')}"
    for test in sorted(control.results.keys() | run.results.keys()):
        one, other = run.result(test), (same and same.result(test)) or control.result(test)
        known = tests.known_reason(run.mode, test)
        if one is None and tests.omission(run.mode, test):
            continue
        if one is None:
            yield f"{run.name}: the test ran with kube-proxy only: {test}"
        elif one.result == FAILED and known is None and (other is None or other.result != FAILED):
            yield f"{run.name}: the test fails and is no known failure: {test}: {one.reason}"
        elif one.result == PASSED and known is not None:
            yield f"{run.name}: the test passes and is listed as a known failure: {test}"


def incomplete(runs, tests, names):
    """Tests of the list that a run lacks, and tests of a run that the list excludes."""
    for run in runs:
        for group in tests.groups:
            expected = set(tests.tests_of(group, names, run.mode))
            found = {test for test, (name, _) in run.results.items() if name == group.name}
            if group.name not in run.groups and not expected:
                continue
            if run.proxy == KUBE_PROXY and tests.is_partial(run.mode):
                expected &= found  # only a control for what Sluice does in this mode
            elif group.name not in run.groups:
                yield f"{run.name}: no results of the group {group.name}"
                continue
            yield from (f"{run.name}: no result of {test}" for test in sorted(expected - found))
            yield from (f"{run.name}: {test} is not in the group {group.name}" for test in sorted(found - expected))
