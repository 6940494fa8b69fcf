# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""From single times to the figures of a row."""

import statistics

PHASES_OF_CPU = ("own", "children_user", "children_system")


def percentile(values, percent):
    """The nearest rank: an observed value, never one in between."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def milliseconds(prefix, seconds):
    """Every single time, the middle one and the 99th of a hundred."""
    times = [one * 1000 for one in seconds]
    return {f"{prefix}_ms_each": times, f"{prefix}_ms_p50": statistics.median(times),
            f"{prefix}_ms_p99": percentile(times, 99)}


def cpu(prefix, used, factor, unit):
    """Own and children's CPU time, multiplied by `factor`."""
    return {f"{prefix}_{part}_{unit}": getattr(used, part) * factor for part in PHASES_OF_CPU}
