# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How long tests wait on this machine.

SLOWNESS (SLUICE_TEST_SLOWNESS, at least 1) is how many times slower than usual this machine does anything; the emulated
machine sets it. load() is how many times more work than processors there is at this instant, times
processor_slowness(), so that a busy machine gets more time than an idle one, and so does one whose host is busy.
Timeouts and upper limits are stretched by SLOWNESS and load(): patience costs nothing while tests pass. Time that proves that nothing happens is stretched by neither. Time that is part of what is tested (a rate, a
pause, a drain) is the same throughout a run: it is multiplied by SLOWNESS at most. The drain of swaps under traffic is an exception,
see swapping.drain().
"""

import os
import threading
import time

SLOWNESS = max(1.0, float(os.environ.get("SLUICE_TEST_SLOWNESS") or 1))
POLL_SECONDS = 0.05
HIGHEST_LOAD = 16  # more than that is an accident, and would make a failing test wait for hours
REFERENCE_SECONDS = 0.0017  # of processor time: what _work() takes where limits of processor time were chosen
MEASURED_FOR = 5  # seconds for which a measurement of the processor holds

_measured = (float("-inf"), 1.0)  # when, and the result


def _work():
    """Processor seconds that a fixed piece of work takes: computation, and calls of the kernel."""
    begun = time.thread_time()
    total = 0
    for number in range(20_000):
        total += number * number
    for _ in range(500):
        os.stat("/proc/self")
    return time.thread_time() - begun


def processor_slowness():
    """How many times more processor time the same work takes than usual, from 1 to HIGHEST_LOAD.

    Processes beside this one do not add to it; other machines on the same host do. An emulated machine says with SLOWNESS
    how slow it is.
    """
    global _measured
    if SLOWNESS > 1:
        return 1.0
    when, result = _measured
    if time.monotonic() - when > MEASURED_FOR:
        taken = sorted(_work() for _ in range(3))[1]
        result = min(max(1.0, taken / REFERENCE_SECONDS), HIGHEST_LOAD)
        _measured = (time.monotonic(), result)
    return result


def load():
    """How many times longer than usual something may take, from 1 to HIGHEST_LOAD: runnable processes per processor, the
    higher of the last minute and this instant, times processor_slowness()."""
    processors = os.cpu_count() or 1
    with open("/proc/loadavg", encoding="ascii") as file:
        last_minute, _, _, entities = file.read().split()[:4]
    highest = max(float(last_minute), int(entities.split("/")[0])) / processors
    return min(max(1.0, highest) * processor_slowness(), HIGHEST_LOAD)


def stretched(limit):
    """A timeout or an upper limit as it is on this machine now, in the same unit. Call it when the wait begins."""
    return limit * SLOWNESS * load()


def wait_until(condition, seconds, every=POLL_SECONDS):
    """Polls until `condition()` is true and returns what it returned; falsy when `seconds`, stretched, have passed.

    The deadline moves while the machine gets busier, and the condition is checked once more after it. A condition that takes
    long to check is checked a third of the time at most, as it keeps a processor from what is waited for.
    """
    begun = time.monotonic()
    while True:
        asked = time.monotonic()
        late = asked - begun > stretched(seconds)
        found = condition()
        if found or late:
            return found
        time.sleep(max(every * SLOWNESS, 2 * (time.monotonic() - asked)))  # poll interval


def wait_unchanged(read, quiet, seconds, every=POLL_SECONDS):
    """Polls until `read()` has returned the same for `quiet` seconds and returns that; None when it still changes after `seconds`.

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
    """Samples load() while it is open, for limits that are asserted then or later: the highest load there was stretches them.

    Samples are averaged over a second, as more processes than usual are runnable in many a single instant.
    """

    def __init__(self):
        self.load = 1.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closed.set()
        self._thread.join()

    def _sample(self):
        average = load()
        while not self._closed.wait(0.1):
            average += (load() - average) / 10
            self.load = max(self.load, average)

    def stretched(self, limit):
        return limit * SLOWNESS * self.load
