# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Frame of the test programs with traffic: options, results as TAP, and the table of counts at the end."""

import argparse
import http.client
import signal
import time

from . import addresses as a
from . import kube_programs, pace, tap
from .failure import ClusterError
from .shell import CommandFailed
from .traffic_scene import CONNECTS, IP

FAILURES = (ClusterError, CommandFailed, OSError, http.client.HTTPException)


class Tests:
    """Prints TAP. With `only`, tests whose names do not contain it do not run."""

    def __init__(self, only=""):
        self._results = tap.Results()
        self._only = only
        self._table = []

    def wanted(self, name):
        return self._only in name

    def check(self, name, test):
        """Runs `test`, which returns sentences about problems, and optionally calls `count`."""
        if not self.wanted(name):
            return
        begun = time.monotonic()
        try:
            problems = [str(one) for one in test() or ()]
        except FAILURES as error:
            problems = [str(error)]
        self._add(name, tap.FAIL if problems else tap.PASS, seconds=time.monotonic() - begun, notes=problems)

    def skip(self, name, reason):
        if self.wanted(name):
            self._add(name, tap.SKIP, reason)

    def _add(self, name, result, reason="", seconds=0.0, notes=()):
        self._results.add({"name": name, "parameters": [], "result": result, "reason": reason, "seconds": round(seconds, 1)},
                          notes)

    def count(self, name, result):
        """Adds a traffic_scene.Result to the table."""
        self._table.append((name, result))

    def finish(self):
        if self._table:
            kinds = [f"failed {what} in {IP[family]}" for what in CONNECTS.values() for family in a.FAMILIES]
            print(f"# | | {' | '.join(kinds)} | broken streams | slowest answer |")
            for name, one in self._table:
                cells = [f"{failed} of {sent}" for sent, failed in one.each()]
                print(f"# | {name} | {' | '.join(cells)} | {one.broken} of {one.streams} | {one.slowest_ms:.0f} ms |")
        return self._results.finish()


def parser(description):
    signal.signal(signal.SIGTERM, _ended)
    words = argparse.ArgumentParser(description=description.splitlines()[0])
    words.add_argument("--builddir", required=True, metavar="DIR", help="build tree of Sluice")
    words.add_argument("--folder", metavar="DIR", help="folder of the cluster (default: as test/cluster/cluster)")
    words.add_argument("--only", default="", metavar="WORD", help="run only tests whose names contain WORD")
    return words


def programs_or_reason():
    """(programs, None), or (None, reason to skip)."""
    try:
        return kube_programs.KubePrograms.from_environment(), None
    except ClusterError as error:
        return None, str(error)


def wait_for(condition, what, seconds):
    found = pace.wait_until(condition, seconds, every=0.2)
    if not found:
        raise ClusterError(f"timeout after {pace.stretched(seconds):.0f} s: {what}")
    return found


def _ended(*_):
    raise SystemExit(143)  # runs the clean-up
