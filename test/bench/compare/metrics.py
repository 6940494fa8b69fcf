# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The values of the comparison: their names in the results, their units, and whether less is better."""

from dataclasses import dataclass

SLUICE, KUBE_PROXY = "sluice", "kube-proxy"
PROXIES = (KUBE_PROXY, SLUICE)


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    less_is_better: bool = True
    ranked: bool = True  # has a p99; a value of a whole turn has none


def _connect(client, words):
    return [Metric(f"{client}_{place}_us", f"{words}, {place} Service", "µs") for place in ("first", "last")]


# Part → (title, metrics). A turn of one proxy measures the parts up to `restart`; the others need both proxies' rules.
PARTS = {
    "sync": ("First sync", [
        Metric("seconds", "exec until the last Service answers", "s", ranked=False),
        Metric("cpu_seconds", "CPU with child processes until the proxy is idle", "s", ranked=False)]),
    "memory": ("Memory", [
        Metric("pss_mib", "PSS after the first sync", "MiB", ranked=False),
        Metric("resident_mib", "RSS after the first sync", "MiB", ranked=False),
        Metric("peak_pss_mib", "peak PSS with child processes, first sync", "MiB", ranked=False),
        Metric("turn_peak_pss_mib", "peak PSS with child processes, all parts", "MiB", ranked=False)]),
    "change": ("One change", [
        Metric("event_ms", "write of an EndpointSlice until a packet takes the new way", "ms"),
        Metric("cpu_ms", "CPU with child processes for each change", "ms", ranked=False)]),
    "churn50": ("50 changes per second", [
        Metric("cpu_percent", "CPU with child processes, of one processor", "%", ranked=False),
        Metric("event_ms", "write until packet meanwhile", "ms"),
        Metric("changes_per_second", "changes that the API server accepted", "1/s", False, False)]),
    "churn500": ("500 changes per second", [
        Metric("cpu_percent", "CPU with child processes, of one processor", "%", ranked=False),
        Metric("event_ms", "write until packet meanwhile", "ms"),
        Metric("changes_per_second", "changes that the API server accepted", "1/s", False, False)]),
    "restart": ("Restart", [
        Metric("seconds", "without a change: exec until the first sync is reported", "s", ranked=False),
        Metric("cpu_seconds", "its CPU with child processes", "s", ranked=False),
        Metric("changed_seconds", "with one missed change: exec until a packet shows it", "s", ranked=False),
        Metric("changed_cpu_seconds", "its CPU with child processes", "s", ranked=False)]),
    "connect": ("First packet of a connection: time of connect()", [
        *_connect("pod", "pod"), *_connect("node", "process of the node"), *_connect("external", "external client, node port"),
        Metric("direct_us", "pod, to an endpoint without a Service (control)", "µs")]),
    "load": ("Throughput of one client", [
        Metric("connections_per_second", "connections", "1/s", False, False),
        Metric("requests_per_second", "requests on 32 kept connections", "1/s", False, False),
        Metric("udp_per_second", "UDP datagrams answered, known flows", "1/s", False, False),
        Metric("udp_new_per_second", "UDP datagrams answered, each from a new client", "1/s", False, False)]),
}
PACKET_PARTS = ("connect", "load")
TURN_PARTS = tuple(name for name in PARTS if name not in PACKET_PARTS)


def metric(part, name):
    return next(one for one in PARTS[part][1] if one.name == name)
