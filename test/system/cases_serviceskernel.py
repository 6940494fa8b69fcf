# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""`sluicectl services` shows the kernel state, in every mode: each kind of Service, drift, stale objects."""

import json
import re

from lib import ipvs, nftables
from lib.addresses import E1, E2, NODE, V4, V6
from lib.cases import Skip, case
from lib.objects import ready
from cases_affinity import remembering

BOTH = [ready(E1), ready(E2)]
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
UNUSED = {V4: "172.30.255.9", V6: "fd00:172:30::ff09"}  # unused
DROPPED = "dropped, no endpoints on this node"
REJECTED = "rejected, no endpoints"
NOT_WANTED = "not wanted by any Service: "
REPAIRED_WITHIN = 60  # seconds; the backend pauses after it has read everything


def host_port(ip, port):
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def pods(t, *hosts):
    return ", ".join(sorted(ipvs.real(t, host) for host in hosts))


def lines(t, name=None):
    """The kernel state of one Service or of all."""
    words = [name] if name else []
    done = t.bench.daemon.services(*words, "--family", "4" if t.family == V4 else "6", "--json")
    t.require(done.returncode == 0, f"services {words}: status {done.returncode}: {done.stderr}")
    part = json.loads(done.stdout)["families"][0]
    t.require(part.get("view") == "kernel" and part.get("backend") == t.bench.backend, f"this is not the kernel's: {part}")
    frontends = [frontend for port in part["service_ports"] for frontend in port["frontends"]]
    return list(dict.fromkeys([frontend["kernel_line"] for frontend in frontends if frontend["kernel_line"]] + part["unwanted"]))


def label(service):
    return f"{service.namespace}/{service.name}"


def at(service, front):
    """The beginning of a line of the service; None is the node port."""
    where = host_port(front.ip, front.port) if front else f":{service.node_port}"
    return f"{label(service)}:p80 {where}/{service.protocol}"


def expect_lines(t, service, *rest):
    """Exactly these lines, each (front, or None for the node port; the text behind it)."""
    wanted = sorted(f"{at(service, front)} {text}" for front, text in rest)
    found = sorted(lines(t, label(service)))
    t.require(found == wanted, "\n".join([f"{label(service)}: the kernel has:", *found, "and not:", *wanted]))


def expect_drift(t, service, what, drift, shown):
    """Applies the drift; the next answer must show it. If the backend repairs it between the two, again."""
    seen = {}

    def found():
        drift()
        seen["lines"] = lines(t, label(service) if service else None)
        return shown(seen["lines"])

    t.wait_until(found, f"{what} is in the answer", seconds=REPAIRED_WITHIN)
    if not shown(seen["lines"]):
        t.require(False, f"after '{what}':\n" + "\n".join(seen["lines"]))


def expect_repaired(t, service, before):
    t.wait_until(lambda: sorted(lines(t, label(service))) == before, f"{label(service)} is as before", seconds=REPAIRED_WITHIN)


def run(t, *words):
    """Runs a command on objects that may have drifted already, or are being repaired."""
    t.topology.run("node", *words, check=False)


def iptables(t, table, *words):
    run(t, t.topology.tools.program(t.family), "-w", "-t", table, *words)


def remove_rules(t, table, chain, *parts):
    """Deletes the rules of the chain that contain all these words, by number, the last one first."""
    rules = [line for line in t.saved(table) if line.startswith(f"-A {chain} ")]
    for number in range(len(rules), 0, -1):
        if all(part in rules[number - 1] for part in parts):
            iptables(t, table, "-D", chain, str(number))


def add_refusal(t):
    chain = {"iptables": "KUBE-SERVICES", "userspace": "KUBE-PORTALS-FIREWALL"}[t.bench.backend]
    words = (chain, "-d", UNUSED[t.family], "-p", "tcp", "-m", "tcp", "--dport", "80", "-m", "comment", "--comment",
             "no/such has no endpoints", "-j", "REJECT")
    iptables(t, "filter", "-A", *words)
    t.defer(lambda: iptables(t, "filter", "-D", *words))


@case(None, "sluicectl services shows every kind of Service as the kernel has it", config="nodeports-one-subnet",
      protocols=["tcp"], sources=["manifests"], legacy=["iptables", "ipvs"])
