# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A user who may write every Service and EndpointSlice of one namespace and means harm: what it writes, and what is measured of
the daemon meanwhile."""

import datetime
import hashlib
import itertools
import os
import threading
import time

from . import addresses as a
from . import bulk, figures, objects
from .objects import port

CONFIG = "hostile-tenant"  # one daemon for the whole suite
LONG = os.environ.get("SLUICE_LONG", "0") != "0"
NAMESPACE = "aaa-hostile"  # before every other one in the order of names
MARK = "zqx"  # begins each random name, so that they can be found again
PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
BATCH = 20  # objects in one request to the test API server

_serial = itertools.count()


def settle(t):
    """As t.settle(), which waits for a change in a namespace of its own: with a minimum sync period, changes in busy namespaces may come
    later."""
    t.settle()
    t.wait_until(lambda: not figures.scrape(t).get("sluice_oldest_pending_change_age_seconds"), "no change is pending")


def restart(t):
    t.bench.daemon.stop()
    t.bench.start_daemon()
    settle(t)


def name():
    """Never the same twice, and the same ones in every run."""
    return MARK + hashlib.sha256(str(next(_serial)).encode()).hexdigest()[:17]


# What the tenant writes.


def service(service_name, ip, ports, **spec):
    return objects.service(NAMESPACE, service_name, {
        "type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"], "ports": ports, **spec})


def endpoint_slice(slice_name, service_name, port_names, endpoints, target=a.POD_PORT):
    return objects.endpoint_slice(NAMESPACE, slice_name, service_name, a.V4,
                                  [port(one, target, "tcp") for one in port_names], endpoints)


def named_ports(names, first=1000):
    return [port(one, number, "tcp", targetPort=a.POD_PORT) for number, one in enumerate(names, first)]


def nowhere(count, first=0):
    """Endpoints that no pod has."""
    return [bulk.nowhere(number) for number in range(first, first + count)]


class Tenant:
    """Writes the objects of the namespace, and deletes all of them at the end."""

    def __init__(self, t):
        self._t = t
        self._source = t.bench.source
        self._there = {}
        self._number = t.bench.allocator.number()
        t.defer(self.clear)

    @property
    def ip(self):
        """A cluster IP of its own."""
        return a.Allocator.cluster_ip(self._number, a.V4)

    def put(self, *made):
        for one in made:
            self._there[objects.key(one)] = one
        for first in range(0, len(made), BATCH):
            self._source.put_raw(*made[first:first + BATCH])

    def delete(self, *made):
        for one in made:
            self._there.pop(objects.key(one), None)
        self._source.delete(*made)

    def clear(self):
        self.delete(*list(self._there.values()))

    def rewrite(self, count, ports=50):
        """As many rewrites of one Service with other port names and of its slice with other names of nodes, zones and ports; now
        and then a Service and a slice come under another name, and go."""
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
    """Writes what `make()` returns again and again, at most `rate` times a second, on a connection of its own: the next request waits
    for the answer to the last one. Runs on entry until exit."""

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


# What is measured.


def memory_kib(t):
    """Resident and the daemon's own: pages of programs and libraries come and go as the kernel likes."""
    with open(f"/proc/{t.bench.daemon.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))


class LogWatch:
    """What the daemon has logged since."""

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
    """Names and labels of all series at the metrics address."""
    text = figures.scrape(t).text
    return {line.rpartition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
