#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the test harness without the daemon.

First every case runs on a stand-in that writes correct rules: all must pass. Then the stand-in leaves out one
kind of rule at a time: the cases that watch over it must fail. A case that cannot fail proves nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# What is left out (a regular expression on rules) → cases that must notice.
MUTATIONS = {
    "masquerade on cluster IPs": (r"! -s \S+ -j KUBE-MARK-MASQ", [2, 27, 29]),
    "masquerade on external addresses": (r"-A KUBE-EXT-\w+ -j KUBE-MARK-MASQ", [19, 30, 34, 63, 71]),
    "masquerade of the node with policy Local": (r"-A KUBE-EXT-\w+ .*LOCAL -j KUBE-MARK-MASQ", [22, 23]),
    "hairpin masquerade": (r"-A KUBE-SEP-\w+ -s", [4]),
    "REJECT": (r"-j REJECT", [13, 14, 17, 18, 24, 28, 35, 89, 90]),
    "DROP for want of local endpoints": (r"no local endpoints", [23, 28, 37, 39, 91]),
    "the way of pods with policy Local": (r"-A KUBE-EXT-\w+ -s \S+ -j KUBE-SVC", [21, 23]),
    "the way of the node with policy Local": (r"--src-type LOCAL -j KUBE-SVC", [22]),
    "node port dispatch": (r"-j KUBE-NODEPORTS", [19, 20, 63, 67]),
    "external addresses": (r"-A KUBE-SERVICES .* -j KUBE-EXT", [19, 26, 71]),
    "the health check port": (r"-A KUBE-NODEPORTS .* -j ACCEPT", [32]),
    "the loopback guard": (r"-A KUBE-FIREWALL", [72]),
    "equal shares": (r"--probability 0\.[35]", [1, 11]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", default=".")
    parser.add_argument("--netecho", help="netecho, when it is not in the build tree")
    wanted = parser.parse_args()
    count = failed = 0

    def report(ok, title, note=""):
        nonlocal count, failed
        count += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {count} - {title}" + (f"\n#   {note}" if note and not ok else ""), flush=True)

    records = run(wanted, None, ["case ", "cases ", "resilience"], [])
    bad = [f"{record['name']} {record['parameters']}" for record in records if record["result"] == "fail"]
    report(records and not bad, f"all {len(records)} runs pass on correct rules", "; ".join(bad))
    for title, (pattern, numbers) in MUTATIONS.items():
        records = run(wanted, pattern, [str(number) for number in numbers],
                      ["--source", "manifests", "--family", "v4", "--protocol", "tcp"])
        noticed = {number for record in records if record["result"] == "fail" for number in record["numbers"]}
        missed = sorted(set(numbers) - noticed)
        report(not missed, f"without {title}: cases {', '.join(map(str, numbers))} fail", f"did not notice: {missed}")
    print(f"1..{count}")
    return 1 if failed else 0


def run(wanted, leave_out, filters, more):
    """The result records of one run of run.py on the stand-in."""
    environment = dict(os.environ)
    if leave_out:
        environment["SLUICE_STANDIN_LEAVE_OUT"] = leave_out
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        words = [sys.executable, os.path.join(HERE, "run.py"), "--builddir", wanted.builddir, "--results", results,
                 "--daemon", os.path.join(HERE, "standin", "standin.py"), "--plugin-dir", folder]
        words += ["--netecho", wanted.netecho] if wanted.netecho else []
        words += [word for one in filters for word in ("--filter", one)] + more
        subprocess.run(words, stdout=subprocess.DEVNULL, env=environment, check=False)
        if not os.path.exists(results):
            return []
        with open(results, encoding="utf-8") as file:
            return json.load(file)["results"]


if __name__ == "__main__":
    sys.exit(main())
