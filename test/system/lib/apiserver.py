# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A test API server on the second node: its objects, and faults on request.

The server listens in `node2`. The daemon reaches it over the network, and a test can cut the connection (`gate`)
without a change to the rules of the node under test.
"""

import itertools
import json
import os
import ssl
import threading
import time

from . import addresses as a
from . import forked, netns_http, objects, pace, shared_certificates, shell

PORT = 6443
FIRST_VERSION = 100_000  # resource version of the first start; the second starts at twice that, and so on
COLLECTIONS = {
    "Service": "/api/v1/namespaces/{}/services",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
    "Node": "/api/v1/nodes",
    "ServiceCIDR": "/apis/networking.k8s.io/v1/servicecidrs",
}
GATE = ["INPUT", "-i", "eth0", "-p", "tcp", "--dport", str(PORT), "-j", "REJECT", "--reject-with", "tcp-reset"]


class ApiSource:
    name = "apiserver"
    passes = 1  # watch events are ordered

    def __init__(self, topology, programs, directory):
        self._topology = topology
        self._programs = programs
        self.tls_dir = os.path.join(directory, "pki")
        self._ready_file = os.path.join(directory, "apiserver.ready")
        self._log_path = os.path.join(directory, "apiserver.log")
        self._stored = {}
        self._lock = threading.RLock()
        self._connection = None
        self._process = None
        self._starts = itertools.count(1)
        shared_certificates.start_with(self.tls_dir, self._start)

    def daemon_flags(self, kubeconfig="kubeconfig-cert"):
        return ["--kubeconfig", os.path.join(self.tls_dir, kubeconfig)]

    # Objects.

    def put(self, *made):
        """Creates or replaces objects, including their status."""
        with self._lock:
            for one in made:
                self._stored[objects.key(one)] = one
            self.admin("load", {"items": list(made)})

    def put_raw(self, *made):
        """Stores objects without defaults and validation."""
        with self._lock:
            self.admin("load", {"items": list(made), "raw": True})

    def writer(self):
        """Returns a function that stores objects like put_raw() on a separate connection; a restart of the server loses them."""
        connection = self._connect()

        def write(made):
            connection.request("POST", "/_test/load", json.dumps({"items": made, "raw": True}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise shell.CommandFailed(f"load: {answer.status} {content[:300]!r}")

        return write

    def delete(self, *made):
        with self._lock:
            for one in made:
                kind, namespace, name = objects.key(one)
                self._stored.pop((kind, namespace, name), None)
                # After a rollback the server may not know the object.
                self._request("DELETE", f"{COLLECTIONS[kind].format(namespace)}/{name}", accepted=(404,))

    # Faults.

    def admin(self, command, body):
        return self._request("POST", f"/_test/{command}", body)

    def admin_get(self, what):
        return self._request("GET", f"/_test/{what}")

    def rotate_client(self, publish):
        """Creates a new client certificate and calls publish(); after that the server rejects all earlier ones."""
        with self._lock:
            self.admin("certificate", {"name": "client"})
            publish()
            self.admin("certificate", {"name": "client", "revoke_others": True, "issue": False})
            self._connection = None

    def fault(self, **fault):
        self.admin("fault", fault)

    def clear_faults(self):
        self._request("DELETE", "/_test/fault")

    def faults(self):
        """The pending faults; `hits` counts the requests that each has affected."""
        return self._request("GET", "/_test/fault")["faults"]

    def cut(self, how="abrupt"):
        """Closes running watches: a fault affects a watch only when it is opened again."""
        self.admin("cut", {"how": how})

    def disconnect(self):
        """Ends all responses in progress, including stalled ones, and closes held connections."""
        self.admin("disconnect", {})

    def requests(self, since=0):
        """(requests from that number on, number of the next request)."""
        answer = self._request("GET", f"/_test/requests?since={since}")
        return answer["requests"], answer["next"]

    def get(self, path):
        """The response to GET."""
        return self._request("GET", path)

    def reads(self):
        """The number of lists and watches that the daemon has begun."""
        counts = self._request("GET", "/_test/stats")["requests"]
        return sum(counts.get(f"{verb} {kind}", 0) for verb in ("list", "watch") for kind in ("services", "endpointslices"))

    def version(self):
        """The newest resource version."""
        return self._request("GET", "/_test/stats")["resourceVersion"]

    def gate(self, closed):
        """While closed, new connections from the node are reset."""
        self._topology.run("node2", "iptables-nft", "-w", "-I" if closed else "-D", *GATE)

    def blackhole(self, closed):
        """While closed, packets between the node and the server are dropped without a reset or an ICMP error."""
        for chain, device, end in (("INPUT", "-i", "--dport"), ("OUTPUT", "-o", "--sport")):
            # The rule may have been removed already.
            self._topology.run("node2", "iptables-nft", "-w", "-I" if closed else "-D", chain, device, "eth0",
                               "-p", "tcp", end, str(PORT), "-j", "DROP", check=closed)

    def stop(self):
        shell.stop(self._process)

    def restart(self, down_seconds=1.0):
        """Stops the server, and starts it with the same objects and increasing resource versions, as with etcd."""
        self.stop()
        # The daemon must not list before the new server has its objects.
        self.gate(True)
        time.sleep(down_seconds)  # fixed time: how long the server is down
        self._start()
        with self._lock:
            if self._stored:
                self.admin("load", {"items": list(self._stored.values())})
        self.gate(False)

    def close(self):
        self.stop()

    def _start(self):
        if os.path.exists(self._ready_file):
            os.unlink(self._ready_file)
        self._process = forked.Server(self._programs.apiserver, self._topology.namespace("node2"), self._log_path, [
            "--listen", f"0.0.0.0:{PORT}", "--advertise", a.NODE2.v4, "--san", a.NODE2.v4, "--tls-dir", self.tls_dir,
            "--first-resource-version", str(FIRST_VERSION * next(self._starts)), "--ready-file", self._ready_file])
        shell.wait_ready(self._process, self._ready_file, f"the API server (see {self._log_path})")
        self._connection = None

    def _request(self, method, path, body=None, accepted=()):
        text = json.dumps(body) if body is not None else None
        with self._lock:
            for fresh in (False, True):
                if fresh or self._connection is None:
                    self._connection = self._connect()
                if self._connection.sock is not None:
                    self._connection.sock.settimeout(pace.stretched(netns_http.PATIENCE))
                try:
                    self._connection.request(method, path, text, {"Content-Type": "application/json"})
                    answer = self._connection.getresponse()
                    content = answer.read()
                    break
                except OSError:
                    # The server may have closed the idle connection.
                    if fresh:
                        raise
        if answer.status >= 300 and answer.status not in accepted:
            raise shell.CommandFailed(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content)

    def _connect(self):
        tls = ssl.create_default_context(cafile=os.path.join(self.tls_dir, "ca.crt"))
        tls.load_cert_chain(os.path.join(self.tls_dir, "client.crt"), os.path.join(self.tls_dir, "client.key"))
        namespace = self._topology.namespace("node2")
        return netns_http.NamespaceConnection(namespace, "127.0.0.1", PORT, tls)
