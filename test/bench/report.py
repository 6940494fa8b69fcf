# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown: of one run, and of two runs side by side."""

import environment
import ipvs_report
import relay_report

SIDES = (("own", "own"), ("children_user", "tools"), ("children_system", "kernel"))


def _cpu(prefix, unit):
    return [(f"{prefix}_{key}_{unit}", f"{title} CPU") for key, title in SIDES]


def _changes(prefix):
    return [(f"{prefix}_ms_p50", "ms p50"), (f"{prefix}_ms_p99", "p99"), (f"{prefix}_own_cpu_ms_p50", "own CPU p50"),
            *_cpu(prefix, "cpu_ms")]


# Title, columns as (metric, heading).
WITH_PACKETS = [
    ("First load (CPU in seconds)", [
        ("start_seconds", "last Service s"), ("start_first_answer_seconds", "first answer s"),
        *_cpu("start", "cpu_seconds"), ("start_apiserver_cpu_seconds", "API server CPU"),
        ("start_late_services", "late Services"), ("load_connects", "connects"), ("load_failed_connects", "failed")]),
    ("Memory, MiB", [
        ("memory_resident_mib", "resident"), ("memory_pss_mib", "PSS"), ("memory_private_mib", "private"),
        ("memory_anonymous_mib", "anonymous"), ("memory_peak_mib", "peak"),
        ("memory_peak_with_children_mib", "peak with children"),
        ("memory_peak_pss_with_children_mib", "the same, PSS")]),
    ("One endpoint of a Service changes (CPU in ms)", _changes("one_endpoint")),
    ("All endpoints of a Service change (CPU in ms)", _changes("all_endpoints")),
    ("A Service is added (CPU in ms)", _changes("service_added")),
    ("Churn, 100 updates a second (CPU in percent of one processor)", [
        ("churn_updates_per_second", "updates/s"), *_cpu("churn", "cpu_percent"),
        ("churn_apiserver_cpu_percent", "API server CPU"), ("churn_own_cpu_ms_per_update", "own CPU ms an update"),
        ("churn_resident_mib", "resident MiB"), ("churn_lag_ms_p50", "lag ms p50"), ("churn_lag_ms_p99", "p99"),
        ("churn_connects", "connects"), ("churn_failed_connects", "failed")]),
    ("Connect times", [
        ("connect_first_us_p50", "first rule µs p50"), ("connect_first_us_p99", "p99"),
        ("connect_last_us_p50", "last rule µs p50"), ("connect_last_us_p99", "p99")]),
    ("Restart (CPU in seconds)", [
        ("restart_seconds", "first change s"), *_cpu("restart", "cpu_seconds"),
        ("restart_kernel_writes", "kernel writes"), ("restart_connects", "connects"),
        ("restart_failed_connects", "failed")]),
]
SUMMARY = [
    ("Summary (changes: one endpoint of a Service, CPU in ms; other CPU in seconds; memory in MiB)", [
        ("start_seconds", "first load s"), *_cpu("start", "cpu_seconds"), ("memory_resident_mib", "resident"),
        ("memory_peak_with_children_mib", "peak with children"), ("one_endpoint_ms_p50", "change ms p50"),
        ("one_endpoint_ms_p99", "p99"), ("one_endpoint_own_cpu_ms_p50", "own CPU p50"),
        *_cpu("one_endpoint", "cpu_ms")[1:], ("restart_seconds", "restart s"),
        ("restart_kernel_writes", "restart writes"), ("load_failed_connects", "failed: load"),
        ("churn_failed_connects", "churn"), ("restart_failed_connects", "restart")]),
]
CORE = [
    ("The core alone: first apply (CPU in seconds, memory in MiB)", [
        ("start_seconds", "first apply s"), ("start_own_cpu_seconds", "own CPU"),
        ("start_apiserver_cpu_seconds", "API server CPU"), ("memory_resident_mib", "resident"),
        ("memory_pss_mib", "PSS"), ("memory_private_mib", "private"), ("memory_anonymous_mib", "anonymous"),
        ("memory_peak_mib", "peak")]),
    ("The core alone: changes (CPU in ms)", [
        (f"{prefix}_{key}", f"{title}: {heading}")
        for prefix, title in (("one_endpoint", "one endpoint"), ("all_endpoints", "all"),
                              ("service_added", "Service added"))
        for key, heading in (("ms_p50", "ms p50"), ("ms_p99", "p99"), ("own_cpu_ms_p50", "own CPU p50"))]),
]
# Changes of a TCP Service, with the table of tracked flows …
CONNTRACK_TIMES = [("empty", "empty"), ("full", "full"), ("churn_empty", "empty, UDP churn"),
                   ("churn_full", "full, UDP churn"), ("scanning", "full, during scans"),
                   ("removing", "during a removal")]
CONNTRACK = [
    ("Tracked UDP flows: scans, and anonymous memory in MiB", [
        ("memory_empty_mib", "peak, table empty"), ("memory_full_mib", "peak, full"), ("memory_growth_mib", "growth"),
        ("scan_endpoint_seconds", "scan for one endpoint s"), ("scan_everything_seconds", "full scan s"),
        ("empty_scan_everything_seconds", "the same, table empty"), ("removal_seconds", "all removed s"),
        ("removed_entries", "removed"), ("left_entries", "left")]),
    ("Tracked UDP flows: one change of a TCP Service (ms)", [
        (f"{one}_ms_{rank}", f"{title} {rank}" if rank == "p50" else rank)
        for one, title in CONNTRACK_TIMES for rank in ("p50", "p99")]),
    ("Tracked UDP flows: scans meanwhile", [
        ("churn_empty_scans", "UDP churn, table empty: scans"), ("churn_full_scans", "full: scans"),
        ("churn_full_scanning_percent", "% of the time"), ("scanning_changes", "changes during scans"),
        ("removing_changes", "during a removal")]),
]

