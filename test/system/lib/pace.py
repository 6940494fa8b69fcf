# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How long tests wait on this machine.

SLOWNESS (SLUICE_TEST_SLOWNESS, at least 1) is how many times slower than usual this machine does anything; the emulated
machine sets it. load() is how many times more work than processors there is at this instant, so that a busy machine
gets more time than an idle one. Timeouts and upper limits are stretched by both: patience costs nothing while
tests pass. Time that proves that nothing happens, and time that is part of what is tested, is stretched by neither.
"""

import os
import time

SLOWNESS = max(1.0, float(os.environ.get("SLUICE_TEST_SLOWNESS") or 1))
POLL_SECONDS = 0.05
HIGHEST_LOAD = 16  # more than that is an accident, and would make a failing test wait for hours


def load():
    """Runnable processes per processor, from 1 to HIGHEST_LOAD: the higher of the last minute and this instant."""
    processors = os.cpu_count() or 1
    with open("/proc/loadavg", encoding="ascii") as file:
        last_minute, _, _, entities = file.read().split()[:4]
    highest = max(float(last_minute), int(entities.split("/")[0])) / processors
    return min(max(1.0, highest), HIGHEST_LOAD)


def stretched(limit):
    """A timeout or an upper limit as it is on this machine now, in the same unit. Call it when the wait begins."""
    return limit * SLOWNESS * load()


def wait_until(condition, seconds, every=POLL_SECONDS):
    """Polls until `condition()` is true and returns what it returned; falsy when `seconds`, stretched, have passed.

    The deadline moves while the machine gets busier, and the condition is checked once more after it.
    """
    begun = time.monotonic()
    while True:
        late = time.monotonic() - begun > stretched(seconds)
        found = condition()
        if found or late:
            return found
        time.sleep(every * SLOWNESS)  # poll interval
