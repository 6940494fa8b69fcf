# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive this program: each has a file with its id, and a log."""

import contextlib
import os
import signal
import time

from . import pace
from .failure import ClusterError

TAIL_LINES = 25
STOP_PATIENCE = 20


def start_time(pid):
    """Distinguishes a process from a later one with the same id; None if it ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state, *fields = file.read().rpartition(")")[2].split()
        # The first thread of a killed process can be a zombie while others still hold the sockets.
        ended = state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) <= 1
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if ended else fields[18]


_children = []  # Popen objects of processes that this program started and that may run


def adopt(child):
    """Registers a Popen object, so that reap() collects its exit status. The namespace of an uncollected process never ends."""
    _children.append(child)
    return child


def reap():
    """Collects the exit status of ended processes that this program started."""
    for child in list(_children):
        if child.poll() is not None:
            with contextlib.suppress(ValueError):  # another thread removed it
                _children.remove(child)


def kill(pids, seconds=120):
    """Sends SIGKILL and returns once the processes ended."""
    pids = set(pids)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def ended():
        reap()
        return all(start_time(pid) is None for pid in pids)

    if not pace.wait_until(ended, seconds):
        raise ClusterError(f"processes do not end after SIGKILL: {sorted(pid for pid in pids if start_time(pid))}")


def in_network(inodes):
    """Processes in the network namespaces with these inodes."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{number}/ns/net").st_ino in inodes:
                found.append(int(number))
        except (FileNotFoundError, PermissionError, ProcessLookupError):  # it ended
            continue
    return found


class Process:
    """One process of the cluster, by its name."""

    def __init__(self, layout, name):
        self.name = name
        self.log = layout.logs / f"{name}.log"
        self._file = layout.pids / name

    @property
    def pid(self):
        """Its id, or None if it does not run."""
        try:
            pid, _, begun = self._file.read_text(encoding="ascii").strip().partition(" ")
        except FileNotFoundError:
            return None
        return int(pid) if begun and start_time(int(pid)) == begun else None

    def start(self, starter, argv, **options):
        """`starter(argv, **options)` returns the Popen object."""
        if self.pid:
            raise ClusterError(f"{self.name} runs already")
        with open(self.log, "ab") as log:
            process = adopt(starter([str(word) for word in argv], stdout=log, stderr=log, **options))
        self._file.write_text(f"{process.pid} {start_time(process.pid)}\n", encoding="ascii")
        return process.pid

    def stop(self, patience=None):
        """Sends SIGTERM, then SIGKILL after `patience` seconds, which the load does not stretch; the default is ample."""
        pid = self.pid
        if pid:
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + (patience or pace.stretched(STOP_PATIENCE))
            while start_time(pid) and time.monotonic() < deadline:
                time.sleep(pace.POLL_SECONDS)  # poll interval
            kill([pid])
        self._file.unlink(missing_ok=True)

    def kill(self):
        """Sends SIGKILL."""
        pid = self.pid
        if pid:
            kill([pid])
        self._file.unlink(missing_ok=True)

    def tail(self, lines=TAIL_LINES):
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def wait(self, condition, what, seconds):
        """Waits while the process runs; raises ClusterError with the tail of its log if it ends, or after the timeout."""
        ended = []

        def check():
            if not self.pid:
                ended.append(True)
            return ended or condition()

        found = pace.wait_until(check, seconds)
        if ended or not found:
            cause = "the process ended" if ended else f"timeout after {pace.stretched(seconds):.0f} s"
            raise ClusterError(f"{self.name}: {what}: {cause}; last lines of {self.log}:\n{self.tail()}")
        return found