def kinds_of_services(t):
    if not t.has_status:
        raise Skip("the program under test has no sluicectl")
    plain = t.service(BOTH, type="LoadBalancer", external=True)
    local = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local")
    remote = t.service([ready(E2)], type="LoadBalancer", vip=True, external_policy="Local")
    inside = t.service([ready(E2)], internal_policy="Local")
    empty = t.service(type="NodePort", node_port=True)
    sticky = t.service(BOTH, spec=remembering())
    ranged = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    t.settle()
    both, here = f"-> {pods(t, E1, E2)}", f"-> {pods(t, E1)}"
    outside, node_port = f"masqueraded {both}", f"at {NODE.ip(t.family)}"
    expect_lines(t, plain, (plain.cluster(), both), (plain.external(), outside), (plain.vip(), outside),
                 (None, f"{node_port} {outside}"))
    # IPVS does not distinguish clients by origin: external policy Local means the same endpoints for all of them.
    expect_lines(t, local, (local.cluster(), both),
                 (None, f"{node_port} {here}" if t.ipvs else f"{node_port} {here}; from this node {both}"))
    there = f"-> {pods(t, E2)}"
    expect_lines(t, remote, (remote.cluster(), there),
                 (remote.vip(), there if t.ipvs else f"from this node {there}; else {DROPPED}"))
    expect_lines(t, inside, (inside.cluster(), f"-> {REJECTED}" if t.ipvs else f"-> {DROPPED}"))
    # Rules of iptables and userspace mode reject at every address, whatever --nodeport-addresses says, as kube-proxy's do.
    where = "at every address of this node" if t.bench.backend in ("iptables", "userspace") else node_port
    expect_lines(t, empty, (empty.cluster(), f"-> {REJECTED}"), (None, f"{where} -> {REJECTED}"))
    expect_lines(t, sticky, (sticky.cluster(), f"sticky for 10800 s {both}"))
    expect_lines(t, ranged, (ranged.cluster(), both), (ranged.vip(), f"{outside}; only for {CLIENTS[t.family]}"))
    plain.set_endpoints([ready(E2)])
    t.settle()
    # IPVS keeps a removed server while it has connections.
    less = [line for line in lines(t, label(plain)) if pods(t, E1) in line and "(drains)" not in line]
    t.require(not less and len(lines(t, label(plain))) == 4, f"an endpoint that is gone is shown: {less}")
    t.require(not [line for line in lines(t) if line.startswith(NOT_WANTED)], "there are stale objects")


DRIFT = {"config": "nodeports-one-subnet", "protocols": ["tcp"], "sources": ["manifests"], "exclusive": True}


def drifting(t):
    """A Service, and its lines without drift."""
    if not t.has_status:
        raise Skip("the program under test has no sluicectl")
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    return service, sorted(lines(t, label(service)))


def line_at(found, begin):
    return next((line for line in found if line.startswith(f"{begin} ")), "")


@case(None, "sluicectl services shows rules and chains that another process removes or adds", backends=["iptables"],
      legacy=["iptables"], **DRIFT)
def drift_of_iptables(t):
    service, before = drifting(t)
    front = at(service, service.cluster())

    def empty_endpoint():
        for line in t.saved("nat"):
            if f"--to-destination {ipvs.real(t, E2)}" in line and label(service) in line:
                iptables(t, "nat", "-F", line.split()[1])

    expect_drift(t, service, "a chain of an endpoint is emptied", empty_endpoint,
                 lambda found: re.search(r"KUBE-SEP-\w{16} \(chain is empty\)", line_at(found, front)))
    expect_repaired(t, service, before)
    expect_drift(t, service, "the rule of an address is removed",
                 lambda: remove_rules(t, "nat", "KUBE-SERVICES", f"-d {service.vip().ip}/"),
                 lambda found: len(found) == 3 and not line_at(found, at(service, service.vip())))
    expect_repaired(t, service, before)
    expect_drift(t, service, "the jump of table nat is removed",
                 lambda: remove_rules(t, "nat", "PREROUTING", "-j KUBE-SERVICES"),
                 lambda found: line_at(found, front).endswith("(PREROUTING does not lead to KUBE-SERVICES)"))
    expect_repaired(t, service, before)
    expect_drift(t, None, "a rule is added for an address of no Service", lambda: add_refusal(t),
                 lambda found: f"{NOT_WANTED}{host_port(UNUSED[t.family], 80)}/tcp -> {REJECTED}" in found)


