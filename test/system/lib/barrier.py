# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Waits until the daemon has programmed everything written so far.

A Service of the tests gets a new port and a new endpoint. Both watches are ordered: once that endpoint answers at
that port, everything written before is in the kernel. A list is not: the daemon programs its first objects while others
are on their way, so a list that began meanwhile requires another change. Callers that arrive while a barrier is in progress
share the next one.
"""

import threading

from . import addresses as a
from . import objects, pace, probe

NAMESPACE, NAME = "barrier", "barrier"
CLUSTER_IP = {a.V4: "172.30.255.1", a.V6: "fd00:172:30::ffff"}
FIRST_PORT = 10000
PATIENCE = 25  # seconds
MOST_PASSES = 4  # a test may make the daemon list again and again


class BarrierTimeout(Exception):
    """A change was not programmed before the timeout."""


class Barrier:
    def __init__(self, topology, source, alive, families=a.FAMILIES):
        self._topology = topology
        self._source = source
        self._alive = alive  # raises an exception if the daemon has ended
        self._families = families  # those that the backend serves
        self._turn = threading.Condition()
        self._begun = 0
        self._done = 0
        self._running = False
        self._changes = 0

    def settle(self):
        """Returns once everything written before this call is programmed in every address family."""
        with self._turn:
            mine = self._begun + 1
            while self._done < mine:
                if self._running:
                    self._turn.wait()
                    continue
                self._running = True
                self._begun += 1
                number = self._begun
                self._turn.release()
                try:
                    self._prove()
                finally:
                    self._turn.acquire()
                    self._running = False
                    self._turn.notify_all()
                self._done = number

    def delete(self):
        """Deletes the objects of the barrier, for a cluster without Services; the next `settle` creates them again."""
        self._source.delete(*self._objects(a.E1, FIRST_PORT))

    def _prove(self):
        for done in range(1, MOST_PASSES + 1):
            before = self._source.reads()
            self._changes += 1
            self._pass(self._changes)
            if done >= self._source.passes and self._source.reads() == before:
                return

    def _pass(self, number):
        endpoint = a.E1 if number % 2 else a.E4
        port = FIRST_PORT + number
        self._source.put(*self._objects(endpoint, port))
        self._wait(endpoint, port)

    @staticmethod
    def _objects(endpoint, port):
        spec = {
            "type": "ClusterIP", "clusterIP": CLUSTER_IP[a.V4], "clusterIPs": list(CLUSTER_IP.values()),
            "ipFamilies": ["IPv4", "IPv6"], "ports": [objects.port("b", port, "tcp", targetPort=a.POD_PORT)],
        }
        return [objects.service(NAMESPACE, NAME, spec),
                *(objects.endpoint_slice(NAMESPACE, f"{NAME}-{family}", NAME, family,
                                         [objects.port("b", a.POD_PORT, "tcp")], [objects.ready(endpoint)])
                  for family in a.FAMILIES)]

    def _wait(self, endpoint, port):
        for family in self._families:
            def answered(family=family):
                found = self._answered(endpoint, port, family)
                if not found:
                    self._alive()
                return found

            if not pace.wait_until(answered, PATIENCE, every=0.02):
                raise BarrierTimeout(f"a change was not programmed within {PATIENCE} s, stretched by the load: {a.POD.name} does not "
                                     f"reach {endpoint.name} at cluster IP {CLUSTER_IP[family]} port {port} by TCP")

    def _answered(self, endpoint, port, family):
        lines = probe.ask(self._topology, a.POD, "tcp", CLUSTER_IP[family], port, family, timeout_ms=pace.stretched(300))
        return len(lines) == 1 and lines[0].startswith(f"ok {endpoint.name} ")
