# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a metric is plausible; whether it is good is not judged."""

import math

import report

# In a run this short a child may end between two ticks of the clock, and a scan of an empty table takes no time.
MAY_BE_ZERO = ("children_user", "children_system", "memory_growth", "empty_scan", "lost_percent", "idle_growth",
               "system_cpu_per_gb",
               "own_user", "own_system", "user_cpu", "system_cpu")
# The slab belongs to the whole machine, and a program of many processes ends them before they can be measured.
MAY_BE_ANYTHING = ("start_children_cpu_seconds", "idle_slab_mib", "udp_hundred_cpu_us", "tcp_waited_percent", "udp_waited_percent")
# The first is at most the second.
ORDERED = [
    ("start_first_answer_seconds", "start_seconds"),
    ("memory_anonymous_mib", "memory_private_mib"), ("memory_private_mib", "memory_pss_mib"),
    ("memory_pss_mib", "memory_resident_mib"), ("memory_resident_mib", "memory_peak_mib"),
    ("memory_peak_mib", "memory_peak_with_children_mib"), ("connect_first_us_p50", "connect_first_us_p99"),
    ("connect_last_us_p50", "connect_last_us_p99"), ("one_endpoint_ms_p50", "one_endpoint_ms_p99"),
    ("all_endpoints_ms_p50", "all_endpoints_ms_p99"), ("service_added_ms_p50", "service_added_ms_p99"),
    ("churn_lag_ms_p50", "churn_lag_ms_p99"),
    ("connect_ms_p50", "connect_ms_p99"), ("idle_pss_mib", "idle_resident_mib"),
    *((f"{one}_ms_p50", f"{one}_ms_p99") for one, _ in report.CONNTRACK_TIMES),
]


def problem(row, metric):
    """Why a metric is implausible, or None."""
    value = row.get(metric)
    if metric in MAY_BE_ANYTHING:
        return None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"is {value!r}, not a number"
    if metric in report.ZERO:
        return f"is {value}, and has to be 0" if value else None
    if value > report.MOST.get(metric, math.inf):
        return f"is {value}, and has to be at most {report.MOST[metric]}"
    if value < 0 or (value == 0 and not any(part in metric for part in MAY_BE_ZERO)):
        return f"is {value}, which cannot be"
    for low, high in ORDERED:
        if metric == low and row.get(high) is not None and value > row[high]:
            return f"is {value}, more than {high}, {row[high]}"
    return None
