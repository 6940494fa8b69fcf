# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of `scale.py`: measurements, targets, and a comparison with kube-proxy."""

import math

from churn import UPDATES_PER_SECOND
from scale_measurement import BASELINE_RATE

TABLES = [
    ("First sync (seconds)", [
        ("replay_known_seconds", "from a recording: first object known to in the kernel"), ("replay_apply_seconds", "apply"),
        ("replay_own_cpu_seconds", "own CPU"), ("first_known_seconds", "from the API server: first object known to in the kernel"),
        ("first_apply_seconds", "apply"), ("first_seconds", "since exec"), ("first_own_cpu_seconds", "own CPU"),
        ("first_apiserver_cpu_seconds", "API server's CPU"), ("first_kernel_writes", "kernel writes"),
        ("floor_first_kernel_seconds", "floor: in the kernel"), ("first_late_services", "late Services")]),
    ("Nothing has changed (seconds)", [
        ("resync_apply_seconds", "resync: apply"), ("resync_own_cpu_seconds", "own CPU"), ("resync_kernel_writes", "kernel writes"),
        ("restart_seconds", "restart: since exec"), ("restart_apply_seconds", "apply"), ("restart_own_cpu_seconds", "own CPU"),
        ("restart_kernel_writes", "kernel writes"), ("restart_missed_seconds", "restart that missed a change: until a packet shows it")]),
    ("One change (µs; until a packet shows it: ms)", [
        (f"{name}_{key}", f"{title}: {heading}" if key == "apply_us_p50" else heading)
        for name, title in (("replaced", "endpoint replaced"), ("added", "endpoint added"), ("service", "Service added"))
        for key, heading in (("apply_us_p50", "apply p50"), ("apply_us_p99", "p99"), ("ms_p50", "shown p50"), ("ms_p99", "p99"),
                             ("own_cpu_us_p50", "own CPU p50"), ("kernel_writes", "writes"))] + [
        ("floor_change_us_p50", "floor: endpoint replaced p50"), ("floor_change_us_p99", "p99")]),
    ("100 changes a second", [
        ("churn_updates_per_second", "changes/s"), ("churn_own_cpu_percent", "own CPU %"), ("churn_own_cpu_us_per_update", "own CPU µs each"),
        ("churn_applies", "deltas"), ("churn_full_syncs", "full"), ("churn_no_op_events", "that changed nothing"), ("churn_baseline_updates_per_second", "half as many: changes/s"),
        ("churn_baseline_own_cpu_percent", "own CPU %")]),
    ("Memory (MiB)", [
        ("memory_resident_mib", "resident after the first sync"), ("memory_peak_mib", "peak until then"),
        ("replay_peak_mib", "peak, from a recording"), ("churn_resident_mib", "after churn"), ("churn_peak_mib", "peak until then"),
        ("resync_resident_mib", "restarted, after resyncs"), ("resync_peak_mib", "peak until then"),
        ("memory_kernel_mib", "kernel"), ("floor_kernel_mib", "floor: kernel")]),
    ("A first connection (µs)", [
        (f"connect_{name}_us_p{rank}", f"{title} p{rank}" if rank == 50 else "p99")
        for name, title in (("direct", "to an endpoint itself"), ("first", "first Service"), ("last", "last Service"))
        for rank in (50, 99)]),
]
ZERO = ("first_late_services", "resync_kernel_writes", "restart_kernel_writes", "churn_full_syncs", "churn_no_op_events")
MAY_BE_ANYTHING = ("memory_kernel_mib", "floor_kernel_mib")  # the whole machine's
# Size, metric, upper limit.
TARGETS = [
    ((10_000, 2), "first_known_seconds", 1.0), ((10_000, 2), "replay_known_seconds", 1.0),
    ((44_125, 1), "resync_apply_seconds", 2.0), ((44_125, 1), "resync_kernel_writes", 0),
    ((44_125, 1), "restart_kernel_writes", 0),
    *(((44_125, 1), f"{name}_apply_us_p99", 5000) for name in ("replaced", "added", "service")),
    ((5_000, 50), "first_known_seconds", 5.0),
    ((10_000, 10), "memory_resident_mib", 64), ((10_000, 10), "churn_resident_mib", 64),
]
# Fewer changes than intended cost less: the results of such a churn would be too good.
CHURN_AT_LEAST = 0.95
CHURNS = (("churn_updates_per_second", UPDATES_PER_SECOND), ("churn_baseline_updates_per_second", BASELINE_RATE))
# Limit of a change at the largest size over that at the smallest.
FLAT_WITHIN = 1.5
FLAT = ("replaced_apply_us_p50", "replaced_own_cpu_us_p50", "added_own_cpu_us_p50", "service_own_cpu_us_p50")
# kube-proxy 1.36.2 at 5,000 × 10 in nftables mode, measured on such a machine in other runs, dual-stack off; its value,
# ours in the same unit, and the target ratio.
KUBE_PROXY_AT = (5_000, 10)
KUBE_PROXY = [
    ("first sync: exec to the last Service, s", 4.1, "first_seconds", 1.0, 5),
    ("restart that missed a change, s", 9.3, "restart_missed_seconds", 1.0, 20),
    ("CPU of one change, ms", 1205, "replaced_own_cpu_us", 0.001, 200),
    ("CPU under a churn of 50 changes/s, %", 60, "churn_baseline_own_cpu_percent", 1.0, 30),
    ("resident after the first sync, MB", 155, "memory_resident_mib", 1.048576, 5),
    ("resident after churn, MB", 287, "churn_resident_mib", 1.048576, 5),
]


