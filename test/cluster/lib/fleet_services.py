# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Services and EndpointSlices of a fleet, and their churn."""

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from .failure import ClusterError

NAMESPACE = "default"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
WORKERS = 8
RENAMED = 0.05  # share of changes that replace a Service by a new one


def endpoint_address(number):
    """Addresses 10.128.0.1 to 10.255.255.254, each used once."""
    return f"10.{128 + number // 64516}.{number // 254 % 254}.{1 + number % 254}"


def service(name):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}}


def endpoint_slice(name, addresses):
    """As the controller of kube-controller-manager writes them."""
    endpoints = [{"addresses": [address], "conditions": {"ready": True, "serving": True, "terminating": False},
                  "nodeName": f"node-{index}", "zone": f"zone-{index % 3}",
                  "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": f"{name}-6f7c9d8b54-{address.replace('.', '-')}",
                                "uid": f"00000000-0000-4000-8000-{index:012d}"}} for index, address in enumerate(addresses)]
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name, "app": name,
                                                         "endpointslice.kubernetes.io/managed-by": "fleet.test"}},
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints}


class Services:
    """The current state: name → (cluster IP, endpoint addresses)."""

    def __init__(self, api, endpoints):
        self._api, self._endpoints = api, endpoints
        self._addresses, self._names = itertools.count(), itertools.count()
        self._lock = threading.Lock()
        self.state = {}

    def create(self, count):
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda _: self._add(), range(count)))

    def _fresh(self):
        with self._lock:
            return [endpoint_address(next(self._addresses)) for _ in range(self._endpoints)]

    def _add(self):
        with self._lock:
            name = f"service-{next(self._names):05d}"
        made = self._api.must("POST", SERVICES, service(name))
        ip = made.partition('"clusterIP":"')[2].partition('"')[0]
        addresses = self._fresh()
        self._api.must("POST", SLICES, endpoint_slice(name, addresses))
        with self._lock:
            self.state[name] = (ip, addresses)

    def _take(self):
        """A Service for one change; nothing else changes it meanwhile."""
        with self._lock:
            name = random.choice(list(self.state))
            return name, self.state.pop(name)

    def change(self):
        """One changed EndpointSlice; returns the number of watch events."""
        name, (ip, _) = self._take()
        addresses = self._fresh()
        self._api.must("PUT", f"{SLICES}/{name}-1", endpoint_slice(name, addresses))
        with self._lock:
            self.state[name] = (ip, addresses)
        return 1

    def replace(self):
        """A deleted Service with its EndpointSlice, and a new one; returns the number of watch events."""
        name, _ = self._take()
        self._api.must("DELETE", f"{SLICES}/{name}-1")
        self._api.must("DELETE", f"{SERVICES}/{name}")
        self._add()
        return 4

    def churn(self, rate, seconds, replaced=0.0):
        """Changes at that rate; returns (changes, events, seconds taken)."""
        changes = int(rate * seconds)
        slots, events, failures = itertools.count(), itertools.count(), []
        begun = time.monotonic()

        def work():
            try:
                for slot in slots:
                    if slot >= changes:
                        return
                    time.sleep(max(0.0, begun + slot / rate - time.monotonic()))  # fixed time: the pace of the churn
                    for _ in range(self.replace() if random.random() < replaced else self.change()):
                        next(events)
            except Exception as error:  # pylint: disable=broad-except  # raised again in the caller's thread
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise ClusterError(f"churn failed: {failures[0]}")
        return changes, next(events), time.monotonic() - begun

    def cluster_ips(self):
        return {ip for ip, _ in self.state.values()}

    def endpoint_addresses(self):
        return {address for _, addresses in self.state.values() for address in addresses}
