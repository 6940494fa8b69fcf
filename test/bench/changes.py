# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Single changes, one after the other: how long each takes to arrive, and what it costs."""

import statistics
import time

import summary
from cluster import AFTER, BEFORE, SERVICES, SLICES, address, service_ip
from network import BenchError
from process import own_cpu_seconds

# Own CPU is counted until this long after the arrival: work after a write belongs to the change.
AFTERMATH_SECONDS = 0.25
# The slice of a new Service uses another connection than the Service: it is sent this much earlier.
AHEAD_SECONDS = 0.2


class Changes:
    """`arrival` waits for a change. `rest` waits until the limiter would not delay the next; also once before the first."""

    def __init__(self, subject, cluster, arrival, count, patience, rest):
        self._subject = subject
        self._cluster = cluster
        self._arrival = arrival
        self._count = count
        self._patience = patience
        self._rest = rest
        self._places = [BEFORE] * cluster.endpoints
        self._added = 0

    @property
    def _number(self):
        """The Service that changes: the last."""
        return self._cluster.services - 1

    def one_endpoint(self):
        """One endpoint is replaced by one of another address."""
        return self._measure("one_endpoint", self.move_one)

    def all_endpoints(self):
        """All endpoints are replaced."""
        return self._measure("all_endpoints", self.move_all)

    def service_added(self):
        return self._measure("service_added", self.add_service)

    def move_one(self):
        number = self._number * self._cluster.endpoints
        index = self._places.index(BEFORE) if BEFORE in self._places else 0
        self._places[index] = AFTER if self._places[index] == BEFORE else BEFORE
        return self._move({address(self._places[index], number + index)})

    def move_with_extra(self, extra):
        """One more endpoint, (place, number); until `send_without_extra`."""
        return self._move({address(*extra)}, extra=[extra])

    def send_without_extra(self):
        self._cluster.api.send_slice(self._cluster.slice(self._number, self._places))
        self._cluster.api.answer()

    def move_all(self):
        self.turn_all()
        return self._move(self.expected())

    def turn_all(self):
        """As `move_all`, but does not wait; returns the endpoints that must answer."""
        place = AFTER if self._places[0] == BEFORE else BEFORE
        self._places = [place] * self._cluster.endpoints
        return self._cluster.slice(self._number, self._places), self.expected()

    def expected(self):
        """The endpoints that answer once everything sent so far has arrived."""
        number = self._number * self._cluster.endpoints
        return {address(place, number + index) for index, place in enumerate(self._places)}

    def _move(self, expected, extra=()):
        """Seconds from sending the change to the API server to its arrival."""
        self._arrival.prepare()
        begin = time.monotonic()
        self._cluster.api.send_slice(self._cluster.slice(self._number, self._places, extra))
        arrived = self._wait(service_ip(self._number), expected)
        self._cluster.api.answer()
        return arrived - begin

    def add_service(self):
        """The slice first: otherwise the Service is written without it, and the rest waits for the limiter."""
        service, endpoint_slice, cluster_ip = self._cluster.added(self._added)
        expected = {one["addresses"][0] for one in endpoint_slice["endpoints"]}
        self._added += 1
        self._arrival.prepare()
        self._cluster.api.call("POST", SLICES, endpoint_slice)
        time.sleep(AHEAD_SECONDS)  # fixed time: the slice arrives before the Service
        begin = time.monotonic()
        self._cluster.api.send("POST", SERVICES, service)
        arrived = self._wait(cluster_ip, expected)
        self._cluster.api.answer()
        return arrived - begin

    def _wait(self, cluster_ip, expected):
        arrived = self._arrival.wait(cluster_ip, expected, self._patience)
        if arrived is None:
            self._subject.check_alive()
            raise BenchError(f"a change did not arrive within {self._patience:.0f} s{self._subject.last_words()}")
        return arrived

    def _measure(self, prefix, change):
        times, own = [], []
        before, server_before = self._subject.cpu(), self._cluster.cpu_seconds()
        for _ in range(self._count):
            own_before = own_cpu_seconds(self._subject.pid)
            times.append(change())
            time.sleep(AFTERMATH_SECONDS)  # fixed time: CPU time in it belongs to the change
            own.append((own_cpu_seconds(self._subject.pid) - own_before) * 1000)
            self._rest()
        used = self._subject.cpu() - before
        return {**summary.milliseconds(prefix, times),
                f"{prefix}_own_cpu_ms": statistics.mean(own), f"{prefix}_own_cpu_ms_p50": statistics.median(own),
                f"{prefix}_own_cpu_ms_each": own,
                f"{prefix}_children_user_cpu_ms": used.children_user * 1000 / self._count,
                f"{prefix}_children_system_cpu_ms": used.children_system * 1000 / self._count,
                f"{prefix}_apiserver_cpu_ms": (self._cluster.cpu_seconds() - server_before) * 1000 / self._count}
