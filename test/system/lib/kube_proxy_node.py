# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node on which kube-proxy has run: loads the state that it left (test/fixtures/kube-proxy) into the kernel of the node, as if it
had just been stopped, and performs the writes of its start on a node with state of another proxy."""

import json
import os
import re
import socket
import struct

from . import addresses as a
from . import leftovers, netns_http, pace, shell
from .services import Front

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "kube-proxy")
RELEASE = "1.36"
STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "migrating.md")
COUNTERS = ("ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts")
TOOLS = {a.V4: "iptables", a.V6: "ip6tables"}
IPX = {a.V4: "ip", a.V6: "ip6"}
SERVICE_CHAIN = re.compile(r"KUBE-(SVC|SVL|EXT|FW|SEP)-[A-Z2-7]{16}")
# As kube-proxy sets them in ipvs mode.
IPVS_SYSCTLS = ("net.ipv4.vs.conntrack=1", "net.ipv4.vs.expire_nodest_conn=1", "net.ipv4.vs.expire_quiescent_template=1")
# Attributes of a set that the kernel chooses.
_SET_ATTRIBUTES = re.compile(r" (initval 0x[0-9a-f]+|hashsize \d+|bucketsize \d+|maxelem \d+)")
_PORTAL = re.compile(r"-A KUBE-(PORTALS|NODEPORT)-(CONTAINER|HOST) ")
_HELD = ("-A KUBE-NODEPORT-NON-LOCAL ", "-A KUBE-PORTALS-FIREWALL ")


def objects():
    with open(os.path.join(FOLDER, "objects.json"), encoding="utf-8") as file:
        return json.load(file)["items"]


def front(name, family, kind="cluster", port=None):
    """The address and port of that Service ("shop/cart"); kind is "cluster", "vip", "external" or "node"."""
    found = next(one for one in objects() if one["kind"] == "Service" and
                 f"{one['metadata']['namespace']}/{one['metadata']['name']}" == name)
    spec = found["spec"]
    one = next(entry for entry in spec["ports"] if port in (None, entry["name"]))
    addresses = {"cluster": spec["clusterIPs"], "external": spec.get("externalIPs", []), "node": [a.NODE.v4, a.NODE.v6],
                 "vip": [entry["ip"] for entry in found["status"]["loadBalancer"].get("ingress", [])]}[kind]
    ip = next(ip for ip in addresses if (":" in ip) == (family == a.V6))
    return Front(ip, one["nodePort"] if kind == "node" else one["port"], one["protocol"].lower())


# The state that kube-proxy leaves.


def load(t, mode, release=RELEASE):
    """Loads the state that kube-proxy leaves in that mode into a node without proxy state."""
    {"iptables": _load_iptables, "nftables": _load_nftables, "ipvs": _load_ipvs}[mode](t, release)


def _load_iptables(t, release):
    _add_counters(t)
    _load_rules(t, release, "iptables")


def _load_nftables(t, release):
    t.topology.run("node", "nft", "-f", "-", stdin=_text(release, "nftables", "nft-list-ruleset.nft"))


def _load_ipvs(t, release):
    for setting in IPVS_SYSCTLS:
        t.topology.run("node", "sysctl", "-qw", setting)
    t.topology.run("node", "ip", "link", "add", leftovers.LINK, "type", "dummy")
    batch = [f"address add {one} dev {leftovers.LINK}\n" for one in _addresses(_text(release, "ipvs", "ip-addr-kube-ipvs0.txt"))]
    t.topology.run("node", "ip", "-batch", "-", stdin="".join(batch))
    t.topology.run("node", "ipset", "restore", stdin=_text(release, "ipvs", "ipset-save.txt"))
    _load_rules(t, release, "ipvs")
    t.topology.run("node", "ipvsadm", "-R", stdin=_text(release, "ipvs", "ipvsadm-save.txt"))


def _load_rules(t, release, mode):
    for family, tool in TOOLS.items():
        t.topology.run("node", t.topology.tools.program(family, "-restore"), "-w", "--noflush", stdin=_text(release, mode, f"{tool}-save.txt"))


# The current state and the dumped state, as lines that can be compared.


def node_state(t, mode):
    """Sorted lines of all objects on the node that kube-proxy creates in that mode."""
    if mode == "nftables":
        return _names(t.topology.run("node", "nft", "list", "ruleset").stdout)
    lines = [f"{family}: {line}" for family in a.FAMILIES for line in _saved(t, family)]
    if mode == "ipvs":
        run = t.topology.run
        lines += _ipvs_lines(run("node", "ipset", "save").stdout, run("node", "ipvsadm", "-S", "-n").stdout,
                             run("node", "ip", "addr", "show", leftovers.LINK, check=False).stdout)
    return sorted(lines)


def dumped_state(mode, release=RELEASE):
    """The same lines for the dump."""
    if mode == "nftables":
        return _names(_text(release, mode, "nft-list-ruleset.nft"))
    lines = [f"{family}: {line}" for family, tool in TOOLS.items() for line in _ours(_text(release, mode, f"{tool}-save.txt"))]
    if mode == "ipvs":
        lines += _ipvs_lines(*(_text(release, mode, name) for name in ("ipset-save.txt", "ipvsadm-save.txt", "ip-addr-kube-ipvs0.txt")))
    return sorted(lines)


def _saved(t, family):
    """While another process removes sets, iptables-save may fail at a rule with a missing set, so it is retried."""
    done = None

    def saved():
        nonlocal done
        done = t.topology.run("node", t.topology.tools.program(family, "-save"), check=False)
        return done.returncode == 0

    if not pace.wait_until(saved, 10):
        raise shell.CommandFailed(f"iptables-save: {done.stderr.strip()}")
    return _ours(done.stdout)


def _ours(text):
    """Chains and rules without KUBE-FIREWALL, which kubelet shares, and without the ports of relays, which the kernel chooses."""
    lines = (re.sub(r" \[\d+:\d+\]$", "", line) for line in text.splitlines())
    lines = (re.sub(r"(--to-ports |--to-destination \S+:)\d+", r"\1", line) if _PORTAL.match(line) else line for line in lines)
    lines = (re.sub(r"--dport \d+", "", line) if line.startswith(_HELD) else line for line in lines)
    return [line for line in lines if "KUBE-" in line and "KUBE-FIREWALL" not in line]


def _ipvs_lines(sets, servers, link):
    return ([_SET_ATTRIBUTES.sub("", line) for line in sets.splitlines() if " KUBE-" in line] + servers.splitlines() + _addresses(link))


def _addresses(text):
    """The addresses in the output of `ip address`."""
    return [line.split()[1] for line in text.splitlines() if line.split()[:1] in (["inet"], ["inet6"]) and "scope link" not in line]


def _names(text):
    """Names of the chains, sets and maps in tables named kube-proxy, each with its table."""
    lines, table = [], ""
    for line in text.splitlines():
        words = line.split()
        if line.startswith("table "):
            table = f"{words[1]} {words[2]}"
        if table.endswith(" kube-proxy") and words[:1] and words[0] in ("table", "chain", "set", "map"):
            lines.append(f"{table}: {words[0]} {words[1]}")
    return sorted(lines)


# The start of kube-proxy.


def first_sync(t, mode, release=RELEASE):
    """Performs the writes of its first sync on a node with state of another proxy (BEH 5.2, 5.11, 6.2, 7.4), in order."""
    {"iptables": _sync_iptables, "nftables": _sync_nftables, "ipvs": _sync_ipvs}[mode](t, release)


def _sync_iptables(t, release):
    _add_counters(t)
    for family, tool in TOOLS.items():
        program = t.topology.tools.program(family)
        for table in ("mangle", "nat", "filter"):
            t.topology.run("node", program, "-w", "-t", table, "-N", "KUBE-PROXY-CANARY", check=False)
        _ensure_jumps(t, release, "iptables", program, tool)
        text = _text(release, "iptables", f"{tool}-restore.txt")
        wanted = {one.group() for one in SERVICE_CHAIN.finditer(text)}
        saved = t.topology.run("node", f"{program}-save", "-t", "nat").stdout
        stale = {line[1:].split()[0] for line in saved.splitlines() if line.startswith(":")}
        stale = sorted(chain for chain in stale if SERVICE_CHAIN.fullmatch(chain) and chain not in wanted)
        head, nat = text.split("*nat\n")
        nat = "".join(f":{chain} - [0:0]\n" for chain in stale) + nat.removesuffix("COMMIT\n") + "".join(f"-X {chain}\n" for chain in stale)
        t.topology.run("node", f"{program}-restore", "-w", "--noflush", "--counters", stdin=f"{head}*nat\n{nat}COMMIT\n")


def _sync_nftables(t, release):
    for family in a.FAMILIES:
        t.topology.run("node", "nft", "-f", "-", stdin=_text(release, "nftables", f"first-sync-{IPX[family]}.nft"))
        _remove_stale(t, family, release)


def _remove_stale(t, family, release):
    """Removes chains of unknown Services from its table."""
    table = f"{IPX[family]} kube-proxy"
    wanted = set(_names(_text(release, "nftables", "nft-list-ruleset.nft")))
    there = _names(t.topology.run("node", "nft", "list", "table", *table.split()).stdout)
    stale = [line.split()[-1] for line in there if " chain " in line and "/" in line and line not in wanted]
    if stale:
        t.topology.run("node", "nft", "-f", "-", stdin="".join(f"flush chain {table} {one}\ndelete chain {table} {one}\n" for one in stale))


def _sync_ipvs(t, release):
    run = t.topology.run
    for family, tool in TOOLS.items():
        _ensure_jumps(t, release, "ipvs", t.topology.tools.program(family), tool)
    run("node", "ip", "link", "add", leftovers.LINK, "type", "dummy", check=False)
    sets = _text(release, "ipvs", "ipset-save.txt")
    run("node", "ipset", "restore", "-exist", stdin="".join(f"{_SET_ATTRIBUTES.sub('', line)}\n" for line in sets.splitlines()
                                                            if line.startswith("create")))
    bound = _addresses(run("node", "ip", "addr", "show", leftovers.LINK).stdout)
    wanted = _addresses(_text(release, "ipvs", "ip-addr-kube-ipvs0.txt"))
    run("node", "ip", "-batch", "-", stdin="".join(f"address add {one} dev {leftovers.LINK}\n" for one in wanted if one not in bound))
    servers = run("node", "ipvsadm", "-S", "-n").stdout.splitlines()
    for line in _text(release, "ipvs", "ipvsadm-save.txt").splitlines():
        if line not in servers:
            run("node", "ipvsadm", *line.split(), check=False)
            run("node", "ipvsadm", *line.replace("-A ", "-E ").replace("-a ", "-e ").split())
    there = run("node", "ipset", "save").stdout.splitlines()
    ours = {line.split()[1] for line in sets.splitlines() if line.startswith("create")}
    stale = [line.replace("add ", "del ", 1) for line in there if line.startswith("add ") and line.split()[1] in ours and
             line not in sets.splitlines()]
    run("node", "ipset", "restore", "-exist", stdin="".join(f"{line}\n" for line in stale) +
        "".join(f"{line}\n" for line in sets.splitlines() if line.startswith("add")))
    for family, tool in TOOLS.items():
        run("node", t.topology.tools.program(family, "-restore"), "-w", "--noflush", "--counters", stdin=_text(release, "ipvs", f"{tool}-restore.txt"))
    run("node", "ip", "-batch", "-", stdin="".join(f"address del {one} dev {leftovers.LINK}\n" for one in bound if one not in wanted))
    kept = {line.split()[2] for line in _text(release, "ipvs", "ipvsadm-save.txt").splitlines() if line.startswith("-A")}
    for line in servers:
        words = line.split()
        if words[0] == "-A" and words[2] not in kept:
            run("node", "ipvsadm", "-D", *words[1:3])


def documented(mode):
    """The commands of docs/migrating.md that remove state of Sluice after a takeover by kube-proxy in that mode, if any."""
    begins = {"nftables": "    theirs='", "ipvs": "    for tool in iptables ip6tables"}.get(mode)
    with open(STEPS, encoding="utf-8") as file:
        text = file.read()
    if begins is None or begins not in text:
        return ""
    block = text[text.index(begins):]
    return "\n".join(line.removeprefix("    ") for line in block[:block.index("\n\n")].splitlines())


def _ensure_jumps(t, release, mode, program, tool):
    """Inserts missing jumps at the top of their chains, in reverse order of the dump."""
    table, jumps = "", []
    for line in _text(release, mode, f"{tool}-save.txt").splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif re.match(r"-A (INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING) ", line):
            jumps.append((table, line[3:]))
    for name, rule in reversed(jumps):
        t.topology.run("node", "sh", "-c", f"{program} -w -t {name} -N {rule.split()[-1]} 2>/dev/null; {program} -w -t {name} -C {rule} "
                       f"2>/dev/null || {program} -w -t {name} -I {rule}")


def _add_counters(t):
    for name in COUNTERS:
        netns_http.made_in(t.topology.namespace("node"), lambda name=name: _add_counter(name))


def _add_counter(name):
    """Does the same as `nfacct add`, without an error if the counter exists."""
    text = name.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(text), 1) + text + b"\0" * (-len(text) % 4)  # NFACCT_NAME
    body = struct.pack("=BBH", 0, 0, 0) + attribute
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as kernel:  # NETLINK_NETFILTER
        kernel.send(struct.pack("=LHHLL", 16 + len(body), 7 << 8, 0x5 | 0x400, 1, 0) + body)  # NFNL_MSG_ACCT_NEW
        kernel.recv(4096)


def _text(release, mode, name):
    with open(os.path.join(FOLDER, release, mode, name), encoding="utf-8") as file:
        return file.read()
