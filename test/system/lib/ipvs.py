# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel state of ipvs mode on the node, as ipvsadm, ipset, ip and iptables-save list it."""

import dataclasses
import re

from . import addresses as a
from . import foreign, metrics

LINK = "kube-ipvs0"
WORD = {"-t": "TCP", "-u": "UDP", "--sctp-service": "SCTP"}
OPTION = {"tcp": "-t", "udp": "-u", "sctp": "--sctp-service"}

# Names without the prefix KUBE-, which is KUBE-6- for IPv6; truncated at 31 characters.
SETS = {
    "LOOP-BACK": "hash:ip,port,ip", "CLUSTER-IP": "hash:ip,port", "EXTERNAL-IP": "hash:ip,port",
    "EXTERNAL-IP-LOCAL": "hash:ip,port", "LOAD-BALANCER": "hash:ip,port", "LOAD-BALANCER-FW": "hash:ip,port",
    "LOAD-BALANCER-LOCAL": "hash:ip,port", "LOAD-BALANCER-SOURCE-IP": "hash:ip,port,ip",
    "LOAD-BALANCER-SOURCE-CIDR": "hash:ip,port,net", "NODE-PORT-TCP": "bitmap:port", "NODE-PORT-LOCAL-TCP": "bitmap:port",
    "NODE-PORT-UDP": "bitmap:port", "NODE-PORT-LOCAL-UDP": "bitmap:port", "NODE-PORT-SCTP-HASH": "hash:ip,port",
    "NODE-PORT-LOCAL-SCTP-HASH": "hash:ip,port", "HEALTH-CHECK-NODE-PORT": "bitmap:port", "IPVS-IPS": "hash:ip",
    "NODE-PORT-IPS": "hash:ip",  # kube-proxy does not have it
}


@dataclasses.dataclass
class VirtualServer:
    scheduler: str
    options: str  # "-p 10800", "" …
    real: dict  # "10.180.0.1:80" → weight
    ways: dict = dataclasses.field(default_factory=dict, compare=False)  # "10.180.0.1:80" → other options: "-m"


@dataclasses.dataclass(frozen=True)
class Connections:
    weight: int
    active: int
    inactive: int


def where(ip, port):
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def key(front):
    """In the notation of BEH: 172.30.0.41:80/TCP."""
    return f"{where(front.ip, front.port)}/{front.protocol.upper()}"


def real(t, host, port=a.POD_PORT):
    return where(host.ip(t.family), port)


def adm(t, *words, check=True):
    return t.topology.run("node", "ipvsadm", *words, check=check).stdout


def set_name(name, family):
    return f"KUBE-{name}" if family == a.V4 else f"KUBE-6-{name}"[:31]


def servers(t):
    """All virtual servers of the node in both address families."""
    found, current = {}, None
    for line in adm(t, "-Sn").splitlines():
        words = line.split()
        if words[0] == "-A":
            current = VirtualServer(words[words.index("-s") + 1], " ".join(words[words.index("-s") + 2:]), {})
            found[f"{words[2]}/{WORD.get(words[1], words[1])}"] = current
        elif words[0] == "-a":
            name, at = words[words.index("-r") + 1], words.index("-w")
            current.real[name] = int(words[at + 1])
            current.ways[name] = " ".join(words[words.index("-r") + 2:at] + words[at + 2:])
    return found


def weights(t, front):
    """Real servers of one virtual server with their weights; None if the virtual server does not exist."""
    found = servers(t).get(key(front))
    return None if found is None else found.real


def connections(t, front):
    """Counters of each real server of one virtual server."""
    found = {}
    for line in adm(t, "-Ln", OPTION[front.protocol], where(front.ip, front.port), check=False).splitlines():
        words = line.split()
        if words[:1] == ["->"] and words[1] != "RemoteAddress:Port":
            found[words[1]] = Connections(int(words[3]), int(words[4]), int(words[5]))
    return found


def saved_sets(t):
    """Name → entries of all sets on the node."""
    found = {}
    for line in t.topology.run("node", "ipset", "save").stdout.splitlines():
        words = line.split()
        if words[0] == "create":
            found[words[1]] = set()
        elif words[0] == "add":
            found[words[1]].add(" ".join(words[2:]))
    return found


def entries(t, name, family=None):
    """The entries of a set of Sluice; empty if the set is missing."""
    return saved_sets(t).get(set_name(name, family or t.family), set())


def entry(front):
    return f"{front.ip},{front.protocol}:{front.port}"


def bound(t, link=LINK):
    """Addresses with prefix lengths of the link; empty if the link is missing."""
    done = t.topology.run("node", "ip", "-o", "address", "show", "dev", link, check=False)
    return set(re.findall(r"inet6? (\S+)", done.stdout))


def on_link(front):
    return f"{front.ip}/{128 if ':' in front.ip else 32}"


def has_link(t):
    return t.topology.run("node", "ip", "link", "show", "dev", LINK, check=False).returncode == 0


def sysctl(t, name):
    return t.topology.run("node", "sysctl", "-n", name).stdout.strip()


def dump(t, weights=True):
    """Sorted lines for all virtual servers, real servers, sets, entries and addresses, then the rules of both families in order.
    Values that depend on history (hash sizes of sets, counters) are excluded."""
    lines = []
    for name, server in servers(t).items():
        lines.append(f"server {name} {server.scheduler} {server.options}".rstrip())
        lines += [f"server {name} real {one} {server.ways[one]}" + (f" weight {weight}" if weights else "")
                  for one, weight in server.real.items()]
    for line in t.topology.run("node", "ipset", "save").stdout.splitlines():
        lines.append(re.sub(r" (hashsize|maxelem|bucketsize|initval) \S+", "", line))
    lines += [f"address {one}" for one in bound(t)]
    if has_link(t):
        lines.append(f"link {LINK}")
    return sorted(lines) + [f"rule {family} {line}" for family in a.FAMILIES for line in foreign.saved(t.topology, family)
                            if "KUBE-" in line]


def difference(before, after, most=6):
    """The differences between two dumps; empty if there are none."""
    old, new = set(before), set(after)
    changed = [f"- {line}" for line in before if line not in new] + [f"+ {line}" for line in after if line not in old]
    if not changed and before != after:
        changed = ["the order of rules"]
    return " | ".join(changed[:most]) + (f" and {len(changed) - most} more" if len(changed) > most else "")


def about(lines, *addresses):
    """The lines that contain one of these addresses."""
    edge = r"[0-9a-f:]" if ":" in addresses[0] else r"[\d.]"
    pattern = re.compile("|".join(rf"(?<!{edge}){re.escape(one)}(?!{edge})" for one in addresses))
    return [line for line in lines if pattern.search(line)]


def kernel_writes(t):
    """Number of messages and rule lines that transactions have written since the start of the daemon, both families together."""
    return metrics.scrape(t).count("sluice_kernel_writes_total")


def all_writes(t):
    """The same, and the number of all netlink messages, including those that list kernel state."""
    now = metrics.scrape(t)
    return now.count("sluice_kernel_writes_total"), now.count("sluice_ipvs_messages_total")
