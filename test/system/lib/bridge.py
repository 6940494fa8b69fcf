# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A pod behind a Linux bridge of the node, as most CNI plugins connect pods."""

import contextlib
import json

from . import addresses as a
from .cases import Skip

BRIDGE, PORT = "cni0", f"veth{a.POD.name}"
CALL = {a.V4: "bridge-nf-call-iptables", a.V6: "bridge-nf-call-ip6tables"}


@contextlib.contextmanager
def pod_behind_bridge(t):
    """While packets on the bridge pass the rules of iptables, which Kubernetes requires."""
    seen = t.topology.run("node", "sysctl", "-n", f"net.bridge.{CALL[t.family]}", check=False)
    if seen.stdout.strip() != "1":
        raise Skip("packets on a bridge do not pass iptables here: br_netfilter is not loaded, or its sysctl is not 1")
    mac = {end: address(t, *end) for end in (("node", PORT), (a.POD.place, "eth0"))}
    pod_mac = mac[a.POD.place, "eth0"]
    t.topology.run("node", "ip", "link", "add", BRIDGE, "address", mac["node", PORT], "type", "bridge", "mcast_snooping", "0",
                   "forward_delay", "0")
    try:
        t.topology.run("node", "ip", "link", "set", PORT, "master", BRIDGE)
        t.topology.run("node", "ip", "link", "set", BRIDGE, "up")
        lead(t, BRIDGE, pod_mac)
        yield
    finally:
        lead(t, PORT, pod_mac)
        t.topology.run("node", "ip", "link", "del", BRIDGE)


def address(t, place, device):
    return json.loads(t.topology.run(place, "ip", "-json", "link", "show", "dev", device).stdout)[0]["address"]


def lead(t, device, mac):
    """Packets to the pod leave the node by that device."""
    for family in a.FAMILIES:
        ip = a.POD.ip(family)
        t.topology.run("node", "ip", "route", "replace", ip, "dev", device)
        t.topology.run("node", "ip", "neigh", "replace", ip, "lladdr", mac, "nud", "permanent", "dev", device)
