# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of backends in the kernel, and their owners according to the ownership ledger. An object without an owner is leftover
state."""

import json
import os
import re
import socket
import struct

from . import addresses as a
from . import foreign, leftovers, netns_http
from .node_tools import NAMES

# Shared with kubelet, so it is never removed.
SHARED = {f"{name}/filter/KUBE-FIREWALL" for name in NAMES.values()}
# Tables of iptables-nft, which no backend owns as a whole.
SHARED_TABLES = {f"{family} {table}" for family in ("ip", "ip6") for table in ("filter", "nat", "mangle", "raw", "security")}
# linux/netlink.h, linux/sock_diag.h, net/tcp_states.h
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, TCP_LISTEN = 4, 20, 10
NLM_F_REQUEST, NLM_F_DUMP, NLMSG_ERROR, NLMSG_DONE = 0x1, 0x300, 2, 3
SERVER_LINE = re.compile(r"^(TCP|UDP|SCTP|FWM) ")


def ownership_ledger(state_dir):
    """(backend, family, artifacts) of each claim that the daemon has saved."""
    with open(os.path.join(state_dir, "claims.json"), encoding="utf-8") as file:
        return [(one["backend"], one["family"], one["artifacts"]) for one in json.load(file)["claims"]]


def present(topology):
    """Names of all backend objects on the node, as backends claim them."""
    found = set()
    for family in a.FAMILIES:
        table = ""
        for line in foreign.saved(topology, family):
            if line.startswith("*"):
                table = line[1:]
            elif line.startswith(":KUBE-"):
                found.add(f"{NAMES[family]}/{table}/{line[1:].split()[0]}")
    found |= {"nft/" + table.replace(" ", "/") for table in leftovers.tables(topology) if table not in SHARED_TABLES}
    found |= {f"ipset/{name}" for name in leftovers.sets(topology)}
    if leftovers.has_link(topology):
        found.add(f"link/{leftovers.LINK}")
    if _has_virtual_servers(topology):
        found.add("ipvs/virtual-servers")
    return found - SHARED


def _has_virtual_servers(topology):
    listed = topology.run("node", "cat", "/proc/net/ip_vs", check=False)
    return any(SERVER_LINE.match(line) for line in listed.stdout.splitlines())


def orphans(topology, state_dir):
    """Names of the objects that no backend has claimed."""
    claims = [artifact for _, _, artifacts in ownership_ledger(state_dir) for artifact in artifacts]
    return sorted(one for one in present(topology) if not any(_covers(claim, one) for claim in claims))


def _covers(claim, artifact):
    return artifact.startswith(claim[:-1]) if claim.endswith("*") else artifact == claim


def owners(state_dir):
    """The backends with a claim in the ownership ledger."""
    return {backend for backend, _, artifacts in ownership_ledger(state_dir) if artifacts}


def listening_ports(pid):
    """The TCP ports that a process listens on in its network namespace."""
    sockets = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{number}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            sockets.add(int(target[8:-1]))
    return {port for inode, port in netns_http.made_in(f"/proc/{pid}/ns/net", _listening_sockets) if inode in sockets}


def _listening_sockets():
    """(inode, port) of each TCP socket that listens in the network namespace of this thread. To read /proc/net/tcp, the kernel
    walks a table with the connections of all namespaces."""
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as one:
        for family in (socket.AF_INET, socket.AF_INET6):
            request = struct.pack("=BBxxI48x", family, socket.IPPROTO_TCP, 1 << TCP_LISTEN)  # inet_diag_req_v2
            one.send(struct.pack("=IHHII", 16 + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0) + request)
            found += _sockets_of_dump(one)
    return found


def _sockets_of_dump(one):
    while True:
        data = one.recv(1 << 16)
        while data:
            length, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                number = -struct.unpack_from("=i", data, 16)[0]
                raise OSError(number, os.strerror(number), "sockets that listen")
            # inet_diag_msg
            yield struct.unpack_from("=I", data, 16 + 68)[0], struct.unpack_from(">H", data, 16 + 4)[0]
            data = data[(length + 3) & ~3:]


def process_resources(pid):
    """Resources that a swap could leak: memory in KiB, file descriptors, mapped shared objects."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        mapped = {tuple(line.split()[3:5]) for line in file if ".so" in line}
    return {"KiB": resident, "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "shared objects": len(mapped)}
