# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Seeing every write to the node's netfilter tables, to prove that there was none."""

import subprocess
import time

from . import shell

PROBE_TABLE = "sluice_write_watch"
WINDOW_SECONDS = 1.5
QUIET_SECONDS = 0.3


class WriteWatch:
    """While open, `nft monitor` listens in the node's namespace."""

    def __init__(self, topology):
        self._topology = topology
        self._path = f"{topology.directory}/writes-{time.monotonic_ns()}"
        self._monitor = None
        self._before = 0  # lines written before the watch began

    def __enter__(self):
        with open(self._path, "w", encoding="utf-8") as file:
            self._monitor = self._topology.start("node", "nft", "monitor", stdout=file, stderr=subprocess.STDOUT)
        # A monitor that is not listening yet would report "no writes": show it one of our own first.
        deadline = time.monotonic() + 5
        while PROBE_TABLE not in self._text():
            if time.monotonic() > deadline:
                raise shell.CommandFailed("nft monitor reports nothing")
            self._topology.run("node", "nft", f"add table inet {PROBE_TABLE}; delete table inet {PROBE_TABLE}")
            time.sleep(0.1)
        # One sync is several commits: what settled by the first is still being written.
        seen = -1
        while seen != len(self.lines()):
            seen = len(self.lines())
            time.sleep(QUIET_SECONDS)
        self._before = seen
        return self

    def __exit__(self, *_):
        shell.stop(self._monitor)

    def lines(self):
        """Everything written by others since the watch began."""
        own = False
        found = []
        for line in self._text().splitlines():
            if line.startswith(("add", "delete")) and PROBE_TABLE in line:
                own = True
            elif own and line.startswith("# new generation"):
                own = False
            elif line.strip():
                found.append(line)
        return found[self._before:]

    def expect_none(self, trial, occasion):
        time.sleep(WINDOW_SECONDS)
        found = self.lines()
        trial.require(not found, f"{occasion}: {len(found)} writes to netfilter, first: {found[:1]}")

    def _text(self):
        with open(self._path, encoding="utf-8", errors="replace") as file:
            return file.read()
