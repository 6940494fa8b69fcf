#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests which cases, and with which parameters, the forms of run.py select, and what it removes first (TAP). Nothing is started."""

import os
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True

import run  # noqa: E402
from lib import cases, topology  # noqa: E402

NO_PROCESS = 1 << 22  # the kernel's ids of processes are lower


def taken(*words):
    """Case → the (family, protocol, source) with which a run with these words runs it."""
    sys.argv = ["run.py", *words]
    wanted = run.options()
    return {one: [(*pair, source) for source in run.sources_of(one, wanted) for pair in run.parameters(one, wanted, source)]
            for one in cases.registered() if run.chosen(one, wanted)}


def survives(environment):
    """Whether files of a run that has ended are kept."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder), \
            mock.patch.dict(os.environ, environment):
        place = tempfile.mkdtemp(prefix=f"{topology.SCRATCH}{NO_PROCESS}-")
        topology.remove_leftovers()
        return os.path.exists(place)


def tests():
    yield "files of a run that was killed are removed", ["they are there"] if survives({"SLUICE_VM": ""}) else []
    yield "a virtual machine does not remove what it sees of runs on its host", [] if survives({"SLUICE_VM": "6.1"}) else ["they are gone"]
    run.load_cases()
    new, old = taken("--short"), taken("--short", "--iptables", "legacy")
    omitted = {one for one in new if one not in old and "legacy" in one.variants}
    yield "iptables: the old variant takes every case of the new one but those about the API server", \
        sorted(one.test for one in omitted if "manifests" in one.sources) or ([] if omitted else ["none is omitted"])
    yield "iptables: each of those runs with the new variant", sorted(one.test for one in omitted if not new[one])
    marked = {one: made for one, made in old.items() if "iptables" in one.legacy}
    yield "iptables: with the old variant some cases are marked, more are not", \
        [] if 0 < len(marked) < len(old) / 2 else [f"{len(marked)} of {len(old)}"]
    yield "iptables: with the old variant a marked case runs with everything from its first source", sorted(
        f"{one.test}: {made}" for one, made in marked.items()
        if made != [(family, protocol, one.sources[0]) for family in one.families for protocol in one.protocols])
    yield "iptables: with the old variant every other case runs once", sorted(
        f"{one.test}: {made}" for one, made in old.items() if one not in marked and len(made) != 1)
    families = {made[0][0] for one, made in old.items() if one not in marked and len(one.families) > 1}
    yield "iptables: these are not all of one family", [] if len(families) > 1 else sorted(families)
    for mode in ("ipvs", "userspace"):
        yield f"{mode}: with the old variant only marked cases run", sorted(
            one.test for one in taken("--short", "--backend", mode, "--iptables", "legacy") if mode not in one.legacy)
    yield "the whole form takes each case with everything, with the old variant too", sorted(
        one.test for one, made in taken("--iptables", "legacy").items()
        if len(made) != len(one.families) * len(one.protocols) * len(one.sources))


def main():
    number = failed = 0
    for title, problems in tests():
        number += 1
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {title}", flush=True)
        for problem in problems:
            print(f"#   {problem}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
