# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the kernel objects on the node that a data plane may consist of. Chains, tables, sets, links and virtual servers
have the names under which backends claim them. Addresses, routes, routing rules and queueing disciplines have no claims.

A snapshot maps names to texts. The difference of two snapshots shows which objects were created, changed or removed.
"""

import json
import os
import re
import shutil

from . import addresses as a
from .artifacts import SERVER_LINE
from .node_tools import NAMES

IPTABLES_TABLES = ("filter", "nat", "mangle", "raw", "security")
# Shared with kubelet, so it is never removed.
SHARED = re.compile(r"KUBE-FIREWALL|KUBE-MARK-DROP|KUBE-KUBELET-CANARY|KUBE-IPTABLES-HINT")
CLAIMED_KINDS = ("iptables", "ip6tables", "nft", "ipset", "link", "ipvs")
# Counters and expiry times.
VARYING = re.compile(r"\b(counter packets \d+ bytes \d+|expires [0-9smhd]+|packets \d+ bytes \d+)\b")


def take(topology):
    """A snapshot of all objects except those shared with kubelet."""
    return {**_netfilter(topology), **_sets(topology), **_links(topology), **_routing(topology), **_servers(topology)}


def difference(before, after):
    """Sorted pairs (name, change)."""
    return [(name, "appeared" if name not in before else "is gone" if name not in after else "changed")
            for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def describe(found, most=4):
    """A difference as text; empty if there is none."""
    names = [f"{name} {what}" for name, what in found[:most]]
    return "; ".join(names) + (f" and {len(found) - most} more" if len(found) > most else "")


def kind(name):
    return name.partition("/")[0]


def is_base_chain(name):
    """Whether it is a base chain of iptables, which all programs share and no backend owns."""
    return re.fullmatch(r"ip6?tables/\w+/(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING)", name) is not None


def covers(claim, name):
    return name.startswith(claim[:-1]) if claim.endswith("*") else name == claim


def _netfilter(topology):
    """Tables of nftables as a whole, and tables of iptables-nft by chain."""
    found, table, chain = {}, None, None
    for line in topology.run("node", "nft", "--stateless", "list", "ruleset").stdout.splitlines():
        begins = re.match(r"table (\w+) (\S+) \{", line)
        if begins:
            table, chain = begins.groups(), None
            if not _of_iptables(table):
                found[f"nft/{table[0]}/{table[1]}"] = ""
        elif table is None:
            continue
        elif _of_iptables(table):
            inner = re.match(r"\tchain (\S+) \{", line)
            if inner:
                chain = inner.group(1)
                found[_chain_name(table, chain)] = ""
            elif chain and line.startswith("\t\t") and not SHARED.search(line):
                found[_chain_name(table, chain)] += line.strip() + "\n"
        else:
            found[f"nft/{table[0]}/{table[1]}"] += VARYING.sub("", line).strip() + "\n"
    found.update(_of_legacy_iptables(topology))
    # A base chain without rules, which has only its hook, is ignored.
    return {name: text for name, text in found.items()
            if not SHARED.search(name) and not (is_base_chain(name) and not re.search(r"^(?!type ).", text, re.M))}


def _of_iptables(table):
    return table[0] in ("ip", "ip6") and table[1] in IPTABLES_TABLES


def _chain_name(table, chain):
    return f"{'iptables' if table[0] == 'ip' else 'ip6tables'}/{table[1]}/{chain}"


def _of_legacy_iptables(topology):
    found = {}
    for family, name in NAMES.items():
        path = f"/proc/net/ip{'6' if family == a.V6 else ''}_tables_names"
        tables = topology.run("node", "cat", path, check=False).stdout.split()
        if not tables or not shutil.which(f"{name}-legacy-save"):
            continue
        table = ""
        for line in topology.run("node", f"{name}-legacy-save").stdout.splitlines():
            if line.startswith("*"):
                table = line[1:]
            elif line.startswith(":"):
                found.setdefault(f"{name}/{table}/{line[1:].split()[0]}", "")
            elif line.startswith("-A ") and not SHARED.search(line):
                found[f"{name}/{table}/{line.split()[1]}"] += f"legacy {line}\n"
    return found


def _sets(topology):
    if not shutil.which("ipset"):
        return {}
    found = {}
    for line in topology.run("node", "ipset", "save", check=False).stdout.splitlines():
        words = line.split()
        if words[:1] in (["create"], ["add"]):
            name = f"ipset/{words[1]}"
            found[name] = found.get(name, "") + re.sub(r" (timeout|packets|bytes) \d+", "", line) + "\n"
    return found


def _links(topology):
    found = {}
    for link in json.loads(topology.run("node", "ip", "-json", "-details", "link").stdout):
        name = link["ifname"]
        attributes = {key: link.get(key) for key in ("mtu", "link_type", "address", "master", "xdp", "linkinfo")}
        if attributes["linkinfo"]:  # other members are counters and times
            attributes["linkinfo"] = attributes["linkinfo"].get("info_kind")
        if (attributes.get("xdp") or {}).get("mode") in (0, None):
            attributes["xdp"] = None
        found[f"link/{name}"] = json.dumps(attributes, sort_keys=True)
    for link in json.loads(topology.run("node", "ip", "-json", "address").stdout):
        for one in link["addr_info"]:
            if one.get("local") and one.get("scope") != "link":
                found[f"address/{link['ifname']}/{one['local']}/{one['prefixlen']}"] = str(one.get("scope"))
    listed = topology.run("node", "tc", "qdisc", "show", check=False).stdout if shutil.which("tc") else ""
    for line in listed.splitlines():
        device = re.search(r" dev (\S+)", line)
        if device and " noqueue " not in line:
            name = f"qdisc/{device.group(1)}"
            found[name] = found.get(name, "") + line + "\n"
    return found


def _routing(topology):
    found = {}
    for option in ("-4", "-6"):
        for what in (("route", "show", "table", "all"), ("rule",)):
            for line in topology.run("node", "ip", option, *what).stdout.splitlines():
                text = re.sub(r" (expires \d+sec|linkdown|dead)\b", "", line).strip()
                # The kernel creates these for addresses and links, which the snapshot contains.
                if not re.match(r"(multicast|anycast|broadcast|local|ff00::/8|fe80::)", text) and " proto kernel " not in text + " ":
                    found[f"{what[0]}/{option[1:]} {text}"] = ""
    return found


def _servers(topology):
    listed = topology.run("node", "cat", "/proc/net/ip_vs", check=False).stdout if os.path.exists("/proc/net/ip_vs") else ""
    lines = [line.split(" -> ")[0].strip() for line in listed.splitlines() if SERVER_LINE.match(line)]
    return {"ipvs/virtual-servers": "\n".join(lines)} if lines else {}
