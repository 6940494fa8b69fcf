# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The core alone at one size: API server to backend, the backend being the example `print`, which programs nothing."""

import time

import summary
from arrival import PrintedLines
from changes import Changes
from network import BenchError
from process import memory

# Every change is delivered at once, so that none waits for the previous one.
FLAGS = ["--iptables-min-sync-period", "0s"]
REST_SECONDS = 0.1
SETTLE_SECONDS = 1.0


class CoreMeasurement:
    def __init__(self, subject, cluster, printed, wanted):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._lines = PrintedLines(printed)
        self._changes = Changes(subject, cluster, self._lines, wanted.core_changes, wanted.change_patience,
                                lambda: time.sleep(REST_SECONDS))  # fixed time: a rest between two changes
        self.measured = {}

    def run(self, until):
        for name, phase in [("first apply", self._first_apply), ("change of one endpoint", self._changes.one_endpoint),
                            ("change of all endpoints", self._changes.all_endpoints),
                            ("Service added", self._changes.service_added)]:
            if time.monotonic() > until:
                raise BenchError(f"{name}: not begun, the time is up")
            self.measured.update(phase())

    def _first_apply(self):
        server_before = self._cluster.cpu_seconds()
        begin = self._subject.start()
        arrived = self._lines.wait_for_line(self._is_everything, self._wanted.patience)
        if arrived is None:
            self._subject.check_alive()
            raise BenchError(f"first apply: no full transaction after {self._wanted.patience:.0f} s"
                             f"{self._subject.last_words()}")
        used = self._subject.cpu()
        time.sleep(SETTLE_SECONDS)  # fixed time: memory is measured of a daemon at rest
        return {"start_seconds": arrived - begin, **summary.cpu("start", used, 1, "cpu_seconds"),
                "start_own_user_cpu_seconds": used.own_user, "start_own_system_cpu_seconds": used.own_system,
                "start_apiserver_cpu_seconds": self._cluster.cpu_seconds() - server_before,
                **{f"memory_{name}_mib": value for name, value in memory(self._subject.pid).items()}}

    def _is_everything(self, line):
        """A full transaction of IPv4 with as many service ports as there are Services."""
        return (b'"kind":"full"' in line and b'"family":4' in line
                and line.count(b'"healthCheckNodePort"') == self._cluster.services)
