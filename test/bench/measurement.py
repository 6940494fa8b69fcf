# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One program at one size, from its first start to its end, judged by packets."""

import re
import time

import summary
from arrival import Packets
from changes import Changes
from churn import churn
from cluster import SERVICE_PORT, service_ip
from load import HAMMER_INTERVAL_MS, Load
from network import BenchError, connect_seconds, run
from process import wait_without_children

# Longer than any pause between writes, to measure a change and not the limiter.
REST_SECONDS = 1.2


class Measurement:
    """`measured` holds the metrics so far, also when a phase ends in a BenchError."""

    def __init__(self, subject, cluster, network, wanted, iptables):
        self._subject = subject
        self._cluster = cluster
        self._network = network
        self._wanted = wanted
        self._iptables = iptables
        self._changes = Changes(subject, cluster, Packets(), wanted.changes, wanted.change_patience, self._rest)
        self.measured = {}

    def run(self, until):
        """Phase after phase; none is begun after `until`."""
        phases = [
            ("first load", Load(self._subject, self._cluster, self._network, self._wanted).run),
            ("connect times", self._connect_times),
            ("change of one endpoint", self._changes.one_endpoint),
            ("change of all endpoints", self._changes.all_endpoints),
            ("Service added", self._changes.service_added),
            ("churn", lambda: churn(self._subject, self._cluster, self._network, self._changes,
                                    self._wanted.churn_seconds)),
            ("restart", self._restart),
        ]
        for name, phase in phases:
            if time.monotonic() > until:
                raise BenchError(f"{name}: not begun, the time is up")
            try:
                self.measured.update(phase())
            except BenchError as error:
                raise BenchError(f"{name}: {error}") from error

    def _rest(self):
        wait_without_children(self._subject.pid, self._wanted.change_patience)
        time.sleep(REST_SECONDS)  # fixed time: a rest between two changes

    def _connect_times(self):
        self._rest()
        first, last = ends_of_rules(self._cluster.services, self._iptables)
        out = {}
        for name, address in (("first", first), ("last", last)):
            times = [connect_seconds(address, SERVICE_PORT) for _ in range(self._wanted.connects)]
            made = [one * 1000 for one in times if one is not None]
            if len(made) < len(times):
                raise BenchError(f"{len(times) - len(made)} of {len(times)} connects to {address} failed")
            out[f"connect_{name}_us_p50"] = summary.percentile(made, 50) * 1000
            out[f"connect_{name}_us_p99"] = summary.percentile(made, 99) * 1000
        return out

    def _restart(self):
        """Rules stay while it is down and while it reads them back: a client of another Service never fails."""
        self._rest()
        hammer = self._network.hammer(service_ip(0), SERVICE_PORT, HAMMER_INTERVAL_MS)
        try:
            found = {**self._missed_change(), "restart_kernel_writes": self._writes_of_restart()}
        finally:
            made, failed = hammer.end()
        return {**found, "restart_connects": made, "restart_failed_connects": failed}

    def _missed_change(self):
        self._subject.stop()
        body, expected = self._changes.turn_all()
        self._cluster.api.send_slice(body)
        self._cluster.api.answer()
        begin = self._subject.start()
        arrived = Packets().wait(service_ip(self._cluster.services - 1), expected, self._wanted.patience, pause=0.005)
        if arrived is None:
            raise BenchError(f"what changed meanwhile did not arrive within {self._wanted.patience:.0f} s")
        wait_without_children(self._subject.pid, self._wanted.change_patience)
        return {"restart_seconds": arrived - begin, **summary.cpu("restart", self._subject.cpu(), 1, "cpu_seconds")}

    def _writes_of_restart(self):
        """Of a restart that missed nothing, so that nothing should be written."""
        self._subject.stop()
        self._subject.start()
        return self._subject.restart_writes(self._wanted.patience)


def ends_of_rules(services, variant):
    """The cluster IPs of the Services whose rules a packet meets first and last; `variant` of iptables, or None."""
    if variant is None:
        return service_ip(0), service_ip(services - 1)
    text = run(f"iptables-{variant}-save", "-t", "nat")
    order = re.findall(r"^-A KUBE-SERVICES .*-d (10\.10[0-9]\.[0-9.]+)/32 ", text, re.M)
    if not order:
        raise BenchError("no Service has a rule in KUBE-SERVICES, though all of them answer")
    return order[0], order[-1]
