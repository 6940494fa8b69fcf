# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Relays side by side: every phase goes round all programs before the next begins, several times over."""

import os
import statistics
import sys
import time

from network import BenchError
from process import TICKS, memory
from relay_subjects import most_connections

GB = 1e9
IDLE_UNIT = 10_000


class System:
    """CPU seconds of the whole machine: the kernel's work for a relay, but also all other programs."""

    @staticmethod
    def busy():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / TICKS

    @staticmethod
    def slab_mib():
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Slab:")) / 1024


def throughput(streams, direction, prefix):
    def phase(subject, wanted):
        own, system = (subject.cpu_seconds() if subject.relays else 0), System.busy()
        said = subject.network.load(subject.node, subject.target, "throughput", "--streams", str(streams),
                                    "--direction", direction, seconds=wanted.relay_seconds)
        gigabytes = (said["bytes_up"] + said["bytes_down"]) / GB
        if gigabytes <= 0:
            raise BenchError("no byte arrived")
        found = {f"{prefix}_gbit": said["gbit_per_second"],
                 f"{prefix}_system_cpu_per_gb": (System.busy() - system) / gigabytes}
        if subject.relays:
            found[f"{prefix}_cpu_per_gb"] = (subject.cpu_seconds() - own) / gigabytes
        return found
    return phase


def connections(subject, wanted):
    own = subject.cpu_seconds() if subject.relays else 0
    said = subject.network.load(subject.node, subject.target, "connections", seconds=wanted.relay_seconds)
    found = {"connections_per_second": said["connections_per_second"], "connections_failed": said["failed"]}
    if subject.relays:
        found["connections_cpu_us"] = (subject.cpu_seconds() - own) * 1e6 / max(1, said["connections"])
    return found


def latency(subject, wanted):
    said = subject.network.load(subject.node, subject.target, "latency", "--open", str(wanted.relay_open),
                                seconds=wanted.relay_seconds)
    return {"connect_ms_p50": said["ms_p50"], "connect_ms_p99": said["ms_p99"], "latency_failed": said["failed"]}


def idle(subject, wanted):
    """Of a process that has done nothing else; for 10,000 connections, also where fewer are allowed."""
    count = most_connections(wanted.relay_idle)
    share = IDLE_UNIT / count
    subject.stop()
    subject.start()
    time.sleep(0.3)  # fixed time: what begins late, a thread or a report, is no connection's
    before, slab = memory(subject.pid), System.slab_mib()
    held = subject.network.idle(subject.node, subject.target, count)
    time.sleep(0.3)  # fixed time: memory is measured of idle connections
    after = memory(subject.pid)
    found = {"idle_connections": count, "idle_growth_mib": (after["resident"] - before["resident"]) * share,
             "idle_resident_mib": after["resident"], "idle_pss_mib": after["pss"],
             "idle_slab_mib": (System.slab_mib() - slab) * share, "idle_descriptors": subject.descriptors()}
    held.end()
    return found


def udp(prefix, *options):
    def phase(subject, wanted):
        own = subject.cpu_seconds() if subject.relays else 0
        said = subject.network.load(subject.node, subject.target, "udp", "--patient", *options,
                                    seconds=wanted.relay_seconds)
        if said["answered"] == 0:
            raise BenchError("no datagram was answered")
        found = {f"{prefix}_per_second": said["answers_per_second"], f"{prefix}_lost_percent": said["lost_percent"]}
        if prefix == "udp_asks":
            found["udp_asks_ms_p99"] = said["ms_p99"]
        if subject.relays and prefix == "udp_hundred":
            # A relay of many processes ends them meanwhile; then its CPU time is unknown.
            used = subject.cpu_seconds() - own
            found["udp_hundred_cpu_us"] = used * 1e6 / said["answered"] if used > 0 else None
        return found
    return phase


# Name, for which programs, and what is done.
PHASES = [
    ("idle", lambda subject: subject.tcp and subject.relays, idle),
    ("down1", lambda subject: subject.tcp, throughput(1, "down", "down1")),
    ("up1", lambda subject: subject.tcp, throughput(1, "up", "up1")),
    ("down100", lambda subject: subject.tcp, throughput(100, "down", "down100")),
    ("connections", lambda subject: subject.tcp, connections),
    ("latency", lambda subject: subject.tcp, latency),
    ("udp1", lambda subject: subject.udp, udp("udp_one", "--window", "128")),
    ("udpflood", lambda subject: subject.udp, udp("udp_flood", "--window", "0")),
    ("udp100", lambda subject: subject.udp, udp("udp_hundred", "--clients", "100", "--window", "16")),
    ("udpasks", lambda subject: subject.udp, udp("udp_asks", "--clients", "32", "--window", "1")),
]


def _watched(phase, subject, wanted):
    """Adds the share of time in which a thread waited for a processor, which shows the load of the machine."""
    if phase is idle or not subject.relays:
        return phase(subject, wanted)
    begin, waiting = time.monotonic(), subject.waiting_seconds()
    found = phase(subject, wanted)
    waited = (subject.waiting_seconds() - waiting) / (time.monotonic() - begin)
    if waited >= 0:  # a relay of many processes ends them meanwhile
        kind = "udp" if any(metric.startswith("udp") for metric in found) else "tcp"
        found[f"{kind}_waited_percent"] = waited * 100 / max(1, subject.threads)
    return found


def new_row(kind, threads):
    return {"program": kind.name, "mode": "relay", "iptables": None, "threads": threads,
            "measures": [word for word in ("tcp", "udp", "relays") if getattr(kind, word)], "each": {}}


class RelayMeasurement:
    """Fills the rows of (subject, row): the median of all rounds, and under `each` every single value."""

    def __init__(self, subjects, wanted):
        self._subjects = subjects
        self._wanted = wanted

    def run(self, until):
        for number in range(self._wanted.relay_rounds):
            for name, fits, phase in PHASES:
                if name not in self._wanted.relay_phases:
                    continue
                for subject, row in self._subjects:
                    if "gave_up" not in row and fits(subject):
                        self._one(number, name, phase, subject, row, until)

    def _one(self, number, name, phase, subject, row, until):
        if time.monotonic() > until:
            row["gave_up"] = f"{name}, round {number + 1}: not begun, the time is up"
            return
        if os.environ.get("SLUICE_BENCH_VERBOSE"):
            print(f"bench: relay round {number + 1}, {name}, {subject.name} {subject.threads}", file=sys.stderr)
        try:
            found = _watched(phase, subject, self._wanted)
        except BenchError as error:
            row["gave_up"] = f"{name}, round {number + 1}: {error}"
            return
        for metric, value in found.items():
            row["each"].setdefault(metric, []).append(value)
            known = [one for one in row["each"][metric] if one is not None]
            # Failures must be 0 in each round.
            row[metric] = (max if metric.endswith("_failed") else statistics.median)(known) if known else None
