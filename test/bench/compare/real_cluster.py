# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A real etcd and kube-apiserver with N Services of M endpoints each, all of which one pod answers.

Most objects are copies in etcd (stored_objects). Endpoints stand in EndpointSlices of at most 100, as Kubernetes writes them.
The last slice of the last Service is the *probe*: single changes replace all of its endpoints. A change of the churn replaces the
first endpoint of another slice.
"""

import json
import os
import ssl
import threading
import time

import paths  # noqa: F401  # pylint: disable=unused-import
from cluster import (AFTER, BEFORE, MOST_ENDPOINTS, NAMESPACE, SERVICES, SLICES, Client, endpoint_slice, node,
                     service, service_ip, service_name, udp_service)
from lib.control_plane import ETCD
from lib.fleet_network import PORT, SERVER_IP, FleetLayout
from lib.fleet_server import Server
from network import POD_IP, POD_PORT, BenchError, set_namespace
from process import own_cpu_seconds
from stored_objects import Writer, as_stored

SLICE_SIZE = 100
WORKERS = 6
CREATE_SECONDS = 600
CACHE_SECONDS = 300
IP_ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
FIRST_NODE_PORT, LAST_NODE_PORT = 30000, 30001
UDP_IP, UDP_PORT = "10.98.0.53", 53
CHURNED = 200  # slices
CHURN_CONNECTIONS = 8


class WideLayout(FleetLayout):
    """With enough cluster IPs; a /12 is the largest range that the API server accepts."""

    @property
    def service_cidrs(self):
        return ["10.96.0.0/12"]


class RealCluster:
    """REQUIRES: this program is in namespaces of its own (lib.fleet_sandbox), in the network of the API server."""

    def __init__(self, folder, programs, services, endpoints):
        if services * endpoints > MOST_ENDPOINTS:
            raise BenchError(f"{services} Services of {endpoints} endpoints: more than {MOST_ENDPOINTS} in all")
        self.services, self.endpoints = services, endpoints
        self.layout = WideLayout(folder)
        self._server = Server(self.layout, programs)
        self._parts = -(-endpoints // SLICE_SIZE)
        self._probe_place = BEFORE
        self._churned = 0  # changes sent so far, which the next churn continues, so that each changes something
        self.api = None

    def __enter__(self):
        self._server.__enter__()
        try:
            self.api = self.client()
            self.api.connect()
            self._create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._server.__exit__()

    @property
    def kubeconfig(self):
        return str(self.layout.kubeconfig("proxy"))

    def version(self):
        return self._server.version()

    def cpu_seconds(self):
        """Of API server and etcd."""
        return own_cpu_seconds(self._server.pid) + own_cpu_seconds(self._server.etcd_pid)

    def client(self, user="admin"):
        tls = ssl.create_default_context(cafile=self.layout.pki / "ca.crt")
        tls.load_cert_chain(self.layout.pki / f"{user}.crt", self.layout.pki / f"{user}.key")
        return Client(SERVER_IP, PORT, tls)

    # Objects.

    @property
    def slices(self):
        return self.services * self._parts

    def slice(self, number, place=BEFORE, first=None):
        """The slice with that number, all endpoints in 10.<place>.0.0; the first one in 10.<first>.0.0."""
        owner, part = divmod(number, self._parts)
        begin = owner * self.endpoints + part * SLICE_SIZE
        end = min(begin + SLICE_SIZE, (owner + 1) * self.endpoints)
        places = [(place, one) for one in range(begin, end)]
        if first is not None:
            places[0] = (first, begin)
        return endpoint_slice(service_name(owner), places, part)

    def probe_ip(self):
        return service_ip(self.services - 1)

    def turn_probe(self):
        """The next body of the probe, and the endpoints that answer once a proxy has it."""
        self._probe_place = AFTER if self._probe_place == BEFORE else BEFORE
        body = self.slice(self.slices - 1, self._probe_place)
        return body, {one["addresses"][0] for one in body["endpoints"]}

    def _service(self, number):
        made = service(service_name(number), service_ip(number))
        ports = {self.services - 1: LAST_NODE_PORT, 0: FIRST_NODE_PORT}
        if number in ports:
            made["spec"]["type"] = "NodePort"
            made["spec"]["ports"][0]["nodePort"] = ports[number]
        return made

    def _create(self):
        self.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.api.call("POST", "/api/v1/nodes", node())
        self._create_udp()
        created = [self.api.call("POST", SERVICES, self._service(number)) for number in range(min(2, self.services))]
        sliced = self.api.call("POST", SLICES, self.slice(0))
        address = self.api.call("GET", f"{IP_ADDRESSES}/{service_ip(0)}")
        workers = [Forked(self._copy, created[-1], address, sliced, range(2 + share, self.services - 1, WORKERS),
                          range(1 + share, self.slices - 1, WORKERS)) for share in range(WORKERS)]
        for worker in workers:
            worker.result(CREATE_SECONDS)
        # Clients see the last ones after all others. Only the API server can give a node port.
        if self.services > 2:
            self.api.call("POST", SERVICES, self._service(self.services - 1))
        if self.slices > 1:
            self.api.call("POST", SLICES, self.slice(self.slices - 1))
        self._require(SERVICES, self.services, self._service(self.services - 1))
        self._require(SLICES, self.slices, self.slice(self.slices - 1))

    def _create_udp(self):
        """One Service for datagrams, with the pod itself as the endpoint: an UDP server answers from that address."""
        made = udp_service("datagrams", [UDP_IP])
        made["spec"]["ports"][0] |= {"port": UDP_PORT, "targetPort": POD_PORT}
        self.api.call("POST", SERVICES, made)
        made = endpoint_slice("datagrams", [(BEFORE, 0)])
        made["endpoints"][0]["addresses"] = [POD_IP]
        made["ports"] = [{"name": "dns", "protocol": "UDP", "port": POD_PORT}]
        self.api.call("POST", SLICES, made)

    def _copy(self, created, address, sliced, services, slices):
        writer = Writer(ETCD)
        for number in services:
            ip, body = service_ip(number), self._service(number)
            body["spec"]["clusterIPs"] = [ip]
            writer.put(as_stored(address, {"metadata": {"name": ip}, "spec": {
                "parentRef": address["spec"]["parentRef"] | {"name": service_name(number)}}}))
            writer.put(as_stored(created, body))
        for number in slices:
            writer.put(as_stored(sliced, self.slice(number)))
        writer.flush()

    def _require(self, path, count, last):
        """The API server has these objects, and that for datagrams; waits until it serves all of them from its cache."""
        found = self.api.call("GET", f"{path}?limit=1")
        have = len(found["items"]) + found["metadata"].get("remainingItemCount", 0)
        if have != count + 1:
            raise BenchError(f"the API server has {have} objects of {count + 1} at {path}")
        end = time.monotonic() + CACHE_SECONDS
        while self.api.call("GET", f"{path}?resourceVersion=0&fieldSelector=metadata.name={last['metadata']['name']}")["items"] == []:
            if time.monotonic() > end:
                raise BenchError(f"after {CACHE_SECONDS} s the cache of the API server lacks {last['metadata']['name']}")
            time.sleep(0.2)  # poll interval

    # Churn.

    def churn(self, rate, seconds, home):
        """Starts changes in a process of its own, in the network namespace `home`; result(): (changes, seconds)."""
        others = range(1, self.slices - 1)
        numbers = others[::max(1, len(others) // CHURNED)][:CHURNED]
        if not numbers:
            raise BenchError("churn needs at least three EndpointSlices")
        bodies = [[self.slice(number, first=place) for number in numbers] for place in (AFTER, BEFORE)]
        begin, changes = self._churned, int(rate * seconds)
        self._churned += changes

        def work():
            set_namespace(home)
            return self._send(bodies, begin, changes, rate)

        return Forked(work)

    def _send(self, bodies, begin, changes, rate):
        slots, failures = iter(range(changes)), []
        lock = threading.Lock()
        began = time.monotonic()

        def run():
            client = self.client()
            try:
                while True:
                    with lock:
                        slot = next(slots, None)
                    if slot is None:
                        return
                    time.sleep(max(0.0, began + slot / rate - time.monotonic()))  # fixed time: the rate of changes
                    turn, number = divmod(begin + slot, len(bodies[0]))
                    client.send_slice(bodies[turn % 2][number])
                    client.answer()
            except (OSError, BenchError) as error:
                failures.append(str(error))

        threads = [threading.Thread(target=run) for _ in range(CHURN_CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise BenchError(f"changes could not be sent: {failures[0]}")
        return changes, time.monotonic() - began


class Forked:
    """Runs a function in a child process, so that it does not compete with measurements for Python's lock."""

    def __init__(self, work, *arguments):
        self._reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(writing)
            self._done = None
            return
        status, text = 0, b""
        try:
            text = json.dumps(work(*arguments)).encode()
        except BaseException as error:  # pylint: disable=broad-except  # reported to the parent
            status, text = 1, str(error).encode()
        finally:
            os.write(writing, text[:4000])
            os._exit(status)

    @property
    def running(self):
        if self._done is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._done = status
        return self._done is None

    def result(self, seconds):
        end = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > end:
                os.kill(self._pid, 9)
                os.waitpid(self._pid, 0)
                raise BenchError(f"not done after {seconds:.0f} s")
            time.sleep(0.01)  # poll interval
        text = os.read(self._reading, 4096).decode()
        os.close(self._reading)
        if self._done:
            raise BenchError(text or f"ended with status {self._done}")
        return json.loads(text)
