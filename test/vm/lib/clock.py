# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The frequency of this machine's counter of cycles (TSC), which an emulated processor has, too.

The guest's kernel measures it at boot, and on a busy host it was seen to be wrong by a factor of two. Here each value of the counter
is read between two readings of the clock, and the closest of several pairs counts.
"""

import ctypes
import mmap
import platform
import time

_READ = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"  # rdtsc; shl $32,%rdx; or %rdx,%rax; ret
_SECONDS = 0.1
_ATTEMPTS = 20


def frequency_khz():
    """None if this machine is none with such a counter, or its kernel does not use it as its clock."""
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="ascii") as file:
        if platform.machine() != "x86_64" or file.read().strip() not in ("tsc", "kvm-clock"):
            return None
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(_READ)
        place = ctypes.c_char.from_buffer(page)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))
        begun, cycles_then = _sample(read)
        time.sleep(_SECONDS)  # fixed time: the measurement
        ended, cycles_now = _sample(read)
        del read, place  # the page can be unmapped
    return round((cycles_now - cycles_then) * 1e6 / (ended - begun))


def _sample(read):
    """(nanoseconds, cycles) of one instant."""
    found = []
    for _ in range(_ATTEMPTS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        cycles = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        found.append((after - before, (before + after) / 2, cycles))
    return min(found)[1:]
