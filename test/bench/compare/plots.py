# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of the comparison: curves over the number of Services, both proxies. Costs have plots as gains have."""

import paths  # noqa: F401  # pylint: disable=unused-import
import results
from draw import plot
from metrics import KUBE_PROXY, PARTS, SLUICE, metric as metric_of

ENDPOINTS = 10
# A colour has two styles; the other modes are in the tables.
MODES = ("nftables", "iptables-nft")
PLOTS = (("sync", "seconds"), ("sync", "cpu_seconds"), ("memory", "pss_mib"), ("memory", "peak_pss_mib"), ("change", "event_ms"),
         ("change", "cpu_ms"), ("churn50", "cpu_percent"), ("churn500", "cpu_percent"), ("restart", "changed_seconds"),
         ("restart", "cpu_seconds"), ("connect", "pod_last_us"), ("connect", "node_last_us"), ("connect", "external_last_us"),
         ("load", "connections_per_second"), ("load", "requests_per_second"), ("load", "udp_per_second"))


def _series(found, part, name):
    series = {}
    for mode in MODES:
        for proxy, title in ((KUBE_PROXY, "kube-proxy"), (SLUICE, "Sluice")):
            for row in found["rows"]:
                services, endpoints = results.size_of(row["size"])
                median = row["metrics"].get(name, {}).get(proxy, {}).get("median")
                if row["part"] == part and row["mode"] == mode and endpoints == ENDPOINTS and median:
                    series.setdefault(f"{title}, {mode}", []).append((f"{services} × {endpoints}", median))
    return {title: sorted(points, key=lambda point: results.size_of(point[0].replace(" × ", "x"))) for title, points in series.items()}


def words_of(part, found):
    """File name and words of each plot of a part that has points."""
    return [(file, _words(found, part, name)) for file, name in _files(part, found)]


def _files(part, found):
    for one, name in PLOTS:
        if one == part and _series(found, part, name):
            yield f"{part}-{(name.rpartition('_')[0] or name).replace('_', '-')}.svg", name


def _words(found, part, name):
    metric = metric_of(part, name)
    better = "lower is better" if metric.less_is_better else "higher is better"
    gave_up = sorted({f"{proxy} in {row['mode']} mode at {results.size_of(row['size'])[0]:,} Services gave up"
                      for row in found["rows"] if row["part"] == part and row["mode"] in MODES
                      and row["size"].endswith(f"x{ENDPOINTS}") for proxy in row["gave_up"]})
    title = PARTS[part][0].partition(":")[0]
    return {"title": f"{title}: {metric.title}"[:110], "subtitle": f"{ENDPOINTS} endpoints for each Service; {better}; logarithmic axes",
            "x": "Services", "y": metric.unit,
            "desc": f"{title}, {metric.title}, in {metric.unit}, of Sluice and kube-proxy by number of Services.",
            "note": "Medians of one run on one machine with a real kube-apiserver; docs/benchmarks/README.md has the conditions. "
                    + "".join(f"{one}. " for one in gave_up)}


def made(found):
    """File name → SVG."""
    return {file: plot.drawn(_words(found, part, name), _series(found, part, name)) for part in PARTS
            for file, name in _files(part, found)}
