# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The network of a cluster: one switch, to which the control plane, the nodes and a place outside the cluster are connected."""

import os

from . import processes, shell
from .layout import CONTROL_PLANE, LAN_PREFIX, OUTSIDE, SERVICE_CIDR, V4, V6

SWITCH = "br0"
DEFAULT = {V4: "0.0.0.0/0", V6: "::/0"}
NODE_SYSCTLS = {
    "net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.conf.default.rp_filter": 0,
}
QUICK_SYSCTLS = {"net.ipv6.conf.all.accept_dad": 0, "net.ipv6.conf.default.accept_dad": 0, "net.ipv6.conf.default.accept_ra": 0}


def family_of(address):
    return V6 if ":" in address else V4


def addresses(layout):
    """Addresses on the switch, by place."""
    found = {OUTSIDE: layout.outside_ips, CONTROL_PLANE: layout.control_plane_ips}
    return found | {name: layout.node_ips(number) for number, name in enumerate(layout.nodes, 1)}


def commands(layout):
    """The commands of `ip` for each place, in order; those of the switch come first, because it creates the links."""
    switch = [f"link add {SWITCH} type bridge mcast_snooping 0 forward_delay 0", f"link set {SWITCH} up"]
    found = {OUTSIDE: switch}
    for place, ips in addresses(layout).items():
        device = SWITCH if place == OUTSIDE else "eth0"
        if place != OUTSIDE:
            switch += [_link(layout, place), f"link set {place} master {SWITCH} up"]
        own = found.setdefault(place, [])
        own += ["link set lo up", f"link set {device} up"]
        own += [f"addr add {ip}/{LAN_PREFIX[family_of(ip)]} dev {device}{' nodad' if ':' in ip else ''}" for ip in ips]
        own += _routes(layout, place)
    return found


def _link(layout, place):
    if in_machine(layout, place):
        return f"tuntap add dev {place} mode tap"
    return f"link add {place} type veth peer name eth0 netns {layout.namespace(place)}"


def in_machine(layout, place):
    """Whether the place is in an emulated machine."""
    return bool(layout.kernel) and place in layout.nodes


def _routes(layout, place):
    """Pods of other nodes, and outside as the default route; the control plane reaches cluster IPs through the first node."""
    for number, name in enumerate(layout.nodes, 1):
        if name != place:
            for cidr, ip in zip(layout.pod_cidrs(number), layout.node_ips(number)):
                yield f"route add {cidr} via {ip}"
    if place == CONTROL_PLANE and layout.nodes:
        for family, ip in zip(layout.families, layout.node_ips(1)):
            yield f"route add {SERVICE_CIDR[family]} via {ip}"
    if place != OUTSIDE:
        for family, ip in zip(layout.families, layout.outside_ips):
            yield f"route add {DEFAULT[family]} via {ip}"


def build(layout):
    places = [place for place in addresses(layout) if not in_machine(layout, place)]
    shell.run(["ip", "-batch", "-"], stdin="".join(f"netns add {layout.namespace(place)}\n" for place in places))
    for place in places:
        _set_sysctls(layout, place)
    lines = commands(layout)
    for place in places:
        _configure(layout, place, lines[place])


def build_in_machine(layout, place):
    """The network namespace of a node, in the emulated machine whose eth0 it gets."""
    shell.run(["ip", "netns", "add", layout.namespace(place)])
    _set_sysctls(layout, place)
    shell.run(["ip", "link", "set", "eth0", "netns", layout.namespace(place)])
    _configure(layout, place, commands(layout)[place])


def _set_sysctls(layout, place):
    settings = QUICK_SYSCTLS | (NODE_SYSCTLS if place in layout.nodes else {})
    words = [f"{name}={value}" for name, value in settings.items()]
    shell.run(shell.inside(layout.namespace(place), ["sysctl", "-qw", *words]))


def _configure(layout, place, lines):
    shell.run(["ip", "-n", layout.namespace(place), "-batch", "-"], stdin="\n".join(lines) + "\n")


def existing(layout):
    """Network namespaces of this cluster, also of a run that was killed."""
    names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    return [name for name in names if name.startswith(layout.prefix)]


def remove(layout):
    """Ends all processes in the network namespaces, and removes the namespaces."""
    names = existing(layout)
    if not names:
        return
    inodes = {os.stat(f"/run/netns/{name}").st_ino for name in names}
    processes.kill(processes.in_network(inodes))
    shell.run(["ip", "-force", "-batch", "-"], stdin="".join(f"netns del {name}\n" for name in names))
