# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The API server of the tests with N Services of M endpoints each, every one of which a pod answers."""

import http.client
import json
import os
import ssl
import subprocess
import sys
import time

from network import NODE_IP, POD_PORT, BenchError, own_namespace, set_namespace
from patience import stretched
from process import own_cpu_seconds

NODE_NAME = "bench-node"
NAMESPACE = "bulk"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
SERVICE_PORT = 80
APISERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apiserver", "apiserver.py")
# Where endpoints are before and after a change of all or some of them, and those of Services that are added; these may
# be those of others, too.
BEFORE, AFTER, ADDED = 200, 204, 203
MOST_ENDPOINTS = (AFTER - BEFORE) << 16
KEPT_SECONDS = 15  # kube-apiserver was seen to close connections that were idle for less than a minute
# Longer on a slow machine.
START_PATIENCE = 30


def address(second_octet, number):
    """The number-th address counted from 10.<second_octet>.0.0, as the API server's bulk load counts."""
    return f"10.{second_octet + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def service_ip(number):
    return address(100, number)


def service_name(number):
    return f"svc-{number}"


class Cluster:
    """REQUIRES: the main thread is in the namespace of the node."""

    def __init__(self, directory, services, endpoints):
        if services * endpoints > MOST_ENDPOINTS:
            raise BenchError(f"{services} Services of {endpoints} endpoints: more than {MOST_ENDPOINTS} in all")
        self.services = services
        self.endpoints = endpoints
        self._tls = os.path.join(directory, "tls")
        self.kubeconfig = os.path.join(self._tls, "kubeconfig-cert")
        self._log_path = os.path.join(directory, "apiserver.log")
        ready = os.path.join(directory, "apiserver.url")
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, APISERVER, "--tls-dir", self._tls, "--ready-file", ready],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._port = self._wait_for_port(ready)
        self.api = self.client()
        self.api.call("POST", "/_test/bulk", {"services": services, "endpoints": endpoints, "namespace": NAMESPACE})
        self.api.call("POST", "/_test/load", {"objects": [node()]})

    def close(self):
        self._process.terminate()
        self._process.wait()

    def client(self):
        tls = ssl.create_default_context(cafile=os.path.join(self._tls, "ca.crt"))
        tls.load_cert_chain(os.path.join(self._tls, "client.crt"), os.path.join(self._tls, "client.key"))
        return Client("127.0.0.1", self._port, tls)

    def cpu_seconds(self):
        """The CPU time of the API server, which shares the processors with the subject."""
        return own_cpu_seconds(self._process.pid)

    def slice(self, number, places, extra=()):
        """The EndpointSlice of a Service; endpoint e stands in 10.<places[e]>.0.0, each of `extra` where its pair says."""
        first = number * self.endpoints
        return endpoint_slice(service_name(number), [*((place, first + e) for e, place in enumerate(places)), *extra])

    def added(self, number):
        """Service and EndpointSlice of the number-th Service that comes later, and its address."""
        name, cluster_ip = f"added-{number}", address(99, number)
        first = number * self.endpoints
        return service(name, cluster_ip), endpoint_slice(name, [(ADDED, first + e) for e in range(self.endpoints)]), cluster_ip

    def _wait_for_port(self, ready):
        end = time.monotonic() + stretched(START_PATIENCE)
        while not os.path.exists(ready):
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                with open(self._log_path, encoding="utf-8", errors="replace") as log:
                    raise BenchError(f"the API server of the tests did not start: {log.read().strip()}")
            time.sleep(0.02)  # poll interval
        with open(ready, encoding="ascii") as file:
            return int(file.read().strip().rpartition(":")[2])


class Client:
    """One connection to the API server at a time; each thread has its own."""

    def __init__(self, host, port, tls):
        self._connection = http.client.HTTPSConnection(host, port, timeout=300, context=tls)
        self._used = time.monotonic()
        self._place = None

    def connect(self):
        """Opens the connection in the network namespace of this thread; otherwise the first request does."""
        self._place = own_namespace()
        self._connection.connect()

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.answer()

    def send(self, method, path, body=None):
        """Sends a request and does not wait for the answer, which has to be read next."""
        text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        idle, self._used = time.monotonic() - self._used, time.monotonic()
        if self._place is None:
            self.connect()
        elif idle > KEPT_SECONDS:
            self._connect_again()
        self._connection.request(method, path, text, {"Content-Type": "application/json"})

    def _connect_again(self):
        """In the same namespace as before: this thread may be in one that ends earlier."""
        here = own_namespace()
        set_namespace(self._place)
        try:
            self._connection.close()
            self._connection.connect()
        finally:
            set_namespace(here)
            os.close(here)

    def answer(self):
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise BenchError(f"the API server says {answer.status}: {content[:300]!r}")
        return json.loads(content)

    def send_slice(self, body):
        self.send("PUT", f"{SLICES}/{body['metadata']['name']}", body)


def node():
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME}, "spec": {},
            "status": {"addresses": [{"type": "InternalIP", "address": NODE_IP}]}}


def service(name, cluster_ip):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"clusterIP": cluster_ip, "ports": [{"name": "http", "protocol": "TCP", "port": SERVICE_PORT,
                                                         "targetPort": POD_PORT}]}}


def udp_service(name, addresses):
    """A name server at these addresses."""
    made = service(name, addresses[0])
    made["spec"]["ports"] = [{"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53}]
    if addresses[1:]:
        made["spec"]["externalIPs"] = addresses[1:]
    return made


def udp_slice(owner, addresses):
    made = endpoint_slice(owner, [])
    made["ports"] = [{"name": "dns", "protocol": "UDP", "port": 53}]
    made["endpoints"] = [{"addresses": [one], "conditions": {"ready": True, "serving": True, "terminating": False}}
                         for one in addresses]
    return made


def endpoint_slice(owner, endpoints, part=0):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"namespace": NAMESPACE, "name": f"{owner}-{part}",
                         "labels": {"kubernetes.io/service-name": owner}},
            "ports": [{"name": "http", "protocol": "TCP", "port": POD_PORT}],
            "endpoints": [{"addresses": [address(place, number)], "nodeName": f"node-{number % 10}",
                           "conditions": {"ready": True, "serving": True, "terminating": False}}
                          for place, number in endpoints]}
