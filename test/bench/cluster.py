# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The API server of the tests with N Services × M endpoints, and two Services whose pods really answer."""

import http.client
import json
import os
import ssl
import subprocess
import sys
import time

from network import NODE_IP, POD_PORT, BenchError, pod_addresses

NODE_NAME = "bench-node"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}"
# Names that sort before and after all others, so that neither end of a sync is missed.
FIRST, LAST = ("aaa", "10.99.0.1"), ("zzz", "10.99.0.2")
SERVICE_PORT = 80
APISERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apiserver", "apiserver.py")


class Cluster:
    """REQUIRES: the main thread is in the namespace of the node."""

    def __init__(self, directory, services, endpoints):
        self.services = services
        self.endpoints = endpoints
        self._tls = os.path.join(directory, "tls")
        self.kubeconfig = os.path.join(self._tls, "kubeconfig-cert")
        ready = os.path.join(directory, "apiserver.url")
        with open(os.path.join(directory, "apiserver.log"), "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, APISERVER, "--tls-dir", self._tls, "--ready-file", ready],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 30
        while not os.path.exists(ready):
            if self._process.poll() is not None or time.monotonic() > end:
                raise BenchError("the API server did not start")
            time.sleep(0.02)
        with open(ready, encoding="ascii") as file:
            self._port = int(file.read().strip().rpartition(":")[2])
        self._connection = self._connect()
        self._load()

    def close(self):
        self._connection.close()
        self._process.terminate()
        self._process.wait()

    def last_cluster_ip(self):
        """Of the last of the N Services."""
        number = self.services - 1
        return f"10.{100 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"

    def point(self, service, pod):
        """Sends the change of one slice, all endpoints of another pod, and does not wait for the answer."""
        body = json.dumps(_slice(service[0], pod))
        self._connection.request("PUT", SLICES.format(service[0], service[0]), body, {"Content-Type": "application/json"})

    def answered(self):
        """Reads the answer to the last request."""
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise BenchError(f"the API server says {answer.status}: {content[:300]!r}")
        return json.loads(content)

    def slices(self, count):
        """The slices of `count` Services spread over the N, as the server has them."""
        numbers = range(0, self.services, max(1, self.services // count))
        return [self._call("GET", SLICES.format("bulk", f"svc-{number}-0")) for number in numbers]

    def put_slice(self, body):
        self._call("PUT", SLICES.format("bulk", body["metadata"]["name"]), body)

    def _load(self):
        self._call("POST", "/_test/bulk", {"services": self.services, "endpoints": self.endpoints})
        made = [_node()]
        for service in (FIRST, LAST):
            made += [_service(*service), _slice(service[0], "pod-a")]
        self._call("POST", "/_test/load", {"objects": made})

    def _call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"Content-Type": "application/json"})
        return self.answered()

    def _connect(self):
        tls = ssl.create_default_context(cafile=os.path.join(self._tls, "ca.crt"))
        tls.load_cert_chain(os.path.join(self._tls, "client.crt"), os.path.join(self._tls, "client.key"))
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=120, context=tls)


def _node():
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME}, "spec": {},
            "status": {"addresses": [{"type": "InternalIP", "address": NODE_IP}]}}


def _service(name, address):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": name, "name": name},
            "spec": {"clusterIP": address, "ports": [{"name": "http", "protocol": "TCP", "port": SERVICE_PORT,
                                                      "targetPort": POD_PORT}]}}


def _slice(name, pod):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"namespace": name, "name": name, "labels": {"kubernetes.io/service-name": name}},
            "ports": [{"name": "http", "protocol": "TCP", "port": POD_PORT}],
            "endpoints": [{"addresses": [address], "nodeName": NODE_NAME,
                           "conditions": {"ready": True, "serving": True, "terminating": False}}
                          for address in pod_addresses(pod)]}
