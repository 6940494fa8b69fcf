# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What there is on the node that a data plane could be made of, by the names under which it would be claimed: chains, tables,
sets, links and virtual servers; and what has no claim of its own: addresses, routes, rules of routing, queueing disciplines.

A snapshot is a dictionary of names and texts. Two of them tell what was made, changed or removed, whoever did it.
"""

import json
import os
import re
import shutil

from . import addresses as a
from .artifacts import SERVER_LINE
from .node_tools import NAMES

IPTABLES_TABLES = ("filter", "nat", "mangle", "raw", "security")
# Kubelet's, too: whoever made it first, it stays.
SHARED = re.compile(r"KUBE-FIREWALL|KUBE-MARK-DROP|KUBE-KUBELET-CANARY|KUBE-IPTABLES-HINT")
CLAIMED_KINDS = ("iptables", "ip6tables", "nft", "ipset", "link", "ipvs")
# Counters, and times that run.
PASSING = re.compile(r"\b(counter packets \d+ bytes \d+|expires [0-9smhd]+|packets \d+ bytes \d+)\b")


def take(topology):
    """Everything; names that are shared with kubelet are left out."""
    return {**_netfilter(topology), **_sets(topology), **_links(topology), **_routing(topology), **_servers(topology)}


def difference(before, after):
    """(name, what happened to it), sorted."""
    return [(name, "appeared" if name not in before else "is gone" if name not in after else "changed")
            for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def said(found, most=4):
    """A difference in words; empty when there is none."""
    names = [f"{name} {what}" for name, what in found[:most]]
    return "; ".join(names) + (f" and {len(found) - most} more" if len(found) > most else "")


def kind(name):
    return name.partition("/")[0]


def is_base_chain(name):
    """One that the kernel calls: everybody's rules stand there, nobody owns it."""
    return re.fullmatch(r"ip6?tables/\w+/(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING)", name) is not None


def covers(claim, name):
    return name.startswith(claim[:-1]) if claim.endswith("*") else name == claim


def _netfilter(topology):
    """Tables of nftables, each as a whole; those that iptables made chain by chain."""
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
            found[f"nft/{table[0]}/{table[1]}"] += PASSING.sub("", line).strip() + "\n"
    found.update(_of_old_iptables(topology))
    # Of a base chain without a rule of anybody nothing is left but its hook.
    return {name: text for name, text in found.items()
            if not SHARED.search(name) and not (is_base_chain(name) and not re.search(r"^(?!type ).", text, re.M))}


def _of_iptables(table):
    return table[0] in ("ip", "ip6") and table[1] in IPTABLES_TABLES


def _chain_name(table, chain):
    return f"{'iptables' if table[0] == 'ip' else 'ip6tables'}/{table[1]}/{chain}"


def _of_old_iptables(topology):
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
        told = {key: link.get(key) for key in ("mtu", "link_type", "address", "master", "xdp", "linkinfo")}
        if told["linkinfo"]:  # the rest counts and times
            told["linkinfo"] = told["linkinfo"].get("info_kind")
        if (told.get("xdp") or {}).get("mode") in (0, None):
            told["xdp"] = None
        found[f"link/{name}"] = json.dumps(told, sort_keys=True)
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
                # The kernel makes them with addresses and links, which are here already.
                if not re.match(r"(multicast|anycast|broadcast|local|ff00::/8|fe80::)", text) and " proto kernel " not in text + " ":
                    found[f"{what[0]}/{option[1:]} {text}"] = ""
    return found


def _servers(topology):
    listed = topology.run("node", "cat", "/proc/net/ip_vs", check=False).stdout if os.path.exists("/proc/net/ip_vs") else ""
    lines = [line.split(" -> ")[0].strip() for line in listed.splitlines() if SERVER_LINE.match(line)]
    return {"ipvs/virtual-servers": "\n".join(lines)} if lines else {}
