# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of ipvs mode, and whether a change costs the same at all sizes."""

TABLES = [
    ("Ipvs mode: first sync (CPU in seconds)", [
        ("start_seconds", "last Service s"), ("start_own_cpu_seconds", "own CPU"), ("start_own_user_cpu_seconds", "user"),
        ("start_own_system_cpu_seconds", "system"), ("start_children_cpu_seconds", "tools and kernel for them"),
        ("start_kernel_writes", "messages and rules"), ("bare_first_cpu_seconds", "bare messages: CPU"),
        ("bare_first_messages", "messages"), ("first_ratio", "own / bare")]),
    ("Ipvs mode: one endpoint of a Service changes (CPU in ms)", [
        ("one_endpoint_ms_p50", "ms p50"), ("one_endpoint_ms_p99", "p99"), ("one_endpoint_own_cpu_ms_p50", "own CPU p50"),
        ("one_endpoint_own_user_cpu_ms", "user"), ("one_endpoint_own_system_cpu_ms", "system"),
        ("one_endpoint_kernel_writes", "messages"), ("bare_change_cpu_ms_p50", "bare messages: CPU p50"),
        ("bare_change_messages", "messages"), ("change_ratio", "own / bare")]),
    ("Ipvs mode: a restart that missed nothing (CPU in seconds)", [
        ("restart_own_cpu_seconds", "own CPU"), ("restart_own_user_cpu_seconds", "user"),
        ("restart_own_system_cpu_seconds", "system"), ("restart_kernel_writes", "kernel writes")]),
]
# Limits of a change: its messages, and its cost at the largest size over that at the smallest.
MOST_WRITES = 8
FLAT_WITHIN = 1.5
FLAT = "one_endpoint_own_cpu_ms_p50"


def is_ipvs(row):
    return row.get("part") == "ipvs"


def shortcomings(rows):
    measured = [row for row in rows if is_ipvs(row) and row.get(FLAT)]
    for row in measured:
        if row.get("one_endpoint_kernel_writes", 0) > MOST_WRITES:
            yield (f"{row['services']:,} Services, ipvs mode: a change of one endpoint takes {row['one_endpoint_kernel_writes']:g} "
                   f"messages, more than {MOST_WRITES}")
    if len(measured) < 2:
        return
    small, large = (pick(measured, key=lambda row: row["services"]) for pick in (min, max))
    ratio = large[FLAT] / small[FLAT]
    if ratio > FLAT_WITHIN:
        yield (f"ipvs mode: a change costs {ratio:.2f} times as much CPU with {large['services']:,} Services as with "
               f"{small['services']:,}, more than {FLAT_WITHIN}")
