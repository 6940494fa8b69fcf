# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The first load: from exec until every Service answers, with clients that notice when one stops answering."""

import time

import summary
from cluster import SERVICE_PORT, service_ip, service_name
from network import BenchError, answering_endpoint
from patience import stretched
from process import PeakWithChildren, memory, running_programs, wait_without_children

HAMMER_INTERVAL_MS = 10
PAUSE_SECONDS = 0.005
# Number of Services, evenly spread, that are probed once the first, middle and last answer.
SWEPT = 1000


def sentinels(services):
    """The first, the middle and the last by number, and the last by name."""
    last_by_name = max(range(services), key=service_name)
    return sorted({0, services // 2, services - 1, last_by_name})


class Load:
    def __init__(self, subject, cluster, network, wanted):
        self._subject = subject
        self._cluster = cluster
        self._network = network
        self._patience = wanted.patience
        self._settle_patience = wanted.change_patience
        self._hammers = []
        self._begin = None
        self._first_answer = None

    def run(self):
        server_before = self._cluster.cpu_seconds()
        self._begin = self._subject.start()
        peak = PeakWithChildren(self._subject.pid)
        try:
            reached = self._reach()
            late, reached = self._sweep(reached)
            wait_without_children(self._subject.pid, self._settle_patience)
        finally:
            peak.end()
            tallies = [hammer.end() for hammer in self._hammers]
        used = self._subject.cpu()
        alone = memory(self._subject.pid)
        return {
            "start_seconds": reached - self._begin, "start_first_answer_seconds": self._first_answer - self._begin,
            "start_late_services": late, **summary.cpu("start", used, 1, "cpu_seconds"),
            "start_own_user_cpu_seconds": used.own_user, "start_own_system_cpu_seconds": used.own_system,
            "start_apiserver_cpu_seconds": self._cluster.cpu_seconds() - server_before,
            "load_connects": sum(made for made, _ in tallies), "load_failed_connects": sum(bad for _, bad in tallies),
            **{f"memory_{name}_mib": value for name, value in alone.items()},
            "memory_peak_with_children_mib": max(peak.resident, alone["peak"]),
            "memory_peak_pss_with_children_mib": max(peak.pss, alone["pss"]),
        }

    def _reach(self):
        """The time when all sentinels have answered; each is hammered from then on."""
        waiting = sentinels(self._cluster.services)
        while True:
            for number in list(waiting):
                if answering_endpoint(service_ip(number), SERVICE_PORT) is None:
                    continue
                now = time.monotonic()
                self._first_answer = self._first_answer or now
                waiting.remove(number)
                self._hammers.append(self._network.hammer(service_ip(number), SERVICE_PORT, HAMMER_INTERVAL_MS))
            if not waiting:
                return now
            self._subject.check_alive()
            if time.monotonic() > self._begin + stretched(self._patience):
                raise BenchError(f"{self._how_far(waiting)} after {self._patience:.0f} s{self._used()}")
            time.sleep(PAUSE_SECONDS)  # poll interval

    def _sweep(self, reached):
        """How many Services did not answer though the sentinels did, and when the last of them did."""
        numbers = range(0, self._cluster.services, max(1, self._cluster.services // SWEPT))
        late = waiting = [n for n in numbers if answering_endpoint(service_ip(n), SERVICE_PORT) is None]
        while waiting:
            if time.monotonic() > self._begin + stretched(self._patience):
                raise BenchError(f"{len(waiting)} of {len(numbers)} Services asked do not answer after "
                                 f"{self._patience:.0f} s")
            time.sleep(PAUSE_SECONDS)  # poll interval
            waiting = [n for n in waiting if answering_endpoint(service_ip(n), SERVICE_PORT) is None]
            reached = time.monotonic()
        return len(late), reached

    def _used(self):
        """The CPU time used, to explain a timeout."""
        used = self._subject.cpu()
        running = "".join(f", {name} still runs after {seconds:.1f} s of CPU time"
                          for name, seconds in running_programs(self._subject.pid))
        return (f", {used.own:.1f} s of own CPU time, {used.children_user:.1f} s of ended tools' and "
                f"{used.children_system:.1f} s of the kernel's for them{running}{self._subject.last_words()}")

    def _how_far(self, waiting):
        if self._first_answer is None:
            return "no Service answers"
        return f"{', '.join(map(service_name, waiting))} of {self._cluster.services} Services does not answer"
