# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""CPU time and memory of a process and the programs it runs."""

import os
import threading
import time
from dataclasses import dataclass

from patience import stretched

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.05
QUIET_SECONDS = 0.3
MIB = 1024.0  # /proc counts in KiB


def own_cpu_seconds(pid):
    """CPU time of all threads of the process, ended ones too, in nanoseconds' resolution; not of its children."""
    # The clock of another process, as clock_getcpuclockid(3) makes its number.
    return time.clock_gettime((~pid << 3) | 2)


@dataclass
class Cpu:
    """Seconds. A child counts from when its parent has waited for it, in whole ticks of 10 ms."""

    own: float = 0.0
    own_user: float = 0.0
    own_system: float = 0.0
    children_user: float = 0.0
    children_system: float = 0.0

    @classmethod
    def of(cls, pid):
        own = own_cpu_seconds(pid)
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # The name may hold blanks and brackets; fields are counted from its end.
            fields = file.read().rpartition(")")[2].split()
        user, system, children_user, children_system = (int(field) / TICKS for field in fields[11:15])
        return cls(own, user, system, children_user, children_system)

    def __sub__(self, other):
        return Cpu(*(getattr(self, name) - getattr(other, name) for name in Cpu.__dataclass_fields__))


def running_programs(pid):
    """The name and the CPU seconds of each program that the process runs now, whose time Cpu does not count yet."""
    found = []
    for one in list(_programs(pid))[1:]:
        try:
            with open(f"/proc/{one}/comm", encoding="utf-8", errors="replace") as file:
                found.append((file.read().strip(), own_cpu_seconds(one)))
        except OSError:
            continue  # ended meanwhile
    return found


def memory(pid):
    """MiB of the process alone; PSS: shared pages by share, private: not shared, anonymous: not of a file."""
    status = _kibibytes(f"/proc/{pid}/status")
    rollup = _kibibytes(f"/proc/{pid}/smaps_rollup")
    return {
        "resident": status["VmRSS"] / MIB,
        "peak": status["VmHWM"] / MIB,
        "pss": rollup["Pss"] / MIB,
        "private": (rollup["Private_Clean"] + rollup["Private_Dirty"]) / MIB,
        "anonymous": rollup["Anonymous"] / MIB,
    }


def _kibibytes(path):
    with open(path, encoding="ascii", errors="replace") as file:
        lines = (line.partition(":") for line in file)
        return {name: int(value.split()[0]) for name, _, value in lines if value.rstrip().endswith("kB")}


def wait_without_children(pid, patience):
    """Returns once the process has run no program for a while, or after a timeout."""
    end = time.monotonic() + stretched(patience)
    quiet_since = time.monotonic()
    while (now := time.monotonic()) < min(end, quiet_since + QUIET_SECONDS):
        if sum(1 for _ in tree(pid)) > 1:
            quiet_since = now
        time.sleep(SAMPLE_SECONDS / 5)  # poll interval


class PeakWithChildren:
    """Samples the memory of a process and its children, and keeps the highest sums in MiB."""

    def __init__(self, pid):
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.resident = 0.0
        self.pss = 0.0
        self._thread.start()

    def end(self):
        self._stop.set()
        self._thread.join()
        return self

    def _sample(self):
        while True:
            found = [both for both in map(_resident_and_pss, _programs(self._pid)) if both]
            self.resident = max(self.resident, sum(resident for resident, _ in found))
            self.pss = max(self.pss, sum(pss for _, pss in found))
            if self._stop.wait(SAMPLE_SECONDS):
                return


def tree(pid):
    yield pid
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    yield from tree(int(child))
    except OSError:
        return  # ended meanwhile


def _programs(pid):
    """The process and its children, without those that are still a copy of it: they share its memory."""
    itself = _executable(pid)
    return [one for one in tree(pid) if one == pid or _executable(one) != itself]


def _executable(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def _resident_and_pss(pid):
    try:
        rollup = _kibibytes(f"/proc/{pid}/smaps_rollup")
        return rollup["Rss"] / MIB, rollup["Pss"] / MIB
    except (OSError, KeyError):
        return None  # ended meanwhile, or is a zombie
