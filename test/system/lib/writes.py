# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Records all writes to the netfilter tables of the node, to check what was written and what was not.

The kernel reports writes to nf_tables to `nft monitor` in the namespace of the node. It does not report those of
iptables-legacy, so wrappers of the programs record them.
"""

import contextlib
import re
import subprocess
import time

from . import pace, shell

PROBE_TABLE = "sluice_write_watch"
WINDOW_SECONDS = 1.5
TIDYING = re.compile(r"delete (?:element ip6? kube-proxy (?:service|firewall)-chains |"
                     r"(?:chain|rule) ip6? kube-proxy (?:nodeport-|sticky-|external-|local-|endpoints-|firewall-))")
QUIET_SECONDS = 0.3


class WriteWatch:
    def __init__(self, topology):
        self._topology = topology
        self._stack = contextlib.ExitStack()
        self._watcher = _Programs(topology) if topology.variant == "legacy" else _Monitor(topology)
        self._before = 0  # lines written before the watch began

    def __enter__(self):
        self._stack.enter_context(self._watcher)
        # A sync consists of several commits: later ones may still be in progress.
        self._before = pace.wait_unchanged(lambda: len(self.lines()), QUIET_SECONDS, seconds=60)
        if self._before is None:
            self._stack.close()
            raise shell.CommandFailed("earlier writes do not end")
        return self

    def __exit__(self, *_):
        self._stack.close()

    def lines(self):
        """All lines written since the watch began, except its own."""
        return self._watcher.lines()[self._before:]

    def expect_none(self, trial, occasion):
        time.sleep(WINDOW_SECONDS)  # fixed time: proves that nothing is written
        found = self.lines()
        trial.require(not found, f"{occasion}: {len(found)} writes to netfilter, first: {found[:1]}")


class _Monitor:
    def __init__(self, topology):
        self._topology = topology
        self._path = f"{topology.directory}/writes-{time.monotonic_ns()}"
        self._process = None

    def __enter__(self):
        with open(self._path, "w", encoding="utf-8") as file:
            self._process = self._topology.start("node", "nft", "monitor", stdout=file, stderr=subprocess.STDOUT)
        # The monitor may read thousands of rules before it listens, and would miss writes: wait until it reports a table
        # of this watch.
        def reported():
            self._topology.run("node", "nft", f"add table inet {PROBE_TABLE}; delete table inet {PROBE_TABLE}")
            return PROBE_TABLE in self._text()

        if not pace.wait_until(reported, 20, every=0.1):
            raise shell.CommandFailed("nft monitor reports nothing")

    def __exit__(self, *_):
        shell.stop(self._process)

    def lines(self):
        own = False
        found = []
        for line in self._text().splitlines():
            if line.startswith(("add", "delete")) and PROBE_TABLE in line:
                own = True
            elif own and line.startswith("# new generation"):
                own = False
            elif line.strip():
                found.append(line)
        return _without_tidying(found)

    def _text(self):
        with open(self._path, encoding="utf-8", errors="replace") as file:
            return file.read()


def _without_tidying(lines):
    """Excludes transactions of nftables mode that only remove shared chains without Services, which happen at any time."""
    kept, transaction = [], []
    for line in lines:
        transaction.append(line)
        if line.startswith("# new generation"):
            if len(transaction) == 1 or not all(TIDYING.match(one) for one in transaction[:-1]):
                kept += transaction
            transaction = []
    return kept + transaction


class _Programs:
    def __init__(self, topology):
        self._topology = topology
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self._stack.enter_context(self._topology.tools.wrapped())

    def __exit__(self, *_):
        self._stack.close()

    def lines(self):
        inputs = self._topology.tools.inputs(self._topology.namespace("node"))
        return [line for text in inputs for line in text.splitlines() if line and not line.startswith(("*", "COMMIT"))]
