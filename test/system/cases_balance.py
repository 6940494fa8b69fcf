# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Balance: new flows are spread over endpoints at random, whatever their source ports and addresses are."""

import os
import time

from lib import chance
from lib.addresses import E1, POD, V4, V6
from lib.cases import case, own_daemon
from lib.objects import ready

LONG = os.environ.get("SLUICE_LONG", "0") != "0"
FLOWS = 100_000 if LONG else 6_000
COUNTS = (3, 7, 50, 250)
MEMORY = 1024  # clients: the session affinity limit of the configuration
# A run has about thirty of these tests.
LEAST_CHANCE = 1e-8
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "flow_client.py")
# Endpoints that are all e1, and clients that are all the pod: each inside the cluster CIDR.
ENDPOINTS = {V4: ("10.181.0.0/24", "10.181.0."), V6: ("fd00:10:0:181::/112", "fd00:10:0:181::")}
CLIENTS = {V4: "10.64.0.0/15", V6: "fd00:10:0:64::/112"}


def client_ip(family, number):
    return f"10.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}" if family == V4 else f"fd00:10:0:64::{number + 1:x}"


def route(t, place, *words):
    family = ["-6"] if t.family == V6 else []
    t.topology.run(place, "ip", *family, "route", "replace", *words)
    t.defer(lambda: t.topology.run(place, "ip", *family, "route", "del", *words[:2 if words[0] == "local" else 1], check=False))


def prepare(t):
    if t.family == V6:  # its server cannot answer from an address that is only routed to it
        prefix = ENDPOINTS[V6][1]
        t.topology.run("e1", "ip", "-batch", "-", stdin="".join(
            f"address replace {prefix}{number:x}/128 dev lo nodad\n" for number in range(1, max(COUNTS) + 1)))
    for network, pod in ((ENDPOINTS[t.family][0], E1), (CLIENTS[t.family], POD)):
        if pod != E1 or t.family == V4:
            route(t, pod.name, "local", network, "dev", "lo")
        route(t, "node", network, "via", pod.ip(t.family), "dev", f"veth{pod.name}", "onlink")


def answered(t, front, sources):
    """The address of the server of each flow."""
    lines = t.topology.run("pod", "/usr/bin/python3", CLIENT, front.ip, str(front.port), timeout=600,
                           stdin="".join(f"{source} {port}\n" for source, port in sources)).stdout.split()
    t.require(len(lines) == len(sources), f"{len(lines)} of {len(sources)} flows were made")
    return lines


def forget_flows(t):
    t.topology.run("node", "conntrack", "-F", "-f", "ipv6" if t.family == V6 else "ipv4", check=False)


def table_of(met, servers, classes):
    """A row of counts for each class of flows."""
    places = {server: at for at, server in enumerate(servers)}
    rows = {}
    for server, one in zip(met, classes):
        rows.setdefault(one, [0] * len(servers))[places[server]] += 1
    return list(rows.values())


def judge(t, what, likely):
    t.require(likely > LEAST_CHANCE, f"{what}: chance does that once in {1 / max(likely, 1e-300):.1g} runs")
    return likely


