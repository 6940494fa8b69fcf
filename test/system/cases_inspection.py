# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""`sluicectl explain`, `diff` and `counters`: what a packet meets, what was changed by others, and what was counted."""

import json
import os

from lib import addresses as a
from lib import control, ipvs, nftables, probe
from lib.addresses import E1, E2, V4, V6
from lib.cases import EXT, NODE, POD, Skip, case
from lib.model import World
from lib.model_check import SENDERS, compare_with_model
from lib.objects import ready
from lib.outcomes import MASQUERADED, OWN
from lib.services import ServiceUnderTest
from cases_affinity import remembering
from cases_serviceskernel import REPAIRED_WITHIN, expect_repaired, label, lines, remove_rules, run

BOTH = [ready(E1), ready(E2)]
RANGES = {V4: ["203.0.113.0/25"], V6: ["2001:db8:113::/49"]}
UNUSED = {V4: "172.30.255.9", V6: "fd00:172:30::ff09"}  # of no Service
SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schemas")
CONNECTIONS = 5


def mix(t):
    """Each kind of destination that the model knows: the endpoints, and the properties of the Service."""
    balanced = {"type": "LoadBalancer", "external": True}
    return ((BOTH, balanced),
            (BOTH, {**balanced, "external_policy": "Local"}),
            ([ready(E2)], {**balanced, "external_policy": "Local"}),
            ([ready(E2)], {"internal_policy": "Local"}),
            ([ready(E1)], {"internal_policy": "Local"}),
            (None, balanced),
            (BOTH, {"type": "LoadBalancer", "vip": True, "source_ranges": RANGES[t.family]}),
            (BOTH, {"spec": remembering()}))


def require_ctl(t):
    if not t.has_status:
        raise Skip("the program under test has no sluicectl")


