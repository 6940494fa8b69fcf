# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Timeouts that adapt to the speed and the load of this machine.

SLOWNESS (SLUICE_TEST_SLOWNESS, at least 1) is the factor by which this machine is slower than usual; the emulated machine
sets it. load() is the number of runnable processes per processor times processor_slowness(): it grows on a busy machine,
and on a virtual machine with a busy host.
- Timeouts and upper limits are multiplied by SLOWNESS and load(): long timeouts cost nothing while tests pass.
- Time that proves that nothing happens is not changed.
- Time that is part of the test (a rate, a pause, a drain) is constant during a run: it is multiplied by SLOWNESS at most. The
  drain of swaps under traffic is an exception, see swapping.drain().
"""

import os
import threading
import time

SLOWNESS = max(1.0, float(os.environ.get("SLUICE_TEST_SLOWNESS") or 1))
POLL_SECONDS = 0.05
HIGHEST_LOAD = 16  # a limit, so that a failing test does not wait for hours
REFERENCE_SECONDS = 0.0017  # CPU time of _work() on the machine for which CPU time limits were chosen
MEASURED_FOR = 10  # seconds for which a measurement of the processor is valid
READ_FOR = 0.1  # seconds for which a load that was read is valid; polls ask more often
PROCESSORS = os.cpu_count() or 1

_measured = (float("-inf"), 1.0)  # time and result
_measuring = threading.Lock()  # a thread measures, and others wait for its result
_read = (float("-inf"), 1.0)


def _work():
    """CPU seconds for a fixed piece of work: computation and system calls."""
    begun = time.thread_time()
    total = 0
    for number in range(20_000):
        total += number * number
    for _ in range(500):
        os.stat("/proc/self")
    return time.thread_time() - begun


def processor_slowness():
    """The factor by which the same work takes more CPU time than usual, from 1 to HIGHEST_LOAD.

    Other processes do not change it; other virtual machines on the same host do. For an emulated machine SLOWNESS has
    this factor.
    """
    global _measured
    if SLOWNESS > 1:
        return 1.0
    with _measuring:
        when, result = _measured
        if time.monotonic() - when > MEASURED_FOR:
            taken = sorted(_work() for _ in range(3))[1]
            result = min(max(1.0, taken / REFERENCE_SECONDS), HIGHEST_LOAD)
            _measured = (time.monotonic(), result)
        return result


def load():
    """The factor by which operations may take longer than usual, from 1 to HIGHEST_LOAD: runnable processes per processor (the
    maximum of the last minute and this instant), times processor_slowness()."""
    global _read
    when, result = _read
    if time.monotonic() - when > READ_FOR:
        with open("/proc/loadavg", encoding="ascii") as file:
            last_minute, _, _, entities = file.read().split()[:4]
        highest = max(float(last_minute), int(entities.split("/")[0])) / PROCESSORS
        result = min(max(1.0, highest) * processor_slowness(), HIGHEST_LOAD)
        _read = (time.monotonic(), result)
    return result


def stretched(limit):
    """Adapts a timeout or an upper limit to the current load, in the same unit. Call it when the wait begins."""
    return limit * SLOWNESS * load()


def wait_until(condition, seconds, every=POLL_SECONDS):
    """Polls until `condition()` is true and returns its result; the result is falsy if `seconds`, stretched, have passed.

    The deadline moves if the machine gets busier, and the condition is checked a last time after it. Checks take at most a
    third of the time, because a slow check takes CPU time from the awaited operation.
    """
    begun = time.monotonic()
    while True:
        checked = time.monotonic()
        late = checked - begun > stretched(seconds)
        found = condition()
        if found or late:
            return found
        time.sleep(max(every * SLOWNESS, 2 * (time.monotonic() - checked)))  # poll interval


def wait_unchanged(read, quiet, seconds, every=POLL_SECONDS):
    """Polls until `read()` returns the same value for `quiet` seconds; returns that value, or None if it changes for `seconds`.

    Both times are stretched.
    """
    value, since = read(), time.monotonic()

    def unchanged():
        nonlocal value, since
        now = read()
        if now != value:
            value, since = now, time.monotonic()
        return time.monotonic() - since >= stretched(quiet)

    return value if wait_until(unchanged, seconds, every) else None


class Busiest:
    """Samples load() while it is open; its maximum stretches limits that are asserted then or later.

    Samples are averaged over one second, because the number of runnable processes has short peaks.
    """

    _lock = threading.Lock()
    _open = []  # all of this process: one thread samples for them
    _sampling = False

    def __init__(self):
        self.load = 1.0

    def __enter__(self):
        with self._lock:
            self._open.append(self)
            if not Busiest._sampling:
                Busiest._sampling = True
                threading.Thread(target=self._sample, daemon=True).start()
        return self

    def __exit__(self, *_):
        with self._lock:
            self._open.remove(self)

    @classmethod
    def _sample(cls):
        average = load()
        while True:
            time.sleep(0.1)  # fixed time: the interval of samples
            average += (load() - average) / 10
            with cls._lock:
                for one in cls._open:
                    one.load = max(one.load, average)
                if not cls._open:
                    cls._sampling = False
                    return

    def stretched(self, limit):
        return limit * SLOWNESS * self.load
