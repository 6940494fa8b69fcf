# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client and a server, and between them a node for each program: network namespaces joined by veth pairs."""

import json
import os
import subprocess
import time

from network import PREFIX, BenchError, end_at_signals, remove_leftovers, remove_namespace, run
from patience import stretched

SERVER_PORT = 9000
SERVICE_PORT = 80
CLUSTER_CIDR = "10.190.0.0/16"
# Enough for a hundred thousand connections a second while those before are in TIME_WAIT.
SOURCES = 16
START_PATIENCE = 10
# The same for all programs. Reuse of ports in TIME_WAIT and a wide range: else a fast program runs out of ports towards
# the one endpoint first. A short time-out of what is tracked: else the table is full after some rounds.
EVERYWHERE = {"net.core.somaxconn": "65535", "net.ipv4.tcp_max_syn_backlog": "65535", "net.ipv4.tcp_tw_reuse": "1",
              "net.ipv4.ip_local_port_range": "1024 65535"}
ON_NODES = {"net.ipv4.ip_forward": "1", "net.netfilter.nf_conntrack_tcp_timeout_time_wait": "1"}


class Node:
    """Where one program runs. Clients reach it at `service`, it reaches the server at `server`."""

    def __init__(self, prefix, number):
        self.namespace = f"{prefix}node{number}"
        self.client = f"10.190.{2 * number}.2"
        self.sources = [f"10.190.{2 * number}.{10 + n}" for n in range(SOURCES)]
        self.towards_client = f"10.190.{2 * number}.1"
        self.towards_server = f"10.190.{2 * number + 1}.1"
        self.server = f"10.190.{2 * number + 1}.2"
        self.service = f"10.96.{number}.1"
        self.link = f"node{number}"


class RelayNetwork:
    """The host is not changed: all programs are started inside the namespaces."""

    def __init__(self, relayload):
        self._relayload = relayload
        self._prefix = f"{PREFIX}{os.getpid()}-"
        self._made = []
        self._server = None
        self._nodes = 0
        self.client = self._prefix + "client"
        self.server = self._prefix + "server"

    def __enter__(self):
        if not os.access(self._relayload, os.X_OK):
            raise BenchError(f"{self._relayload} is missing; run make {os.path.relpath(self._relayload)}")
        remove_leftovers()
        end_at_signals()
        try:
            for space in (self.client, self.server):
                self._make(space, EVERYWHERE)
            self._server = subprocess.Popen(["ip", "netns", "exec", self.server, self._relayload, "serve", "--port",
                                             str(SERVER_PORT)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            if self._server.stdout.readline() != b"ready\n":
                raise BenchError("relayload serve does not start")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server.stdout.close()
        for namespace in self._made:
            remove_namespace(namespace)
        self._made.clear()

    def add_node(self):
        self._nodes += 1
        node = Node(self._prefix, self._nodes)
        self._make(node.namespace, {**EVERYWHERE, **ON_NODES})
        here = node.namespace
        run("ip", "-n", here, "-batch", "-", stdin="\n".join([
            f"link add client type veth peer name {node.link} netns {self.client}",
            f"link add server type veth peer name {node.link} netns {self.server}",
            f"addr add {node.towards_client}/24 dev client", f"addr add {node.towards_server}/24 dev server",
            "link set client up", "link set server up"]) + "\n")
        run("ip", "-n", self.client, "-batch", "-", stdin="\n".join([
            f"addr add {node.client}/24 dev {node.link}", f"link set {node.link} up",
            *(f"addr add {source}/24 dev {node.link}" for source in node.sources),
            f"route add {node.service} via {node.towards_client}",
            f"route add {node.server} via {node.towards_client}"]) + "\n")
        run("ip", "-n", self.server, "-batch", "-", stdin="\n".join([
            f"addr add {node.server}/24 dev {node.link}", f"link set {node.link} up",
            f"route add {node.client.rpartition('.')[0]}.0/24 via {node.towards_server}"]) + "\n")
        return node

    def load(self, node, target, command, *options, seconds):
        """The results of one run of relayload in the client's namespace."""
        done = subprocess.run([*self._client(node, target, command), "--seconds", str(seconds), *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + stretched(120))
        if done.returncode != 0:
            raise BenchError(f"relayload {command} {' '.join(options)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def idle(self, node, target, count):
        return Idle([*self._client(node, target, "idle"), "--open", str(count)])

    def wait_for(self, node, target, udp, alive):
        """Waits for the first answer. `alive` raises if the relay has ended."""
        end = time.monotonic() + stretched(START_PATIENCE)
        while True:
            try:
                if not udp:
                    self.idle(node, target, 1).end()
                    return
                if self.load(node, target, "udp", "--window", "1", seconds=0.02)["answered"] > 0:
                    return
            except BenchError:
                pass  # no listener yet
            alive()
            if time.monotonic() > end:
                raise BenchError(f"no answer within {START_PATIENCE} s")
            time.sleep(0.05)  # poll interval

    def _client(self, node, target, command):
        address, port = target
        sources = [word for source in node.sources for word in ("--source", source)]
        return ["ip", "netns", "exec", self.client, self._relayload, command, address, str(port), *sources]

    def _make(self, space, settings):
        run("ip", "netns", "add", space)
        self._made.append(space)
        run("ip", "-n", space, "link", "set", "lo", "up")
        run("ip", "netns", "exec", space, "sysctl", "-qw", *(f"{name}={value}" for name, value in settings.items()))


class Idle:
    """Open connections that stay idle until end() makes all of them send again."""

    def __init__(self, argv):
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True)
        if not self._process.stdout.readline():
            raise BenchError(f"relayload idle: {self._process.communicate()[1].strip()}")

    def end(self):
        out, _ = self._process.communicate(timeout=stretched(120))
        try:
            said = json.loads(out)
        except ValueError as error:
            raise BenchError("idle connections were lost") from error
        if said["answered"] != said["open"]:
            raise BenchError(f"only {said['answered']} of {said['open']} idle connections still answer")
