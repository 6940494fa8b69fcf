#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the test harness without the daemon.

First every case runs on a stand-in that writes correct rules: all must pass, but for those that forbid the
stand-in's habit of writing everything at every change; these must fail. Then the stand-in omits one kind of
rule at a time, or misbehaves in one other way: the cases that cover it must fail. A case that cannot fail
proves nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Other cases of resilience are about the connection of the daemon to its API server.
PICKED = ["case ", "cases ", "writing: 400", "resilience: kill -9", "resilience: SIGTERM", "resilience: a restart",
          "resilience: changes made", "resilience: a connection"]
# These write all at every change, the table filter before nat.
WRITES_EVERYTHING = {"cases_sync.endpoint_leaves", "cases_sync.service_deleted", "cases_no_endpoints.first_endpoint"}
REFUSED = ["writing: one Service is refused"]

# Omitted rules (a regular expression) → cases that must notice.
MUTATIONS = {
    "masquerade on cluster IPs": (r"! -s \S+ -j KUBE-MARK-MASQ", [2, 27, 29]),
    "masquerade on external addresses": (r"-A KUBE-EXT-\w+ -m comment --comment \S+ -j KUBE-MARK-MASQ",
                                         [19, 30, 34, 54, 55, 57, 58, 59, 60, 62, 63, 71]),
    "masquerade of the node with policy Local": (r"-A KUBE-EXT-\w+ .*LOCAL -j KUBE-MARK-MASQ", [22, 23]),
    "hairpin masquerade": (r"-A KUBE-SEP-\w+ -s", [4]),
    "REJECT": (r"-j REJECT", [13, 14, 17, 18, 24, 28, 35, 89, 90]),
    "DROP for want of local endpoints": (r"no local endpoints", [23, 28, 37, 39, 91]),
    "the way of pods with policy Local": (r"-A KUBE-EXT-\w+ -s \S+ -j KUBE-SVC", [21, 23, 61, 76]),
    "the way of the node with policy Local": (r"--src-type LOCAL -j KUBE-SVC", [22]),
    "node port dispatch": (r"-j KUBE-NODEPORTS", [19, 20, 54, 58, 62, 63, 67, 74, 76]),
    "external addresses": (r"-A KUBE-SERVICES .* -j KUBE-EXT", [19, 26, 54, 55, 59, 62, 71, 74, 76]),
    "the health check port": (r"-A KUBE-NODEPORTS .* -j ACCEPT", [32]),
    "the loopback guard": (r"-A KUBE-FIREWALL", [72]),
    "equal shares": (r"--probability 0\.[35]", [1, 11]),
    "source ranges": (r"-A KUBE-FW-\w+ -s \S+/", [56, 57, 60, 61]),
    "the balancer's address among the source ranges": (r"-A KUBE-FW-\w+ -s [^/ ]+ -j", [57]),
    "DROP of clients outside of source ranges": (r"-A KUBE-PROXY-FIREWALL", [56, 57, 58, 60, 61]),
    "the rules that ask for affinity": (r"--rcheck", [73, 74, 75, 76, 78]),
    "DROP of invalid packets": (r"--ctstate INVALID", [101]),
}

# Other misbehaviour of the stand-in (see there) → cases, or parts of names, that must notice.
MISBEHAVIOURS = {
    "eager": [94],
    "flush-first": ["writing: 400 Services are loaded at a start"],
    "never-looks": [100],
    "forgetful": [98],
    "keeps-stale": [104],
    "follows-sysctl": [101],
    "never-large": [99],
    "rewrites": [99],
    "hasty": [82],
    "always-random": [102],
    "strict-ranges": [59],
    "any-mode": [54],
    "no-memory": [73, 74, 75, 76, 78],
    "endless-memory": [73, 74],
    "one-memory": [73, 75],
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", default=".")
    parser.add_argument("--netecho", help="netecho, if it is not in the build tree")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only the mistakes whose name contains TEXT, and not the run on correct rules; repeatable")
    return parser.parse_args()


class Report:
    def __init__(self):
        self.count = self.failed = 0

    def add(self, ok, title, note=""):
        self.count += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {title}" + (f"\n#   {note}" if note and not ok else ""), flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def main():
    wanted = options()
    report = Report()
    if not wanted.only:
        on_correct_rules(wanted, report)
    for title, (pattern, numbers) in MUTATIONS.items():
        if chosen(wanted, title):
            expect_noticed(report, f"without {title}", numbers,
                           run(wanted, {"OMIT": pattern}, numbers, ["--source", "manifests"]))
    for title, watchers in MISBEHAVIOURS.items():
        if chosen(wanted, title):
            expect_noticed(report, f"a proxy that misbehaves ({title})", watchers,
                           run(wanted, {"MISBEHAVE": title}, watchers, []))
    return report.finish()


def chosen(wanted, title):
    return not wanted.only or any(text in title for text in wanted.only)


def on_correct_rules(wanted, report):
    records = run(wanted, {}, PICKED, [], every=True)
    bad = [f"{record['name']} {record['parameters']}" for record in records
           if record["result"] == "fail" and record["test"] not in WRITES_EVERYTHING]
    report.add(records and not bad, f"all {len(records)} runs pass on correct rules", "; ".join(bad))
    failed = {record["test"] for record in records if record["result"] == "fail"}
    report.add(failed >= WRITES_EVERYTHING, "that all is written at every change is noticed",
               f"did not notice: {sorted(WRITES_EVERYTHING - failed)}")
    records = run(wanted, {}, REFUSED, [])
    report.add(records and all(record["result"] == "fail" for record in records),
               "that one refused rule keeps all others away is noticed")


def expect_noticed(report, title, watchers, records):
    failed = [record for record in records if record["result"] == "fail"]
    missed = [watcher for watcher in watchers if not any(is_about(record, watcher) for record in failed)]
    report.add(not missed, f"{title}: {', '.join(map(str, watchers))} fail", f"did not notice: {missed}")


def is_about(record, watcher):
    return watcher in record["numbers"] if isinstance(watcher, int) else watcher in record["name"]


def run(wanted, mistake, filters, more, every=False):
    """The result records of one run of run.py on the stand-in; unless `every`, in one family and protocol."""
    environment = {**os.environ, **{f"SLUICE_STANDIN_{name}": value for name, value in mistake.items()}}
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        words = [sys.executable, os.path.join(HERE, "run.py"), "--builddir", wanted.builddir, "--results", results,
                 "--daemon", os.path.join(HERE, "standin", "standin.py"), "--plugin-dir", folder]
        words += ["--netecho", wanted.netecho] if wanted.netecho else []
        words += [word for one in filters for word in ("--filter", str(one))] + more
        words += [] if every else ["--family", "v4", "--protocol", "tcp"]
        subprocess.run(words, stdout=subprocess.DEVNULL, env=environment, check=False)
        if not os.path.exists(results):
            return []
        with open(results, encoding="utf-8") as file:
            return json.load(file)["results"]


if __name__ == "__main__":
    sys.exit(main())
