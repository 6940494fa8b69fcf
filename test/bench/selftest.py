# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the benchmark detects faults: made-up results, some of which are implausible."""

import summary
import ipvs_report
import relay_report
import report
from plausible import problem

BROKEN = [
    ("a missing metric", {"start_seconds": None}, "start_seconds"),
    ("a metric that is not a number", {"memory_pss_mib": float("nan")}, "memory_pss_mib"),
    ("a time without end", {"restart_seconds": float("inf")}, "restart_seconds"),
    ("a time of nothing", {"one_endpoint_ms_p50": 0.0}, "one_endpoint_ms_p50"),
    ("a negative time", {"start_own_cpu_seconds": -0.01}, "start_own_cpu_seconds"),
    ("own CPU of nothing", {"one_endpoint_own_cpu_ms": 0.0}, "one_endpoint_own_cpu_ms"),
    ("a failed connect during the load", {"load_failed_connects": 1}, "load_failed_connects"),
    ("a failed connect in the churn", {"churn_failed_connects": 1}, "churn_failed_connects"),
    ("a failed connect during a restart", {"restart_failed_connects": 1}, "restart_failed_connects"),
    ("a write of a restart without change", {"restart_kernel_writes": 2}, "restart_kernel_writes"),
    ("a middle above the 99th of a hundred", {"connect_last_us_p50": 3.0}, "connect_last_us_p50"),
    ("memory that follows the table", {"memory_growth_mib": 17.0}, "memory_growth_mib"),
    ("a stale flow that stays", {"left_entries": 1}, "left_entries"),
    ("a share above the whole", {"memory_private_mib": 2.0}, "memory_private_mib"),
]


def made_up(**changes):
    row = {"program": "sluiced", "mode": "iptables", "iptables": "nft", "services": 100, "endpoints": 10}
    row.update({metric: 0 if metric in report.ZERO else 1.0
                for _, columns in report.WITH_PACKETS for metric, _ in columns})
    return {**row, **changes}


def made_up_relay(program, **changes):
    row = {"program": program, "mode": "relay", "iptables": None, "threads": 1, "measures": ["tcp", "relays"],
           "each": {}}
    row.update({metric: 0 if metric in report.ZERO else 1.0
                for _, columns in relay_report.tables_of(row) for metric, _ in columns})
    return {**row, **changes}


def made_up_ipvs(services=100, **changes):
    row = {"program": "sluiced", "mode": "ipvs", "part": "ipvs", "iptables": "nft", "services": services, "endpoints": 2,
           "kernel": "6"}
    row.update({metric: 0 if metric in report.ZERO else 1.0
                for _, columns in ipvs_report.TABLES for metric, _ in columns})
    return {**row, **changes}


def result(*rows):
    place = {"processors": 2, "processor": "made up", "memory_mib": 1024, "kernel": "6", "system": "none",
             "iptables": "1", "commit": "0", "compiler_flags": "-O2", "load_average": 0.0, "load_average_after": 0.0,
             "when": "never"}
    return {"environment": place, "results": list(rows), "flatness": list(report.flatness(rows))}


def checks():
    """Title and error (or None) of each."""
    def check(title, passed):
        return f"the benchmark itself: {title}", None if passed else "it does not"

    good = made_up()
    yield check("plausible metrics pass", not any(problem(good, metric) for metric in good
                                                         if isinstance(good[metric], (int, float))))
    for title, change, metric in BROKEN:
        yield check(f"{title} is found", problem(made_up(**change), metric) is not None)

    yield check("the 99th of a hundred is an observed value", summary.percentile(range(1, 101), 99) == 100)
    slower = result(made_up(restart_seconds=2.0), made_up(services=5000))
    text = report.comparison(result(good, made_up(services=1000)), slower)
    yield check("a comparison has the ratio", "| Restart: first change s | 1 | 2 | 2.00 |" in text)
    yield check("a comparison names rows that only one has",
                "1,000 × 10 sluiced iptables-nft\n\nonly in the earlier result" in text
                and "5,000 × 10 sluiced iptables-nft\n\nonly in the later result" in text)

    growing = result(good, made_up(services=1000, one_endpoint_own_cpu_ms_p50=1.6))
    yield check("own CPU that grows with N is reported",
                "| 1.60 | 1,000 and 100 | no, more than 1.5 |" in report.whole(growing))
    lost = made_up(churn_failed_connects=3, gave_up="restart: not begun, the time is up")
    text = report.whole(result(lost))
    yield check("a missing measurement is reported",
                "100 × 10 sluiced iptables-nft: restart: not begun, the time is up" in text)
    yield check("a metric that must be 0 and is not is reported", "churn_failed_connects is 3, and has to be 0" in text)

    ours = made_up_relay(relay_report.OURS, down1_gbit=8.0, connect_ms_p99=2.0)
    text = report.whole(result(ours, made_up_relay("HAProxy transparent", down1_gbit=10.0)))
    yield check("a relay that carries less than another is reported",
                "| 1 stream down Gbit/s | 1 | HAProxy transparent | 8 | 10 | 0.80 | **no** |" in text)
    yield check("a relay that is later than another is reported",
                "| connect + echo ms p50, p99 | 1 | HAProxy transparent | 2 | 1 | 0.50 | **no** |" in text)
    yield check("an equal result is reported", "| 100 streams down | 1 | HAProxy transparent | 1 | 1 | 1.00 | yes |" in text)
    yield check("a relay's metrics are plausible", not any(problem(ours, metric) for metric in ours
                                                         if isinstance(ours[metric], (int, float))
                                                         and metric != "threads"))
    yield check("a connection that a relay loses is found",
                problem(made_up_relay(relay_report.OURS, connections_failed=1), "connections_failed") is not None)
    yield check("a relay that carries nothing is found",
                problem(made_up_relay(relay_report.OURS, down100_gbit=0.0), "down100_gbit") is not None)

    flat = made_up_ipvs(), made_up_ipvs(10_000, one_endpoint_own_cpu_ms_p50=1.5)
    yield check("metrics of ipvs mode are plausible", not list(report.shortcomings(flat)) and
                not any(problem(flat[0], metric) for _, columns in report.tables_of(flat[0]) for metric, _ in columns))
    text = report.whole(result(made_up_ipvs(), made_up_ipvs(10_000, one_endpoint_own_cpu_ms_p50=1.51)))
    yield check("a change in ipvs mode that grows with N is a failure",
                "a change costs 1.51 times as much CPU with 10,000 Services as with 100, more than 1.5" in text)
    text = report.whole(result(made_up_ipvs(one_endpoint_kernel_writes=9.0)))
    yield check("one that takes many messages too", "a change of one endpoint takes 9 messages, more than 8" in text)
    yield check("a restart in ipvs mode that writes is found",
                problem(made_up_ipvs(restart_kernel_writes=1), "restart_kernel_writes") is not None)
