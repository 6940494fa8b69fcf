# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What a process and the programs it runs cost, read from /proc."""

import os
import threading

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.05


def cpu_seconds(pid):
    """CPU time of the process and of every child it has waited for. Resolution: one tick, 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        # The name may hold blanks and brackets; fields are counted from its end.
        fields = file.read().rpartition(")")[2].split()
    return sum(int(fields[index]) for index in (11, 12, 13, 14)) / TICKS


def memory_mib(pid, field):
    """VmRSS (now) or VmHWM (the most so far) of the process alone."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


class PeakWithChildren:
    """Samples the memory of a process and its children, and keeps the highest sum."""

    def __init__(self, pid):
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.mib = 0.0
        self._thread.start()

    def end(self):
        self._stop.set()
        self._thread.join()
        return self.mib

    def _sample(self):
        while not self._stop.wait(SAMPLE_SECONDS):
            self.mib = max(self.mib, sum(_rss_of(pid) for pid in _tree(self._pid)))


def _tree(pid):
    yield pid
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    yield from _tree(int(child))
    except OSError:
        return  # ended while we looked


def _rss_of(pid):
    try:
        return memory_mib(pid, "VmRSS")
    except OSError:
        return 0.0
