# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The load of the machine. Tests use the same measure, see load() in test/system/lib/pace.py."""

import os

PROCESSORS = os.cpu_count() or 1
HIGHEST = 16  # as HIGHEST_LOAD there


def sample():
    """(Runnable processes per processor at this instant, how many times slower than an idle machine this one is)."""
    with open("/proc/loadavg", encoding="ascii") as file:
        last_minute, _, _, entities = file.read().split()[:4]
    runnable = (int(entities.split("/")[0]) - 1) / PROCESSORS  # less this process
    return runnable, min(max(1.0, float(last_minute) / PROCESSORS, runnable), HIGHEST)


class Clock:
    """The time of one step: real time for the report, and time that counts against its limit, which passes more slowly
    while the machine is overloaded."""

    def __init__(self, now):
        self.started = self._last = now
        self.counted = 0.0
        self._runnable = 0.0
        self._samples = 0

    def tick(self, now, runnable, slowness):
        self.counted += (now - self._last) / slowness
        self._last = now
        self._runnable += runnable
        self._samples += 1

    @property
    def load(self):
        """Mean number of runnable processes per processor."""
        return self._runnable / self._samples if self._samples else 0.0


class Idle:
    """Processors that were idle in the last seconds."""

    WINDOW = 10  # seconds

    def __init__(self):
        self._samples = []  # (when, busy, all), in ticks of all processors

    def sample(self, now):
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        self._samples.append((now, sum(ticks) - idle, sum(ticks)))
        while len(self._samples) > 2 and self._samples[1][0] <= now - self.WINDOW:
            del self._samples[0]

    def forget(self):
        """Discards the samples, which do not apply to later steps."""
        del self._samples[:]

    @property
    def processors(self):
        """0 until there is a whole window."""
        if not self._samples or self._samples[-1][0] - self._samples[0][0] < self.WINDOW:
            return 0.0
        (_, busy_before, all_before), (_, busy, total) = self._samples[0], self._samples[-1]
        return PROCESSORS * (1 - (busy - busy_before) / max(1, total - all_before))