# Metrics of sluiced that must be 0, and those with a limit.
ZERO = ("load_failed_connects", "churn_failed_connects", "restart_failed_connects", "start_late_services",
        "restart_kernel_writes", "left_entries", "connections_failed", "latency_failed")
MOST = {"memory_growth_mib": 16}
FLAT_WITHIN = 1.5
FLAT = ("one_endpoint_own_cpu_ms_p50", "all_endpoints_own_cpu_ms_p50", "service_added_own_cpu_ms_p50")


def is_core(row):
    return row["mode"] == "print"


def is_conntrack(row):
    return "entries" in row


def tables_of(row):
    if relay_report.is_relay(row):
        return relay_report.tables_of(row)
    if ipvs_report.is_ipvs(row):
        return ipvs_report.TABLES
    return CONNTRACK if is_conntrack(row) else CORE if is_core(row) else WITH_PACKETS


def what(row):
    if relay_report.is_relay(row):
        return f"{row['program']} relay"
    if is_conntrack(row):
        return f"{row['program']} conntrack"
    if ipvs_report.is_ipvs(row):
        return f"{row['program']} ipvs in Linux {row['kernel']}" if row.get("kernel") else f"{row['program']} ipvs"
    variant = f"-{row['iptables']}" if row["iptables"] else ""
    return f"{row['program']} {row['mode']}{variant}"


def size(row):
    if relay_report.is_relay(row):
        return relay_report.size(row)
    if is_conntrack(row):
        return f"{row['entries']:,} flows"
    return f"{row['services']:,} × {row['endpoints']}"


def cell(value):
    if value is None:
        return "–"
    if isinstance(value, int) or value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def grid(headings, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, ["---"] * len(headings), *lines])


def tables(rows):
    others = [row for row in rows if not relay_report.is_relay(row)]
    for kind in (CORE, WITH_PACKETS, CONNTRACK, ipvs_report.TABLES):
        chosen = [row for row in others if tables_of(row) is kind]
        for title, columns in (SUMMARY if kind is WITH_PACKETS else []) + kind if chosen else []:
            yield f"### {title}\n\n" + grid(["N × M", "program", *(heading for _, heading in columns)], [
                [size(row), what(row), *(cell(row.get(key)) for key, _ in columns)] for row in chosen])
    yield from relay_report.tables([row for row in rows if relay_report.is_relay(row)], grid, cell)


def flatness(rows):
    """The largest own CPU time of a change over the smallest, over all sizes of one program."""
    for program in dict.fromkeys(map(what, rows)):
        same = [row for row in rows if what(row) == program]
        for metric in FLAT:
            known = [(row[metric], row) for row in same if row.get(metric)]
            if len(known) > 1:
                least, most = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
                yield {"program": program, "metric": metric, "ratio": most[0] / least[0],
                       "least_at": least[1]["services"], "most_at": most[1]["services"]}


def flatness_text(found):
    return grid(["program", "metric", "largest / smallest", "between N", "flat"], [
        [one["program"], one["metric"], f"{one['ratio']:.2f}", f"{one['most_at']:,} and {one['least_at']:,}",
         "yes" if one["ratio"] <= FLAT_WITHIN else f"no, more than {FLAT_WITHIN}"] for one in found])


def shortcomings(rows):
    """Sentences about missing measurements, and about metrics that must be 0 and are not."""
    for row in rows:
        if row.get("missing"):
            yield f"{what(row)}: {row['missing']}"
        if row.get("gave_up"):
            yield f"{size(row)} {what(row)}: " + row["gave_up"].replace("\n", "\n      ")
        for metric in ZERO:
            if row["program"].startswith("sluiced") and row.get(metric):
                yield f"{size(row)} {what(row)}: {metric} is {row[metric]}, and has to be 0"
        for metric, most in MOST.items():
            if row["program"] == "sluiced" and (row.get(metric) or 0) > most:
                yield f"{size(row)} {what(row)}: {metric} is {row[metric]:.1f}, and has to be at most {most}"
    yield from ipvs_report.shortcomings(rows)


def whole(result):
    parts = [environment.sentence(result["environment"]), *tables(result["results"])]
    if result["flatness"]:
        parts.append("### Own CPU of a change, over all sizes\n\n" + flatness_text(result["flatness"]))
    missing = list(shortcomings(result["results"]))
    if missing:
        parts.append("### Not as it should be, or not measured\n\n" + "\n".join(f"- {one}" for one in missing))
    return "\n\n".join(parts)


def comparison(before, after):
    """Every metric of the rows both results have, with the ratio after / before."""
    earlier = {_key(row): row for row in before["results"]}
    parts = [f"before: {environment.sentence(before['environment'])}\n\n"
             f"after: {environment.sentence(after['environment'])}"]
    for row in after["results"]:
        old = earlier.pop(_key(row), None)
        parts.append(f"### {size(row)} {what(row)}\n\n" +
                     ("only in the later result" if old is None else _two_rows(old, row)))
    parts += [f"### {size(row)} {what(row)}\n\nonly in the earlier result" for row in earlier.values()]
    return "\n\n".join(parts)


def _key(row):
    return what(row), size(row)


def _two_rows(old, new):
    names = [(metric, f"{title.partition(' (')[0]}: {heading}")
             for title, columns in tables_of(new) for metric, heading in columns]
    return grid(["metric", "before", "after", "after / before"], [
        [name, cell(old.get(metric)), cell(new.get(metric)), _ratio(old.get(metric), new.get(metric))]
        for metric, name in names])


def _ratio(old, new):
    if old is None or new is None or old == new == 0:
        return "–"
    return f"{new / old:.2f}" if old else "from 0"
