#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests nodes in emulated machines without a machine: their network, and the calls between host and machine. Prints TAP."""

import http.server
import socket
import subprocess
import sys
import threading
import types

sys.dont_write_bytecode = True

import machine_guest  # noqa: E402
from lib import netns_http, network, proxies, shell  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402
from lib.layout import Layout  # noqa: E402
from lib.machine_node import MachineNode  # noqa: E402
from selftest import equal, rejected, run, true  # noqa: E402

_tests = []


def test(title):
    def register(function):
        _tests.append((title, function))
        return function

    return register


@test("a tap on the switch instead of a pair of interfaces; the same addresses and routes")
def machines(folder):
    layout, ordinary = Layout(folder, 2, kernel="6.1"), Layout(folder, 2)
    layout.save()
    equal(Layout.load(folder).kernel, "6.1", "kernel")
    lines = network.commands(layout)
    equal([line for line in lines["outside"] if " n1" in line], ["tuntap add dev n1 mode tap", "link set n1 master br0 up"], "n1")
    true("link add cp type veth" in "\n".join(lines["outside"]), "the control plane is in no machine")
    equal(lines["n1"], network.commands(ordinary)["n1"], "commands of n1")
    equal([type(node) for node in Cluster(layout, KubePrograms(folder)).nodes], [MachineNode] * 2, "nodes")


@test("calls of a node in a machine have the result of the node inside, and its errors")
def machine_calls(folder):
    def run_program(*argv, stdin, check, timeout):
        equal((check, timeout), (False, 7), "arguments")
        return subprocess.CompletedProcess(argv, len(argv), stdin, "why")

    def start_proxy(proxy, wait):
        started.append((str(proxy), proxy.settings, wait))

    def stop_proxy(_clean_up):
        raise ClusterError("n1: the proxy does not stop")

    started, before = [], netns_http.connect_in
    inside = types.SimpleNamespace(run=run_program, start_proxy=start_proxy, stop_proxy=stop_proxy,
                                   get=lambda *words: " ".join(map(str, words)))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), machine_guest.handler(machine_guest.Calls(inside)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    netns_http.connect_in = lambda _namespace, _address, timeout: socket.create_connection(server.server_address, timeout)
    try:
        node = MachineNode(Layout(folder, 1, kernel="6.1"), KubePrograms(folder), 1)
        done = node.run("a", "b", stdin="text", check=False, timeout=7)
        equal((done.returncode, done.stdout, done.stderr), (2, "text", "why"), "run")
        try:
            node.run("a", "b", stdin="", timeout=7)
            raise AssertionError("no error of a program that fails")
        except shell.CommandFailed as error:
            equal(str(error), "n1: a b: exit 2: why", "error of run")
        equal(node.get(80, "/path"), "80 /path 127.0.0.1", "get")
        proxy = proxies.KubeProxy("ipvs")
        proxy.settings = {"bindAddress": "::"}
        node.start_proxy(proxy)
        equal(started, [("kube-proxy ipvs", {"bindAddress": "::"}, True)], "proxies")
        rejected(node.stop_proxy, "n1: the proxy does not stop")
    finally:
        netns_http.connect_in = before
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    sys.exit(run(_tests))