def size(row):
    return f"{row['services']:,} × {row['endpoints']}"


def cell(value):
    if value is None:
        return "–"
    if isinstance(value, int) or value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def targets(rows):
    """Metric, size, measured, target, whether it is met."""
    found = {(row["services"], row["endpoints"]): row for row in rows}
    for where, metric, most in TARGETS:
        value = found.get(where, {}).get(metric)
        if where in found:
            yield metric, where, value, most, value is not None and value <= most


def flatness(rows):
    """Metric, least and most services among sizes of the same number of endpoints, ratio of the two."""
    for endpoints in sorted({row["endpoints"] for row in rows}):
        for metric in FLAT:
            known = sorted((row["services"], row[metric]) for row in rows if row["endpoints"] == endpoints and row.get(metric))
            if len(known) > 1:
                yield metric, endpoints, known[0], known[-1], known[-1][1] / known[0][1]


def beside_kube_proxy(rows):
    for row in rows:
        if (row["services"], row["endpoints"]) != KUBE_PROXY_AT:
            continue
        for title, theirs, metric, factor, wanted in KUBE_PROXY:
            ours = row.get(metric)
            ratio = theirs / (ours * factor) if ours else None
            yield title, theirs, None if ours is None else ours * factor, ratio, wanted


def shortcomings(rows):
    """Sentences about missing measurements, and about metrics out of bounds."""
    for row in rows:
        if row.get("gave_up"):
            yield f"{size(row)}: " + row["gave_up"].replace("\n", "\n      ")
        for metric in ZERO:
            if row.get(metric):
                yield f"{size(row)}: {metric} is {row[metric]}, and has to be 0"
        for metric, meant in CHURNS:
            rate = row.get(metric)
            if rate is not None and not rate >= CHURN_AT_LEAST * meant:
                yield (f"{size(row)}: the churn had {rate:.4g} changes a second, fewer than {CHURN_AT_LEAST * meant:g}: "
                       f"its results are not those of {meant}")
    for metric, where, value, most, met in targets(rows):
        if not met and metric not in ZERO:
            yield f"{where[0]:,} × {where[1]}: {metric} is {cell(value)}, the target is at most {cell(most)}"
    for metric, endpoints, least, largest, ratio in flatness(rows):
        if ratio > FLAT_WITHIN:
            yield (f"{metric} at {largest[0]:,} × {endpoints} is {ratio:.2f} times that at {least[0]:,} × {endpoints}, "
                   f"more than {FLAT_WITHIN}")
    for title, _, _, ratio, wanted in beside_kube_proxy(rows):
        if ratio is None or ratio < wanted:
            yield f"beside kube-proxy, {title}: {cell(ratio)} times less, the target is {wanted}"


def whole(rows, grid):
    parts = []
    for title, columns in TABLES:
        parts.append(f"### {title}\n\n" + grid(["N × M", *(heading for _, heading in columns)],
                                               [[size(row), *(cell(row.get(key)) for key, _ in columns)] for row in rows]))
    lines = [[metric, f"{where[0]:,} × {where[1]}", cell(value), cell(most), "yes" if met else "**no**"]
             for metric, where, value, most, met in targets(rows)]
    if lines:
        parts.append("### Targets\n\n" + grid(["metric", "N × M", "measured", "at most", "met"], lines))
    lines = [[metric, f"{least[0]:,} and {largest[0]:,} × {endpoints}", f"{ratio:.2f}", "yes" if ratio <= FLAT_WITHIN else "**no**"]
             for metric, endpoints, least, largest, ratio in flatness(rows)]
    if lines:
        parts.append("### Flat\n\n" + grid(["metric", "between N", "largest / smallest", "flat"], lines))
    lines = [[title, cell(theirs), cell(ours), cell(ratio), str(wanted), "yes" if ratio and ratio >= wanted else "**no**"]
             for title, theirs, ours, ratio, wanted in beside_kube_proxy(rows)]
    if lines:
        parts.append("### Beside kube-proxy 1.36.2, which was measured in other runs\n\n" +
                     grid(["5,000 × 10", "kube-proxy", "sluiced", "times less", "target", "met"], lines))
    missing = list(shortcomings(rows))
    if missing:
        parts.append("### Not as it should be, or not measured\n\n" + "\n".join(f"- {one}" for one in missing))
    return "\n\n".join(parts)


