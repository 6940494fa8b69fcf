# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of relays, and a comparison of them."""

# What a row must have to be in the table; title; columns as (metric, heading). Those in RELAYING are of a process.
TABLES = [
    ("tcp", "Relays: TCP", [
        ("down1_gbit", "1 stream down Gbit/s"), ("up1_gbit", "1 stream up"), ("down100_gbit", "100 streams down"),
        ("connections_per_second", "connections/s"), ("connections_failed", "failed"),
        ("connect_ms_p50", "connect + echo ms p50"), ("connect_ms_p99", "p99"), ("latency_failed", "failed")]),
    ("tcp", "Relays: TCP, CPU seconds a GB, and for a connection", [
        ("down1_cpu_per_gb", "1 stream down: process"), ("down1_system_cpu_per_gb", "machine"),
        ("up1_cpu_per_gb", "1 stream up: process"), ("up1_system_cpu_per_gb", "machine"),
        ("down100_cpu_per_gb", "100 streams down: process"), ("down100_system_cpu_per_gb", "machine"),
        ("connections_cpu_us", "µs a connection"), ("tcp_waited_percent", "waited for a processor %")]),
    ("idle", "Relays: idle TCP connections, MiB", [
        ("idle_growth_mib", "resident, growth for 10,000"), ("idle_slab_mib", "slab of the machine, the same"),
        ("idle_connections", "open"), ("idle_resident_mib", "resident with these"), ("idle_pss_mib", "PSS"),
        ("idle_descriptors", "descriptors")]),
    ("udp", "Relays: UDP, 64 bytes, answers/s", [
        ("udp_one_per_second", "1 client"), ("udp_one_lost_percent", "lost %"),
        ("udp_flood_per_second", "1 client, unlimited"), ("udp_flood_lost_percent", "lost %"),
        ("udp_hundred_per_second", "100 clients"), ("udp_hundred_lost_percent", "lost %"),
        ("udp_hundred_cpu_us", "CPU µs an answer"), ("udp_asks_per_second", "32 ask and wait"),
        ("udp_asks_ms_p99", "ms p99"), ("udp_asks_lost_percent", "lost %"),
        ("udp_waited_percent", "waited for a processor %")]),
]
RELAYING = ("_cpu_per_gb", "_cpu_us", "_waited_percent")
# Ours over theirs; where less is better, theirs over ours: below 1 is worse everywhere.
MORE_IS_BETTER = ("_gbit", "_per_second")
LESS_IS_BETTER = ("_ms_p50", "_ms_p99", "_cpu_per_gb", "_cpu_us", "_growth_mib")
OURS = "sluiced userspace"
# Programs are compared that show the server the same address. The UDP relays beside ours show the address of the node.
BESIDE = {OURS: ("HAProxy transparent",), f"{OURS} masqueraded": ("HAProxy", "nginx stream", "socat")}
ENOUGH = 1.0


def is_relay(row):
    return row["mode"] == "relay"


def size(row):
    return {0: "–", 1: "1 thread"}.get(row["threads"], f"{row['threads']} threads")


def tables_of(row):
    """Those that concern this row, without columns that must stay empty."""
    measures = row["measures"] + (["idle"] if {"tcp", "relays"} <= set(row["measures"]) else [])
    relays = "relays" in row["measures"]
    return [(title, [column for column in columns if relays or not _of_process(column[0])])
            for kind, title, columns in TABLES if kind in measures]


def _of_process(metric):
    return metric.endswith(RELAYING) and "_system_" not in metric


def tables(rows, grid, cell):
    for kind, title, columns in TABLES:
        chosen = [row for row in rows if any(title == one for one, _ in tables_of(row))
                  and any(row.get(metric) is not None for metric, _ in columns)]
        if chosen:
            yield f"### {title}\n\n" + grid(["program", "threads", *(heading for _, heading in columns)], [
                [row["program"], str(row["threads"] or "–"), *(cell(row.get(metric)) for metric, _ in columns)]
                for row in chosen])
    lines = list(ratios(rows))
    if lines:
        yield ("### sluiced beside the other relays (more than 1: better)\n\n" +
               grid(["metric", "threads", "beside", "sluiced", "the other", "ratio", f"{ENOUGH} or more"], [
                   [heading, str(threads or "–"), other, cell(mine), cell(theirs),
                    f"{ratio:.2f}", "yes" if ratio >= ENOUGH else "**no**"]
                   for heading, threads, other, mine, theirs, ratio in lines]))


def ratios(rows):
    """Of all metrics that can be compared, for each number of threads."""
    for kind, title, columns in TABLES:
        for metric, heading in columns:
            if not metric.endswith(MORE_IS_BETTER + LESS_IS_BETTER) or "_system_" in metric:
                continue
            for mine in rows:
                for theirs in rows:
                    if theirs["program"] not in BESIDE.get(mine["program"], ()):
                        continue
                    if theirs["threads"] not in (0, mine["threads"]):
                        continue
                    ours, other = mine.get(metric), theirs.get(metric)
                    if not ours or not other:
                        continue
                    ratio = ours / other if metric.endswith(MORE_IS_BETTER) else other / ours
                    yield (_whole_heading(title, columns, metric, heading), mine["threads"], theirs["program"], ours,
                           other, ratio)


def _whole_heading(title, columns, metric, heading):
    """The heading outside its table."""
    if metric.endswith(LESS_IS_BETTER) and "CPU" in title:
        return "CPU s a GB, " + heading.partition(":")[0] if "_per_gb" in metric else "CPU " + heading
    if title.startswith("Relays: idle"):
        return "MiB, idle connections: " + heading
    # Later columns of the same phase omit the beginning.
    begin = next(other for name, other in columns if name.partition("_")[0] == metric.partition("_")[0])
    if title.startswith("Relays: UDP"):
        begin = next(other for name, other in columns if name.split("_")[:2] == metric.split("_")[:2])
        heading = "UDP answers/s, " + begin if heading == begin else f"UDP {begin}, {heading}"
        return heading
    return heading if begin == heading or "_gbit" in metric else f"{begin}, {heading}"
