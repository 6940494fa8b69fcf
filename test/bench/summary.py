# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of single measurements for a row."""

import statistics

PHASES_OF_CPU = ("own", "children_user", "children_system")


def percentile(values, percent):
    """The nearest rank: always an observed value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def milliseconds(prefix, seconds):
    """All times, the median and the 99th percentile."""
    times = [one * 1000 for one in seconds]
    return {f"{prefix}_ms_each": times, f"{prefix}_ms_p50": statistics.median(times),
            f"{prefix}_ms_p99": percentile(times, 99)}


def cpu(prefix, used, factor, unit):
    """Own and children's CPU time, multiplied by `factor`."""
    return {f"{prefix}_{part}_{unit}": getattr(used, part) * factor for part in PHASES_OF_CPU}