def balanced(t, count):
    prefix = ENDPOINTS[t.family][1]
    servers = [f"{prefix}{number:x}" if t.family == V6 else f"{prefix}{number}" for number in range(1, count + 1)]
    service = t.service([ready(E1, address=ip) for ip in servers])
    t.settle()
    half = FLOWS // 2
    # One address and consecutive ports: as of a client that connects again and again.
    ports = [(client_ip(t.family, 1 + at // 50_000), 10_000 + at % 50_000) for at in range(half)]
    # One port and many addresses: as of clients behind different NAT gateways.
    places = [(client_ip(t.family, 1000 + at), 5353) for at in range(half)]
    all_met, worst = [], 1.0
    for what, sources, word in (("ports in turn", ports, 1), ("one port of many addresses", places, 0)):
        began = time.monotonic()
        met = answered(t, service.cluster(), sources)
        took = time.monotonic() - began
        strange = set(met) - set(servers)
        t.require(not strange, f"{count} endpoints, {what}: answered by {sorted(strange)[:3]}")
        if strange:
            return
        all_met += met
        worst = min(worst, judge(t, f"{count} endpoints, {what}", chance.uniform_chance(table_of(met, servers, [0] * len(met))[0])))
        if count <= 7:
            # Sources with an even number, or with the same remainder, have the same distribution as the rest.
            for modulus in (2, count):
                classes = [(source[1] if word else at) % modulus for at, source in enumerate(sources)]
                judge(t, f"{count} endpoints, {what}, by {'port' if word else 'address'} modulo {modulus}",
                      chance.independence_chance(table_of(met, servers, classes)))
            # The endpoint of the previous flow does not matter either.
            judge(t, f"{count} endpoints, {what}, by the one before", chance.independence_chance(table_of(met[1:], servers, met)))
        t.remark(f"{count} endpoints, {what}: {len(met)} flows in {took:.1f} s")
        forget_flows(t)
    likely = judge(t, f"{count} endpoints, all", chance.uniform_chance(table_of(all_met, servers, [0] * len(all_met))[0]))
    t.remark(f"{count} endpoints: chance does worse in {100 * likely:.0f} % of runs")


@own_daemon(None, f"{FLOWS} flows over {', '.join(map(str, COUNTS[:-1]))} and {COUNTS[-1]} endpoints are spread at random "
            "(chi-square); ports in turn, one port of many addresses and earlier flows make no difference",
            families=(V4, V6) if LONG else (V4,), protocols=("udp",), sources=("manifests",), backends=("nftables",), slow=True)
def spread(t):
    prepare(t)
    for count in COUNTS:
        balanced(t, count)


@own_daemon(74, "thousands of clients with affinity: new ones are spread at random, each reaches its own endpoint again, from "
            "other ports and after a restart of the daemon", families=(V4, V6) if LONG else (V4,), protocols=("udp",),
            sources=("manifests",), backends=("nftables",), slow=True)
def spread_with_memory(t):
    prepare(t)
    servers, service = sticky(t, 7)
    clients = [client_ip(t.family, 1000 + at) for at in range(FLOWS // 4)]
    met = answered(t, service.cluster(), [(ip, 5353) for ip in clients])
    t.require(set(met) == set(servers), f"answered by {sorted(set(met) ^ set(servers))} or not")
    if set(met) <= set(servers):
        judge(t, "new clients", chance.uniform_chance(table_of(met, servers, [0] * len(met))[0]))
        judge(t, "new clients, by the one before", chance.independence_chance(table_of(met[1:], servers, met)))
    for at, occasion in enumerate(("from another port", "after a restart")):
        if at == 1:
            t.bench.daemon.kill()
            t.bench.start_daemon()
        again = answered(t, service.cluster(), [(ip, 6000 + at) for ip in clients])
        others = sum(here != there for here, there in zip(met, again))
        t.require(others == 0, f"{others} of {len(clients)} clients met another endpoint {occasion}")
    forget_flows(t)


def sticky(t, count):
    prefix = ENDPOINTS[t.family][1]
    servers = [f"{prefix}{number:x}" if t.family == V6 else f"{prefix}{number}" for number in range(1, count + 1)]
    service = t.service([ready(E1, address=ip) for ip in servers], spec={"sessionAffinity": "ClientIP"})
    t.settle()
    return servers, service


@case(None, f"more clients than the session affinity limit ({MEMORY}): all of them are served, those with an entry reach "
      "their endpoint again", config="nftables-small-memory", families=(V4, V6), protocols=("udp",), sources=("manifests",),
      backends=("nftables",), exclusive=True)
def memory_full(t):
    prepare(t)
    servers, service = sticky(t, 3)
    clients = [client_ip(t.family, 1000 + at) for at in range(2 * MEMORY)]
    met = answered(t, service.cluster(), [(ip, 5353) for ip in clients])
    t.require(set(met) == set(servers), f"answered by {sorted(set(met) ^ set(servers))} or not")
    again = answered(t, service.cluster(), [(ip, 6000) for ip in clients])
    t.require(set(again) == set(servers), f"the second time answered by {sorted(set(again) ^ set(servers))} or not")
    here = sum(one == other for one, other in zip(met[:MEMORY], again))
    # With concurrent additions the kernel reaches the limit slightly earlier than configured.
    t.require(here > 0.95 * MEMORY, f"{here} of the {MEMORY} that came first met their endpoint again")
    forget_flows(t)
