#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the groups of the conformance kit: a backend of the tree passes them, and with one mistake at a time (see
test/plugins/mutant.cpp) the group that covers it fails. Needs root."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from lib import programs

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("contract", "kill", "claims", "cleanup", "foreign", "cost", "random", "swap")
# mistake → (a test that must fail, the backend that has it)
MISTAKES = {
    "claims-nothing": ("kit_claims.what_appears_is_claimed", "nftables"),
    "leaves": ("kit_cleanup.nothing_is_left", "nftables"),
    "greedy": ("kit_foreign.others_are_left_alone", "nftables"),
    "rewrites": ("kit_kill.idle", "nftables"),
    "slow-deltas": ("kit_cost.of_changes", "nftables"),
    "forgets": ("kit_random.where_the_model_says", "nftables"),
    "blind": ("kit_claims.removed_is_repaired", "iptables"),
    "any-option": ("kit_contract.promises", "nftables"),
    "snatches": ("kit_swap.under_traffic", "nftables"),
    "short-sighted": ("kit_contract.promises", "nftables"),
    "half-cancelled": ("kit_contract.promises", "nftables"),
}
# Differences of the original backends from iptables mode.
DECLARED = {"iptables": "", "nftables": "differs other-port, empty-behind-ranges, node-rejected, never-loopback, primary-only, "
                                        "invalid-passes, not-let-through\n"}


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".")
    parser.add_argument("--only", action="append", default=[], metavar="MISTAKE", help="these only; repeatable")
    return parser.parse_args()


def file_of(builddir, folder, name):
    for path in programs.built_modules(os.path.join(builddir, folder)):
        if os.path.basename(path) == f"{name}.so":
            return path
    raise SystemExit(f"{name}.so is not in {builddir}/{folder}")


def run(wanted, mistake, backend, words, folder):
    """The results of a run of the kit on the mutant."""
    results = os.path.join(folder, "results.json")
    declaration = os.path.join(folder, "mutant.conformance")
    with open(declaration, "w", encoding="utf-8") as file:
        file.write(DECLARED[backend])
    environment = {**os.environ, "SLUICE_MUTANT": mistake, "SLUICE_MUTANT_OF": file_of(wanted.builddir, "plugins", backend)}
    command = [sys.executable, os.path.join(HERE, "kit.py"), "--builddir", wanted.builddir, "--plugin",
               file_of(wanted.builddir, "test/plugins", "mutant"), "--declare", declaration, "--short", "--family", "v4", "--lanes", "1",
               "--seed", "1", "--json", results, *(word for one in words for word in ("--only", one))]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if not os.path.exists(results):
        return [], done.stdout[-1500:]
    with open(results, encoding="utf-8") as file:
        return json.load(file)["results"], done.stdout[-1500:]


def main():
    wanted = options()
    checks = [] if wanted.only else [("", GROUPS, backend) for backend in DECLARED]
    checks += [(mistake, [test.partition(".")[0].removeprefix("kit_")], backend) for mistake, (test, backend) in MISTAKES.items()
               if not wanted.only or mistake in wanted.only]
    failures = 0
    for count, (mistake, groups, backend) in enumerate(checks, 1):
        with tempfile.TemporaryDirectory() as folder:
            records, said = run(wanted, mistake, backend, groups, folder)
        failed = [record["test"] for record in records if record["result"] == "fail"]
        if mistake:
            holds, title = MISTAKES[mistake][0] in failed, f"{backend} with a mistake ({mistake}): {MISTAKES[mistake][0]} fails"
        else:
            holds, title = bool(records) and not failed, f"{backend} without a mistake: {len(records)} runs pass"
        failures += not holds
        print(f"{'ok' if holds else 'not ok'} {count} - {title}", flush=True)
        if not holds:
            reasons = [f"{record['test']}: {record['reason'][:300]}" for record in records if record["result"] == "fail"]
            for line in reasons or said.splitlines():
                print(f"#   {line}")
    print(f"1..{len(checks)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
