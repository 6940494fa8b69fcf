# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A hundred updates a second: their cost, the delay of a change among them, and whether other clients are disturbed."""

import threading
import time

import summary
from cluster import BEFORE, SERVICE_PORT, service_ip
from load import HAMMER_INTERVAL_MS
from network import BenchError
from process import memory

UPDATES_PER_SECOND = 100
MOST_SERVICES = 200
# Out of step with the updates and with the least time between two writes.
PROBE_REST_SECONDS = 0.13


class Updates:
    """Sends them from a thread of its own; each adds an endpoint to a Service or takes one away."""

    def __init__(self, cluster, seconds, rate=UPDATES_PER_SECOND, before=0):
        """`before`: number of updates sent earlier, which these continue, so that each changes something."""
        self._rate = rate
        self._before = before
        self._client = cluster.client()
        # The first Service does not change, the last is probed.
        others = range(1, cluster.services - 1)
        self._numbers = others[::max(1, len(others) // MOST_SERVICES)][:MOST_SERVICES]
        self._bodies = self.bodies(cluster, self._numbers)
        self._seconds = seconds
        self._failure = None
        self.sent = 0
        self.took = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def bodies(self, cluster, numbers):
        """What is sent in every other turn, and in those between."""
        return [[cluster.slice(number, [BEFORE] * count) for number in numbers]
                for count in (cluster.endpoints - 1, cluster.endpoints)]

    @property
    def running(self):
        return self._thread.is_alive()

    def end(self):
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self):
        try:
            self._send()
        except (OSError, BenchError) as error:
            self._failure = BenchError(f"updates could not be sent: {error}")

    def _send(self):
        begin = time.monotonic()
        while (now := time.monotonic()) < begin + self._seconds:
            turn, number = divmod(self._before + self.sent, len(self._numbers))
            self._client.send_slice(self._bodies[turn % 2][number])
            self._client.answer()
            self.sent += 1
            self.took = now - begin
            time.sleep(max(0.0, begin + self.sent / self._rate - time.monotonic()))  # fixed time: the rate of updates


def churn(subject, cluster, network, changes, seconds):
    hammer = network.hammer(service_ip(0), SERVICE_PORT, HAMMER_INTERVAL_MS)
    lags = []
    try:
        before, server_before, begin = subject.cpu(), cluster.cpu_seconds(), time.monotonic()
        updates = Updates(cluster, seconds)
        while updates.running:
            lags.append(changes.move_all())
            time.sleep(PROBE_REST_SECONDS)  # fixed time: a rest between two probes
        updates.end()
        took = time.monotonic() - begin
        used, server = subject.cpu() - before, cluster.cpu_seconds() - server_before
    finally:
        made, failed = hammer.end()
    found = memory(subject.pid)
    return {
        "churn_updates_per_second": updates.sent / max(updates.took, 1 / UPDATES_PER_SECOND),
        **summary.cpu("churn", used, 100 / took, "cpu_percent"), "churn_apiserver_cpu_percent": server * 100 / took,
        "churn_own_cpu_ms_per_update": used.own * 1000 / updates.sent,
        "churn_resident_mib": found["resident"], "churn_peak_mib": found["peak"],
        **summary.milliseconds("churn_lag", lags),
        "churn_connects": made, "churn_failed_connects": failed,
    }
