# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A hostile tenant with write access to the Services and EndpointSlices of one namespace: its writes, and measurements of the
daemon."""

import datetime
import hashlib
import itertools
import os
import threading
import time

from . import addresses as a
from . import bulk, metrics, objects
from .objects import port

CONFIG = "hostile-tenant"  # all cases share one daemon
LONG = os.environ.get("SLUICE_LONG", "0") != "0"
NAMESPACE = "aaa-hostile"  # sorts before all other namespaces
MARK = "zqx"  # prefix of random names, which makes them recognizable
PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
BATCH = 20  # objects in one request to the test API server

_serial = itertools.count()


def settle(t):
    """Like t.settle(), and waits for changes in all namespaces: with a minimum sync period, those in busy namespaces may be
    programmed later than that of the barrier."""
    t.settle()
    t.wait_until(lambda: not metrics.scrape(t).get("sluice_oldest_pending_change_age_seconds"), "no change is pending")


def restart(t):
    t.bench.daemon.stop()
    t.bench.start_daemon()
    settle(t)


def name():
    """A unique name; the sequence of names is the same in every run."""
    return MARK + hashlib.sha256(str(next(_serial)).encode()).hexdigest()[:17]


# Writes of the tenant.


def service(service_name, ip, ports, **spec):
    return objects.service(NAMESPACE, service_name, {
        "type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"], "ports": ports, **spec})


def endpoint_slice(slice_name, service_name, port_names, endpoints, target=a.POD_PORT):
    return objects.endpoint_slice(NAMESPACE, slice_name, service_name, a.V4,
                                  [port(one, target, "tcp") for one in port_names], endpoints)


def named_ports(names, first=1000):
    return [port(one, number, "tcp", targetPort=a.POD_PORT) for number, one in enumerate(names, first)]


def nowhere(count, first=0):
    """Endpoints without a pod."""
    return [bulk.nowhere(number) for number in range(first, first + count)]


class Tenant:
    """Writes objects of the namespace and deletes all of them at the end."""

    def __init__(self, t):
        self._t = t
        self._source = t.bench.source
        self._objects = {}
        self._number = t.bench.allocator.number()
        t.defer(self.clear)

    @property
    def ip(self):
        """A cluster IP for the Services of the tenant."""
        return a.Allocator.cluster_ip(self._number, a.V4)

    def put(self, *made):
        for one in made:
            self._objects[objects.key(one)] = one
        for first in range(0, len(made), BATCH):
            self._source.put_raw(*made[first:first + BATCH])

    def delete(self, *made):
        for one in made:
            self._objects.pop(objects.key(one), None)
        self._source.delete(*made)

    def clear(self):
        self.delete(*list(self._objects.values()))

    def rewrite(self, count, ports=50):
        """Rewrites one Service with new port names, and its slice with new names of nodes, zones and ports, `count` times. Every
        tenth time it also creates and deletes a Service and a slice with new names."""
        made = []
        for number in range(count):
            names = [name() for _ in range(ports)]
            made += [service("rewritten", self.ip, named_ports(names)), self._random_slice("rewritten-1", names[:2])]
            if number % 10 == 0:
                self.put(*made)
                made = []
                passing = [service(name(), a.Allocator.cluster_ip(self._number, a.V4), named_ports([name()], 900)),
                           self._random_slice(name(), [name()])]
                self.put(*passing)
                self.delete(*passing)
        self.put(*made)

    @staticmethod
    def _random_slice(slice_name, port_names):
        endpoints = [objects.Endpoint(a.E2, node_name=name(), zones=(name(), name()), nodes=(name(),),
                                      address=bulk.nowhere(number).address) for number in range(10)]
        made = endpoint_slice(slice_name, "rewritten", port_names, endpoints)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        made["metadata"]["annotations"] = {"endpoints.kubernetes.io/last-change-trigger-time": now}
        return made


class Flood:
    """Writes the result of `make()` at most `rate` times per second on a separate connection, one request at a time. Runs from
    entry until exit."""

    def __init__(self, t, make, rate):
        self._source = t.bench.source
        self._make = make
        self._pause = 1 / rate
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._error = None
        self.writes = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()
        if self._error:
            raise self._error

    def _work(self):
        try:
            writer = self._source.writer()
            while not self._stopped.wait(self._pause):
                writer(self._make())
                self.writes += 1
        except Exception as error:  # pylint: disable=broad-except  # reported on exit, in the test's own thread
            self._error = error


# Measurements.


def memory_kib(t):
    """Resident anonymous memory: the kernel may drop and reload file-backed pages at any time."""
    with open(f"/proc/{t.bench.daemon.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))


class LogWatch:
    """The log lines of the daemon since the creation of this object."""

    def __init__(self, t):
        self._daemon = t.bench.daemon
        self._at = os.path.getsize(self._daemon.log_path)
        self._began = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self._began

    def lines(self):
        with open(self._daemon.log_path, "rb") as file:
            file.seek(self._at)
            return file.read().decode(errors="replace").splitlines()


def series(t):
    """Names and labels of all exported series."""
    text = metrics.scrape(t).text
    return {line.rpartition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
