# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Adds and removes Services and endpoints while a hammer connects to an unchanged Service."""

import itertools
import threading

from . import addresses as a
from . import probe
from .objects import ready
from .services import ServiceUnderTest

PAUSE_SECONDS = 0.15
LIVING_SERVICES = 4


class Churn:
    def __init__(self, bench):
        self._bench = bench
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._hammer = None
        self._steady = None
        self._error = None
        self.changes = 0

    def start(self):
        self._steady = self._service("steady", [ready(a.E1), ready(a.E2)])
        self._bench.barrier.settle()
        front = self._steady.cluster()
        self._hammer = probe.Hammer(self._bench.topology, a.POD, "tcp", front.ip, front.port)
        self._thread.start()

    def stop(self):
        """The counts of the hammer and the number of changes."""
        self._stop.set()
        self._thread.join()
        counts = self._hammer.stop()
        self._steady.delete()
        if self._error:
            raise self._error
        return {**counts, "changes": self.changes}

    def _service(self, namespace, endpoints):
        return ServiceUnderTest(self._bench.source, self._bench.allocator.number(), namespace, a.V4, "tcp", endpoints,
                                external=True, type="LoadBalancer")

    def _work(self):
        pods = [a.E1, a.E2, a.E3, a.E4]
        living = []
        try:
            for turn in itertools.count():
                if self._stop.wait(PAUSE_SECONDS):
                    break
                if turn % 3 == 0:
                    living.append(self._service(f"churn-{turn}", [ready(pods[turn % 4])]))
                elif living:
                    living[turn % len(living)].set_endpoints([ready(pod) for pod in pods[: turn % 5]])
                if len(living) > LIVING_SERVICES:
                    living.pop(0).delete()
                self.changes += 1
        except Exception as error:  # pylint: disable=broad-except  # reported by stop(), in the test's own thread
            self._error = error
        for service in living:
            service.delete()
