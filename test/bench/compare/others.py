# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The share of the machine's CPU that other programs used: all busy time, less that of the processes in this PID namespace.

A child that ended counts with the process that waited for it, and orphans belong to process 1, which is this program; so
nothing of its own is lost. Kernel threads and time that the host of a virtual machine took count as others.
"""

import os
import time

import paths  # noqa: F401  # pylint: disable=unused-import
from process import TICKS


def _busy():
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def _own():
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                total += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue  # ended meanwhile
    return total / TICKS


class Others:
    """From its creation on."""

    def __init__(self):
        self._begin = self._now()

    def percent(self):
        seconds, busy, own = (now - then for now, then in zip(self._now(), self._begin))
        # Ticks of 10 ms make a short time inexact.
        return min(100.0, max(0.0, busy - own) * 100 / max(0.001, seconds * (os.cpu_count() or 1)))

    @staticmethod
    def _now():
        return time.monotonic(), _busy(), _own()