def document(t, command, *words, status=0):
    """The reply as JSON, validated against the published schema."""
    import jsonschema  # here, because machines that do not run these cases may lack it
    done = t.bench.daemon.ctl(command, *words, "-o", "json")
    t.require(done.returncode == status and (status != 0 or not done.stderr),
              f"{command} {words}: status {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    with open(os.path.join(SCHEMAS, f"sluicectl-{command}.schema.json"), encoding="utf-8") as file:
        jsonschema.Draft202012Validator(json.load(file)).validate(found)
    return found


def rows(t, command, service, *words, status=0):
    """The rows of the family of the case."""
    number = "4" if t.family == V4 else "6"
    part = document(t, command, *([label(service)] if service else []), "--family", number, *words, status=status)["families"][0]
    t.require(part.get("backend") == t.bench.backend, f"{command}: this is not an answer of the backend: {part}")
    return part.get("rows", [])


def origin(t, sender):
    """(from, client) of a packet of that sender."""
    if sender == NODE:
        return "node", NODE.ip(t.family)
    return ("pod" if sender == POD else "outside"), sender.ip(t.family)


def explained(t, sender, front):
    """The steps of a packet."""
    where, client = origin(t, sender)
    packet = {"address": front.ip, "port": front.port, "protocol": front.protocol, "from": where, "client": client}
    answer = control.ask(t.bench.daemon.state_dir, "inspect", kind="explanation", packet=packet)
    part = answer["families"][0] if answer else {"error": "no answer"}
    t.require("rows" in part, f"{sender.name} → {front.ip} port {front.port}: {part.get('error')}")
    return part.get("rows") or [{"verdict": "", "endpoints": [], "masquerades": False}]


def expected_verdict(expected):
    if expected.kind == "vacant" or any(source == OWN for _, source in expected.sources):
        return "NotProxied"
    return {"served": "Served", "rejected": "Rejected", "dropped": "Dropped"}[expected.kind]


def require_explained(t, sender, front, expected):
    """Requires that the explanation ends as packets do."""
    steps = explained(t, sender, front)
    what = f"{sender.name} → {front.protocol} {front.ip} port {front.port}, where packets meet {expected}"
    story = "; ".join(f"{step.get('object')}: {step.get('effect')}" for step in steps)
    t.require(steps[-1]["verdict"] == expected_verdict(expected), f"{what}: explained as {steps[-1]['verdict']}: {story}")
    if expected_verdict(expected) != "Served":
        return
    there = sorted(one["address"] for one in steps[-1]["endpoints"] if not one["draining"])
    hosts = {host.name: host for host in (E1, E2, a.E3, a.E4)}
    wanted = sorted(hosts[name].ip(t.family) for name in expected.servers)
    t.require(there == wanted, f"{what}: explained as served by {there}: {story}")
    masquerades = any(step["masquerades"] for step in steps)
    # A client that has the masquerade address keeps its source, with and without masquerading.
    if sender.ip(t.family) != NODE.ip(t.family):
        wanted = any(source == MASQUERADED for _, source in expected.sources)
        t.require(masquerades == wanted, f"{what}: explained {'as' if masquerades else 'not as'} masqueraded: {story}")


@case(None, "sluicectl explain ends where packets end: each sender, each kind of destination", protocols=["tcp"],
      sources=["manifests"], legacy=["iptables", "ipvs"], exclusive=True)
def explanations_agree_with_packets(t):
    require_ctl(t)
    world = World(t.bench.source, t.bench.profile)
    for endpoints, wanted in mix(t):
        number = t.bench.allocator.number()
        service = ServiceUnderTest(world, number, f"explain-{number}", t.family, t.protocol, endpoints,
                                   node_ports="node-ports" not in t.bench.profile.lacks, **wanted)
        t.defer(service.delete)
    t.settle()
    fronts = world.fronts(t.family)
    # In ipvs mode each Service address is one of the node, of which the model knows only for cluster IPs.
    at = service.cluster() if t.bench.backend == "ipvs" else fronts[0]
    other_port = type(at)(at.ip, 81, t.protocol)
    wrong, asked = compare_with_model(t, world, [*fronts, other_port])
    t.require(not wrong, f"packets do not match the model: {'; '.join(wrong[:4])}")
    compared = 0
    for sender in SENDERS:
        for front in [*fronts, other_port]:
            expected = world.expected(sender, front, t.family)
            if expected is not None:
                require_explained(t, sender, front, expected)
                compared += 1
    t.remark(f"{asked} packets and {compared} explanations")
    unused = type(fronts[0])(UNUSED[t.family], 80, t.protocol)
    verdict = explained(t, NODE, unused)[-1]["verdict"]
    # nftables mode rejects or drops addresses in the ranges of a ServiceCIDR object that no Service has; there is none here.
    t.require(verdict == "NotProxied", f"an address of no Service: {verdict}")


@case(None, "sluicectl explain shows the Service, its endpoints and each step", protocols=["tcp"], sources=["manifests"])
def explanations_as_text(t):
    require_ctl(t)
    service = t.service(BOTH)
    t.settle()
    front = service.cluster()
    where = f"[{front.ip}]:{front.port}" if ":" in front.ip else f"{front.ip}:{front.port}"
    done = t.bench.daemon.ctl("explain", label(service), "--from", POD.ip(t.family))
    pods = [ipvs.real(t, host) for host in (E1, E2)]
    for part in (f"{label(service)}:p80 {where}/tcp", f"  endpoint {pods[0]} on node {a.NODE_NAME}: used",
                 f"{where}/tcp from a pod of this node ({POD.ip(t.family)}), ", "\n  1. ", "\n  => served by ", *pods):
        t.require(part in done.stdout, f"'{part}' is not in:\n{done.stdout}{done.stderr}")
    t.require(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    found = document(t, "explain", where, "--from", f"outside:{EXT.ip(t.family)}")["explanations"]
    t.require(len(found) == 1 and found[0]["packet"]["client"] == EXT.ip(t.family), f"explained: {found}")
    missing = t.bench.daemon.ctl("explain", "no/such")
    t.require(missing.returncode == 1 and "no Service with an address or node port matches no/such" in missing.stderr,
              f"status {missing.returncode}: {missing.stderr}")


def remove_endpoint_rule(t, service):
    for line in t.saved("nat"):
        if f"--to-destination {ipvs.real(t, E2)}" in line and label(service) in line:
            remove_rules(t, "nat", line.split()[1], f"--to-destination {ipvs.real(t, E2)}")


def remove_element(t, service):
    table = f"{nftables.IPX[t.family]} {nftables.TABLE}"
    nftables.nft(t, f"delete element {table} endpoints {{ {nftables.frontend(service.cluster())} . 0:1 }}", check=False)


def remove_portal_rule(t, service):
    remove_rules(t, "nat", "KUBE-PORTALS-HOST", f"-d {service.cluster().ip}/")


def remove_real_server(t, service):
    front = service.cluster()
    where = f"[{front.ip}]:{front.port}" if ":" in front.ip else f"{front.ip}:{front.port}"
    run(t, "ipvsadm", "-d", "-t", where, "-r", ipvs.real(t, E2))


REMOVALS = {"iptables": remove_endpoint_rule, "nftables": remove_element, "userspace": remove_portal_rule,
            "ipvs": remove_real_server}


@case(None, "sluicectl diff finds nothing on a healthy node, and names what another process removes, until it is repaired",
      protocols=["tcp"], sources=["manifests"], exclusive=True, legacy=["iptables", "ipvs"])
def differences(t):
    require_ctl(t)
    for endpoints, wanted in mix(t):
        t.service(endpoints, **wanted)
    service = t.service(BOTH)
    t.settle()
    found = rows(t, "diff", None)
    t.require(not found, f"the node is as written, and diff shows {found[:3]}")
    before = sorted(lines(t, label(service)))
    seen = {}

    def found_drift():
        REMOVALS[t.bench.backend](t, service)
        done = t.bench.daemon.ctl("diff", label(service), "-o", "json", "--family", "4" if t.family == V4 else "6")
        seen["rows"] = json.loads(done.stdout)["families"][0].get("rows", [])
        return done.returncode == 1 and [row for row in seen["rows"] if row["kind"] in ("Missing", "Changed")]

    t.wait_until(found_drift, "diff names the removed object", seconds=REPAIRED_WITHIN)
    t.require(all(row["service"] == label(service) for row in seen.get("rows", [])), f"other Services are named: {seen}")
    expect_repaired(t, service, before)
    t.wait_until(lambda: not rows(t, "diff", None), "diff finds nothing after the repair", seconds=REPAIRED_WITHIN)


def counted(t, service):
    """The connections of a Service, from the rows that count them: of all, of its frontends, or of its endpoints."""
    found = rows(t, "counters", service)
    for selected in (lambda row: row["frontend"] is None and row["endpoint"] is None,
                     lambda row: row["endpoint"] is None, lambda row: row["frontend"] is None):
        known = [row["connections"] for row in found if selected(row) and row["connections"] is not None]
        if known:
            return sum(known)
    return None


@case(None, "sluicectl counters counts the connections of a Service", protocols=["tcp"], sources=["manifests"],
      backends=["iptables", "ipvs", "userspace"], legacy=["iptables", "ipvs"], exclusive=True)
def counters(t):
    require_ctl(t)
    service, other = t.service(BOTH), t.service(BOTH)
    t.settle()
    t.require(not counted(t, service), f"{counted(t, service)} connections were counted before the first one")
    front = service.cluster()
    answers = probe.ask(t.topology, POD, front.protocol, front.ip, front.port, t.family, CONNECTIONS)
    served = sum(line.startswith("ok ") for line in answers)
    t.require(served == CONNECTIONS, f"{served} of {CONNECTIONS} connections were served")
    t.wait_until(lambda: counted(t, service) == served, f"{served} connections are counted")
    t.require(not counted(t, other), f"{counted(t, other)} connections of another Service were counted")


@case(None, "sluicectl counters shows packets and bytes of each address with the option counters", config="nftables-counters",
      protocols=["tcp"], sources=["manifests"], backends=["nftables"])
def counters_of_nftables(t):
    require_ctl(t)
    service, other = t.service(BOTH), t.service(BOTH)
    t.settle()
    front = service.cluster()
    answers = probe.ask(t.topology, POD, front.protocol, front.ip, front.port, t.family, CONNECTIONS)
    t.require(sum(line.startswith("ok ") for line in answers) == CONNECTIONS, f"not all were served: {answers}")

    def packets(of):
        return sum(row["packets"] or 0 for row in rows(t, "counters", of))

    # A connection has at least three packets from the client.
    t.wait_until(lambda: packets(service) >= 3 * CONNECTIONS, "the packets of the connections are counted")
    t.require(packets(other) == 0, f"{packets(other)} packets of another Service were counted")
