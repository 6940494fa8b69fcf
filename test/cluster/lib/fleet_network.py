# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The network of a fleet: a bridge with the API server's address, and one network namespace for each member."""

from dataclasses import dataclass
from pathlib import Path

from . import shell
from .layout import Layout

BRIDGE, SERVER_IP, PREFIX = "br0", "172.30.0.1", 16
PORT = 6443
MOST_MEMBERS = 1000  # the kernel allows 1023 ports of a bridge


class FleetLayout(Layout):
    """The layout of a control plane without nodes, at the address of the bridge."""

    def __init__(self, folder):
        super().__init__(folder, nodes=0, families="ipv4")

    @property
    def control_plane_ips(self):
        return [SERVER_IP]


def member_ip(number):
    return f"172.30.{1 + number // 250}.{1 + number % 250}"


def namespace(number):
    return f"m{number}"


def build_bridge():
    shell.run(["ip", "-batch", "-"], stdin=f"""link set lo up
link add {BRIDGE} type bridge mcast_snooping 0 forward_delay 0
link set {BRIDGE} addrgenmode none
link set {BRIDGE} up
addr add {SERVER_IP}/{PREFIX} dev {BRIDGE}
""")


def add_members(numbers):
    """Namespaces with the interface eth0, whose peer v<number> is a port of the bridge."""
    lines = [f"netns add {namespace(number)}\n" for number in numbers]
    for number in numbers:
        lines += [f"link add v{number} type veth peer name eth0 netns {namespace(number)}\n",
                  f"link set v{number} addrgenmode none master {BRIDGE} up\n"]
    shell.run(["ip", "-batch", "-"], stdin="".join(lines), timeout=300)
    for number in numbers:
        shell.run(["ip", "-n", namespace(number), "-batch", "-"], stdin=f"""link set lo up
link set eth0 addrgenmode none up
addr add {member_ip(number)}/{PREFIX} dev eth0
route add default via {SERVER_IP}
""")


def remove_members(numbers):
    # The kernel removes a namespace and its interfaces later, but a link at once; the next fleet has the same names.
    lines = "".join(f"link del v{number}\nnetns del {namespace(number)}\n" for number in numbers)
    shell.run(["ip", "-force", "-batch", "-"], stdin=lines, timeout=300)


@dataclass
class Bytes:
    """Bytes of Ethernet frames that members received from the API server, and sent to it."""

    received: int = 0
    sent: int = 0
    packets: int = 0

    def __sub__(self, other):
        return Bytes(self.received - other.received, self.sent - other.sent, self.packets - other.packets)


def traffic(numbers):
    """Bytes of these members together. The bridge's ports count: they receive what a member sends."""
    wanted = {f"v{number}" for number in numbers}
    total = Bytes()
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        name, _, rest = line.partition(":")
        if name.strip() in wanted:
            fields = [int(word) for word in rest.split()]
            total.sent += fields[0]
            total.received += fields[8]
            total.packets += fields[1] + fields[9]
    return total


def connections():
    """Established connections to the API server, by the address of the member."""
    found = {}
    lines = shell.run(["ss", "-Htn", "state", "established", "sport", "=", f":{PORT}"]).stdout.splitlines()
    for line in lines:
        peer = line.split()[-1].rpartition(":")[0].strip("[]").removeprefix("::ffff:")
        found[peer] = found.get(peer, 0) + 1
    return found