def problem(row, metric):
    """Why a metric is implausible, or None; whether it is good is not judged."""
    value = row.get(metric)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"is {value!r}, not a number"
    if metric in MAY_BE_ANYTHING:
        return None
    if metric in ZERO:
        return f"is {value}, and has to be 0" if value else None
    if value <= 0:
        return f"is {value}, which cannot be"
    if "_p50" in metric and row.get(metric.replace("_p50", "_p99"), value) < value:
        return f"is {value}, more than {row[metric.replace('_p50', '_p99')]}, the 99th of a hundred"
    return None


def made_up(services=100, endpoints=1, **changes):
    row = {"program": "sluiced", "mode": "nftables", "services": services, "endpoints": endpoints}
    row.update({metric: 0 if metric in ZERO else 1.0 for _, columns in TABLES for metric, _ in columns})
    return {**row, "replaced_own_cpu_us": 1.0, "first_seconds": 0.5, "restart_missed_seconds": 0.4,
            **{metric: float(meant) for metric, meant in CHURNS}, **changes}


def selftest():
    """Title and error, or None: whether the report detects faults."""
    def check(title, passed):
        return f"the report itself: {title}", None if passed else "it does not"

    def said(*rows):
        return "\n".join(shortcomings(rows))

    yield check("plausible metrics pass", not any(problem(made_up(), metric) for _, columns in TABLES for metric, _ in columns))
    yield check("a missing metric is found", problem(made_up(first_seconds=None), "first_seconds") is not None)
    yield check("a time of nothing is found", problem(made_up(first_seconds=0.0), "first_seconds") is not None)
    yield check("a middle above the 99th is found", problem(made_up(replaced_apply_us_p50=2.0), "replaced_apply_us_p50") is not None)
    yield check("good results have no shortcomings", said(made_up(44_125), made_up(10_000, 2), made_up(5_000, 10)) == "")
    yield check("a resync that writes is reported", "resync_kernel_writes is 1, and has to be 0" in said(made_up(resync_kernel_writes=1)))
    yield check("a missed target is reported", "first_known_seconds is 1.1, the target is at most 1"
                in said(made_up(10_000, 2, first_known_seconds=1.1)))
    yield check("a cost that grows is reported", "replaced_apply_us_p50 at 44,125 × 1 is 1.60 times"
                in said(made_up(), made_up(44_125, replaced_apply_us_p50=1.6)))
    yield check("too little of an advantage is reported", "4.56 times less, the target is 5" in said(made_up(5_000, 10, first_seconds=0.9)))
    yield check("a churn of fewer changes than meant is reported", "100 × 1: the churn had 94.9 changes a second, fewer than 95"
                in said(made_up(churn_updates_per_second=94.9)))
    yield check("and of the baseline churn, too", "100 × 1: the churn had 47.4 changes a second, fewer than 47.5"
                in said(made_up(churn_baseline_updates_per_second=47.4)))
    yield check("a churn of nearly as many is accepted", said(made_up(churn_updates_per_second=95.0)) == "")
    yield check("an abandoned churn is reported once", said(made_up(churn_updates_per_second=None, gave_up="churn: late"))
                == "100 × 1: churn: late")
    yield check("an abandoned phase is reported", "30 × 1: churn: late" in said(made_up(30, gave_up="churn: late")))


def judge(rows):
    """TAP; the exit status."""
    lines = list(selftest())
    for row in rows:
        what = f"{row['program']} {row['mode']} {size(row)}"
        lines.append((f"{what}: the measurement runs to its end", row.get("gave_up")))
        lines += [(f"{what}: {metric} is {row.get(metric)}", problem(row, metric))
                  for _, columns in TABLES for metric, _ in columns]
    for number, (title, why) in enumerate(lines, 1):
        print(f"{'not ok' if why else 'ok'} {number} - {title}")
        if why:
            print("\n".join("#   " + line for line in why.splitlines()))
    print(f"1..{len(lines)}")
    return 1 if any(why for _, why in lines) else 0
