# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Clients and servers of the traffic: network namespaces at the pod bridge of a node. For the proxy they are pods; they need
neither images nor kubelets, and EndpointSlices name them."""

import ipaddress

from . import addresses, netns_http, shell
from .layout import OUTSIDE, V4, V6

BRIDGE = "cni0"  # the CNI plugin uses a bridge of this name if there is one
FIRST = 200  # last number of the first address: the CNI plugin assigns the low ones
DEFAULT = {V4: "0.0.0.0/0", V6: "::/0"}


def _ips(by_family):
    """(v4, v6) of addresses in any order; an absent family is empty."""
    return tuple(next((ip for ip in by_family if (":" in ip) == six), "") for six in (False, True))


def outside(layout):
    """The host outside of all nodes."""
    return addresses.Host(OUTSIDE, *_ips(layout.outside_ips))


def node(layout, number):
    name = f"n{number}"
    return addresses.Host(name, *_ips(layout.node_ips(number)), node=name)


class PodHosts:
    """Creates hosts behind nodes; removes them on exit."""

    def __init__(self, layout):
        self._layout = layout
        self._numbers = {}
        self._namespaces = []
        self._links = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for namespace in self._namespaces:
            shell.run(["ip", "netns", "del", namespace], check=False)
        for where, link in self._links:
            shell.run(["ip", "-n", where, "link", "del", link], check=False)

    def add(self, name, number):
        """A host with that name behind node `number`."""
        layout, where = self._layout, self._layout.namespace(f"n{number}")
        self._make_bridge(number, where)
        last = self._numbers[number] = self._numbers.get(number, FIRST - 1) + 1
        networks = [ipaddress.ip_network(cidr) for cidr in layout.pod_cidrs(number)]
        host = addresses.Host(name, *_ips([str(network[last]) for network in networks]), node=f"n{number}")
        namespace, link = layout.namespace(name), f"t-{name}"
        shell.run(["ip", "netns", "add", namespace])
        self._namespaces.append(namespace)
        self._ip(where, f"link add {link} type veth peer name eth0 netns {namespace}", f"link set {link} master {BRIDGE} up",
                 f"link set {link} type bridge_slave hairpin on")
        self._links.append((where, link))
        commands = ["link set lo up"]
        # Single addresses, and no redirects: answers to a neighbour must pass through the node, which translates them.
        for network in networks:
            quick = " nodad" if network.version == 6 else ""
            commands.append(f"addr add {network[last]}/{network.max_prefixlen} dev eth0{quick}")
        commands.append("link set eth0 up")
        for family, network in zip(layout.families, networks):
            commands.append(f"route add {DEFAULT[family]} via {network[1]} dev eth0 onlink")
        netns_http.made_in(namespace, _refuse_redirects)
        self._ip(namespace, *commands)
        return host

    def _make_bridge(self, number, where):
        if shell.run(["ip", "-n", where, "link", "show", BRIDGE], check=False).returncode == 0:
            return
        commands = [f"link add {BRIDGE} type bridge forward_delay 0"]
        for network in (ipaddress.ip_network(cidr) for cidr in self._layout.pod_cidrs(number)):
            commands.append(f"addr add {network[1]}/{network.prefixlen} dev {BRIDGE}{' nodad' if network.version == 6 else ''}")
        self._ip(where, *commands, f"link set {BRIDGE} up")

    @staticmethod
    def _ip(where, *commands):
        shell.run(["ip", "-n", where, "-batch", "-"], stdin="\n".join(commands) + "\n")


def _refuse_redirects():
    for family in ("ipv4", "ipv6"):
        for device in ("all", "default", "eth0"):
            with open(f"/proc/sys/net/{family}/conf/{device}/accept_redirects", "w", encoding="ascii") as file:
                file.write("0")