@case(None, "sluicectl services shows elements that another process removes or adds", backends=["nftables"], **DRIFT)
def drift_of_nftables(t):
    service, before = drifting(t)
    front = at(service, service.cluster())
    table = f"{nftables.IPX[t.family]} {nftables.TABLE}"
    unused = f"{{ {UNUSED[t.family]} . tcp . 80 }}"
    expect_drift(t, service, "the element of an endpoint is removed",
                 lambda: nftables.nft(t, f"delete element {table} endpoints {{ {nftables.frontend(service.cluster())} . 0:1 }}",
                                      check=False),
                 lambda found: line_at(found, front).endswith("(nothing in slot 0:1)"))
    expect_repaired(t, service, before)
    expect_drift(t, None, "an element is added for an address of no Service",
                 lambda: nftables.nft(t, f"add element {table} rejected-services {unused}", check=False),
                 lambda found: f"{NOT_WANTED}{host_port(UNUSED[t.family], 80)}/tcp -> {REJECTED}" in found)


@case(None, "sluicectl services shows portal rules that another process removes or adds", backends=["userspace"], **DRIFT)
def drift_of_userspace(t):
    service, before = drifting(t)
    front = at(service, service.cluster())
    address = f"-d {service.cluster().ip}/"
    expect_drift(t, service, "the rule for processes of the node is removed",
                 lambda: remove_rules(t, "nat", "KUBE-PORTALS-HOST", address),
                 lambda found: line_at(found, front).endswith("(not for processes of this node)"))
    expect_repaired(t, service, before)

    def remove_both():
        for chain in ("KUBE-PORTALS-HOST", "KUBE-PORTALS-CONTAINER"):
            remove_rules(t, "nat", chain, address)

    expect_drift(t, service, "both rules are removed", remove_both,
                 lambda found: re.search(r" -> nowhere \(no portal rule, proxy port \d+ listens\)$", line_at(found, front)))
    expect_repaired(t, service, before)
    expect_drift(t, None, "a rule is added for an address of no Service", lambda: add_refusal(t),
                 lambda found: f"{NOT_WANTED}{host_port(UNUSED[t.family], 80)}/tcp -> {REJECTED}" in found)


@case(None, "sluicectl services shows real servers, virtual servers and entries that another process removes or adds",
      backends=["ipvs"], legacy=["ipvs"], **DRIFT)
def drift_of_ipvs(t):
    service, before = drifting(t)
    front = at(service, service.cluster())
    where = host_port(service.cluster().ip, service.cluster().port)
    expect_drift(t, service, "a real server is removed",
                 lambda: run(t, "ipvsadm", "-d", "-t", where, "-r", ipvs.real(t, E2)),
                 lambda found: line_at(found, front) == f"{front} -> {pods(t, E1)}")
    expect_repaired(t, service, before)
    expect_drift(t, service, "a real server has the weight 0",
                 lambda: run(t, "ipvsadm", "-e", "-t", where, "-r", ipvs.real(t, E2), "-m", "-w", "0"),
                 lambda found: line_at(found, front).endswith(f"{ipvs.real(t, E2)} (drains)"))
    expect_repaired(t, service, before)
    expect_drift(t, service, "the entry of the cluster IP is removed",
                 lambda: run(t, "ipset", "-exist", "del", ipvs.set_name("CLUSTER-IP", t.family), ipvs.entry(service.cluster())),
                 lambda found: f"no entry in {ipvs.set_name('CLUSTER-IP', t.family)}" in line_at(found, front))
    expect_repaired(t, service, before)
    expect_drift(t, service, "the virtual server is removed", lambda: run(t, "ipvsadm", "-D", "-t", where),
                 lambda found: line_at(found, front).endswith("-> nowhere (no virtual server)"))
    expect_repaired(t, service, before)
    unused = host_port(UNUSED[t.family], 80)
    t.defer(lambda: run(t, "ipvsadm", "-D", "-t", unused))
    expect_drift(t, None, "a virtual server is added for an address of no Service",
                 lambda: run(t, "ipvsadm", "-A", "-t", unused, "-s", "rr"),
                 lambda found: any(line.startswith(f"{NOT_WANTED}{unused}/tcp ") for line in found))
