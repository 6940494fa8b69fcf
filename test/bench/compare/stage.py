# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The network of one proxy: a node with a serving pod and a client pod, and a client outside the cluster. Two stages can
stand at the same time; the node of each reaches the API server by the bridge of this program's first network."""

import json
import os
import subprocess
import time
from contextlib import contextmanager

import paths  # noqa: F401  # pylint: disable=unused-import
from lib.fleet_network import BRIDGE
from network import NODE_IP, POD_PORT, BenchError, Network, open_namespace, run, set_namespace
from patience import stretched
from relay_network import EVERYWHERE, ON_NODES

NODE, CLIENT, OUTSIDE = "node", "client", "outside"
# Pods are in the range of the cluster; the node and the outside are not, so their packets are masqueraded.
CLUSTER_CIDR = "10.190.1.0/24"
CLIENT_IP, SOURCES = "10.190.1.2", [f"10.190.1.{number}" for number in range(16, 32)]
OUTSIDE_IP = "10.191.0.2"
SETTINGS = {**EVERYWHERE, "net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0"}
# Thousands of probes must not fill the table of connections: what a reset ended is forgotten soon.
NODE_SETTINGS = {**ON_NODES, "net.netfilter.nf_conntrack_tcp_timeout_close": "1", "net.netfilter.nf_conntrack_udp_timeout": "2",
                 "net.netfilter.nf_conntrack_udp_timeout_stream": "2"}


class Stage(Network):
    """Entered and left in the network of the API server; `inside` moves to a place."""

    def __init__(self, tools, number):
        super().__init__(os.path.join(tools, "netecho"), f"{number}-")
        self._number = number
        self._uplink = f"up{number}"
        self._relayload = os.path.join(tools, "relayload")
        self._places = {}

    def __enter__(self):
        home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        super().__enter__()  # it ends in the node
        set_namespace(home)
        self._places = {name: open_namespace(self._prefix + name) for name in (NODE, CLIENT, OUTSIDE)} | {"home": home}
        return self

    def __exit__(self, *arguments):
        for descriptor in self._places.values():
            os.close(descriptor)
        self._places = {}
        # The kernel removes a namespace later, after thousands of rules; the next stage has the same name for its link.
        subprocess.run(["ip", "link", "del", self._uplink], stderr=subprocess.DEVNULL, check=False)
        super().__exit__(*arguments)

    @property
    def home(self):
        return self._places["home"]

    def go(self, place):
        set_namespace(self._places[place])

    @contextmanager
    def inside(self, place):
        self.go(place)
        try:
            yield
        finally:
            self.go("home")

    def _build(self):
        super()._build()
        for place, address in ((CLIENT, CLIENT_IP), (OUTSIDE, OUTSIDE_IP)):
            space = self._prefix + place
            run("ip", "netns", "add", space)
            self._made.append(space)
            run("ip", "-n", self.node, "-batch", "-", stdin="\n".join([
                f"link add {place} type veth peer name eth0 netns {space}", f"addr add {NODE_IP}/32 dev {place}",
                f"link set {place} up", f"route add {address}/32 dev {place}",
                *(f"route add {source}/32 dev {place}" for source in SOURCES if place == CLIENT)]) + "\n")
            run("ip", "-n", space, "-batch", "-", stdin="\n".join([
                "link set lo up", f"addr add {address}/32 dev eth0", "link set eth0 up",
                *(f"addr add {source}/32 dev eth0" for source in SOURCES if place == CLIENT),
                f"route add {NODE_IP} dev eth0", f"route add default via {NODE_IP}"]) + "\n")
        run("ip", "-batch", "-", stdin=f"link add {self._uplink} type veth peer name api netns {self.node}\n"
            f"link set {self._uplink} master {BRIDGE} up\n")
        run("ip", "-n", self.node, "-batch", "-",
            stdin=f"addr add 172.30.1.{self._number}/16 dev api\nlink set api up\n")
        for space in self._made:
            settings = SETTINGS | (NODE_SETTINGS if space == self.node else {})
            run("ip", "netns", "exec", space, "sysctl", "-qw", *(f"{name}={value}" for name, value in settings.items()))

    # Load.

    def serve_load(self):
        self.serve(self._relayload, "serve", "--port", str(POD_PORT))

    def serve_names(self):
        """As after the start: answers name the endpoint."""
        self.serve(self._netecho, "serve", "--name", "pod", "--port", str(POD_PORT), "--tcp")

    def load(self, command, address, port, *options, seconds):
        """The results of one run of relayload in the client pod."""
        sources = [word for source in SOURCES for word in ("--source", source)]
        argv = ["ip", "netns", "exec", self._prefix + CLIENT, self._relayload, command, address, str(port), *sources,
                "--seconds", str(seconds), *options]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=seconds + stretched(60))
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"relayload {command} does not end") from error
        if done.returncode != 0:
            raise BenchError(f"relayload {command}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def wait_for_load(self, address, port):
        end = time.monotonic() + stretched(10)
        while self.load("connections", address, port, "--parallel", "1", seconds=0.02)["connections"] == 0:
            if time.monotonic() > end:
                raise BenchError(f"no answer from {address}:{port}")
            time.sleep(0.05)  # poll interval
