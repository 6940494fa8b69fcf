# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The committed results: one file for each proxy and mode, and one with the names of all tests of sig-network."""

import json
import os

from . import junit

KUBE_PROXY, SLUICE = "kube-proxy", "sluice"
LIST = "upstream-tests.json"
_PREFIX = "upstream-"


class Unreadable(Exception):
    """A file of results is missing or malformed."""


class Run:
    """Results of one proxy in one mode."""

    def __init__(self, proxy, mode):
        self.proxy, self.mode, self.date, self.versions = proxy, mode, "", {}
        self.groups = {}   # name → {"seconds", "nodes", "zones"}
        self.results = {}  # test → (group, junit.Result)
        self.attempts = {}  # test → number of runs, if its first result was a failure that ran again

    @property
    def name(self):
        return f"{self.proxy} {self.mode}"

    @property
    def file(self):
        return f"{_PREFIX}{self.proxy}-{self.mode}.json"

    def add(self, group, results, seconds):
        """Replaces earlier results of the group."""
        self.results = {test: found for test, found in self.results.items() if found[0] != group.name}
        self.groups[group.name] = {"seconds": round(seconds), "nodes": group.nodes, "zones": group.zones}
        self.results.update((one.test, (group.name, one)) for one in results)
        self.attempts = {test: number for test, number in self.attempts.items() if self.results[test][0] != group.name}

    def add_some(self, group, results, seconds):
        """Adds results of some tests of the group, and replaces earlier ones of these tests."""
        before = self.groups.get(group.name, {"seconds": 0})["seconds"]
        self.groups[group.name] = {"seconds": round(before + seconds), "nodes": group.nodes, "zones": group.zones}
        self.results.update((one.test, (group.name, one)) for one in results)

    def add_again(self, group, results):
        """Replaces the results of these tests, and counts the attempt; a test without a result had none."""
        for one in results:
            if one.test in self.results:
                self.attempts[one.test] = self.attempts.get(one.test, 1) + 1
            self.results[one.test] = (group.name, one)

    def failed(self, tests):
        """Those of the tests that failed or have no result."""
        return [test for test in tests if self.result(test) is None or self.result(test).result == junit.FAILED]

    def result(self, test):
        """The junit.Result of a test, or None if the test did not run."""
        return self.results[test][1] if test in self.results else None

    def count(self, group, result):
        return sum(1 for name, one in self.results.values() if name == group and one.result == result)

    def text(self):
        """One line for each test, so that changes are readable."""
        head = {"proxy": self.proxy, "mode": self.mode, "date": self.date, "versions": self.versions, "groups": self.groups}
        lines = [json.dumps(key) + ": " + json.dumps(value) for key, value in head.items()]
        rows = [json.dumps({"test": test, "group": group, "result": one.result, "reason": one.reason,
                            "seconds": round(one.seconds), **self._attempt(test)})
                for test, (group, one) in sorted(self.results.items())]
        return "{" + ",\n ".join([*lines, '"results": [\n  ' + ",\n  ".join(rows) + "\n ]"]) + "}\n"

    def _attempt(self, test):
        return {"attempt": self.attempts[test]} if test in self.attempts else {}

    @classmethod
    def of(cls, document):
        run = cls(document["proxy"], document["mode"])
        run.date, run.versions, run.groups = document["date"], document["versions"], document["groups"]
        for row in document["results"]:
            run.results[row["test"]] = (row["group"], junit.Result(row["test"], row["result"], row["reason"], row["seconds"]))
            if "attempt" in row:
                run.attempts[row["test"]] = row["attempt"]
        return run


def read_runs(folder):
    """All runs of a folder: the control first, then Sluice's modes in alphabetical order."""
    runs = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.startswith(_PREFIX) and name.endswith(".json") and name != LIST:
            runs.append(_read(os.path.join(folder, name), Run.of))
    return sorted(runs, key=lambda run: (run.proxy != KUBE_PROXY, run.mode))


def read_run(folder, proxy, mode):
    """The run of a proxy and mode, or None."""
    return next((run for run in read_runs(folder) if (run.proxy, run.mode) == (proxy, mode)), None)


def read_names(folder):
    """(Kubernetes version, names of all tests of sig-network)"""
    return _read(os.path.join(folder, LIST), lambda document: (document["kubernetes"], document["tests"]))


def write_names(folder, version, names):
    write(os.path.join(folder, LIST), json.dumps({"kubernetes": version, "tests": names}, indent=1) + "\n")


def write(path, text):
    """Replaces the file at once, so that a run that is killed leaves the old one."""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(new, path)


def _read(path, made):
    try:
        with open(path, encoding="utf-8") as file:
            return made(json.load(file))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"cannot read results from {path}: {error!r}; write them with 'upstream.py run' or 'list'") from error
