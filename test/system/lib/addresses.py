# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The addresses of the test network, and the allocator of Service addresses.

The addresses are those of the conformance fixture: node 192.168.0.2 with a second address 192.168.1.2,
pods in 10.0.0.0/8, a local pod 10.0.0.2, endpoints 10.180.0.1 (local) and 10.180.2.1 (remote), an
outside client 203.0.113.2. Every IPv4 address has an IPv6 counterpart.
"""

import dataclasses
import itertools
import threading

V4, V6 = "v4", "v6"
FAMILIES = (V4, V6)

CLUSTER_CIDR = {V4: "10.0.0.0/8", V6: "fd00:10::/48"}
SERVICE_CIDR = {V4: "172.30.0.0/16", V6: "fd00:172:30::/64"}
EXTERNAL_IPS = {V4: "192.168.96.0/19", V6: "fd00:192:99::/64"}
VIPS = {V4: "1.2.0.0/16", V6: "fd00:1:2::/64"}
LOOPBACK = {V4: "127.0.0.1", V6: "::1"}

NODE_NAME = "node-1"
OTHER_NODE_NAME = "node-2"
ZONE = "a"


@dataclasses.dataclass(frozen=True)
class Host:
    """A host with a network namespace; its server answers with `name`."""

    name: str
    v4: str
    v6: str
    node: str = ""  # the Kubernetes node a pod runs on
    namespace: str = ""  # set if it shares the namespace of another host

    def ip(self, family):
        return self.v4 if family == V4 else self.v6

    @property
    def place(self):
        return self.namespace or self.name


NODE = Host("node", "192.168.0.2", "fd00:192:168::2")
NODE_SECOND = Host("node-second", "192.168.1.2", "fd00:192:169::2", namespace="node")
NODE2 = Host("node2", "192.168.0.3", "fd00:192:168::3")
NEIGHBOUR = Host("neighbour", "192.168.0.4", "fd00:192:168::4")
OUTSIDE = Host("outside", "192.168.0.1", "fd00:192:168::1")
EXT = Host("client", "203.0.113.2", "2001:db8:113::2")
EXT_OTHER = Host("client-other", "203.0.113.130", "2001:db8:113:8000::2", namespace="client")

POD = Host("pod", "10.0.0.2", "fd00:10::2", NODE_NAME)
E1 = Host("e1", "10.180.0.1", "fd00:10:0:180::1", NODE_NAME)
E4 = Host("e4", "10.180.0.2", "fd00:10:0:180::2", NODE_NAME)
E2 = Host("e2", "10.180.2.1", "fd00:10:0:182::1", OTHER_NODE_NAME)
E3 = Host("e3", "10.180.2.2", "fd00:10:0:182::2", OTHER_NODE_NAME)

LOCAL_PODS = (POD, E1, E4)
REMOTE_PODS = (E2, E3)

POD_PORT = 80  # answered by "<pod>"
ALT_PORT = 443  # answered by "<pod>-alt", which shows the target port that was reached


def node_addresses(family):
    return {NODE.ip(family), NODE_SECOND.ip(family)}

LAST_NUMBER = 2767  # node port 32767


class Allocator:
    """Allocates unique Service addresses and node ports, so that cases can run in parallel."""

    def __init__(self, first=1):
        self._numbers = itertools.count(first)
        self._lock = threading.Lock()

    def number(self):
        with self._lock:
            number = next(self._numbers)
        if number > LAST_NUMBER:
            raise OverflowError("more Services than there are node ports: split the run with --filter or --source")
        return number

    @staticmethod
    def cluster_ip(number, family):
        return f"172.30.{number >> 8}.{number & 255}" if family == V4 else f"fd00:172:30::{number:x}"

    @staticmethod
    def external_ip(number, family):
        return f"192.168.{99 + (number >> 8)}.{number & 255}" if family == V4 else f"fd00:192:99::{number:x}"

    @staticmethod
    def vip(number, family):
        return f"1.2.{3 + (number >> 8)}.{number & 255}" if family == V4 else f"fd00:1:2::{number:x}"

    @staticmethod
    def node_port(number):
        return 30000 + number
