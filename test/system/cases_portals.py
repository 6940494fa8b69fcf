# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Case 133 and other node state of userspace mode: port ownership, redirected clients, rules that are written,
and what happens to them when the daemon ends or another process writes."""

import errno
import os
import signal

from cases_conntrack import everywhere
from cases_resilience import wait_changes
from cases_stopdrain import drains
from lib import foreign, talk
from lib.addresses import E1, E2, E3, E4, FAMILIES, NODE as FIRST, V4, V6
from lib.cases import DROPPED, EXT, NODE, POD, UNTOUCHED, case, kept, masqueraded, own_daemon, untouched
from lib.objects import port, ready
from lib.services import Front
from lib.writes import WriteWatch

BOTH = [ready(E1), ready(E2)]
FOUR = [ready(E1), ready(E2), ready(E3), ready(E4)]
OTHER = {"tcp": "udp", "udp": "tcp"}
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
WITH_ONE_SOURCE = {"sources": ["manifests"], "backends": ["userspace"]}
TCP_ONLY = {"protocols": ["tcp"], **WITH_ONE_SOURCE}
FEW_PORTS = range(21000, 21008)


# Port ownership.


@case(133, "two Services with one node port: the first one owns it, the log names both, the second is served elsewhere and gets "
      "it when the first goes; another protocol is no conflict", legacy=["userspace"], **WITH_ONE_SOURCE)
def one_node_port(t):
    first = t.service([ready(E1)], type="NodePort", node_port=True)
    t.settle()
    number = first.node_port

    def another(protocol, host):
        return t.service([ready(host)], type="NodePort", protocols=[protocol], spec={
            "ports": [port("p80", 80, protocol, targetPort=80, nodePort=number)]})

    second = another(t.protocol, E2)
    other = another(OTHER[t.protocol], E4)
    t.settle()
    t.expect(EXT, first.node(), masqueraded(E1))
    t.expect(POD, first.cluster(), kept(E1))
    t.expect(POD, second.cluster(), kept(E2))
    t.expect(EXT, Front(FIRST.ip(t.family), number, OTHER[t.protocol]), masqueraded(E4))
    t.expect(POD, other.cluster(protocol=OTHER[t.protocol]), kept(E4))
    line = t.bench.daemon.wait_logged(f"{second.namespace}/{second.name}", str(number), f"{first.namespace}/{first.name}")
    t.require(line is not None, f"no line names both Services and the port {number}")
    first.delete()
    t.settle()
    t.expect_soon(EXT, first.node(), masqueraded(E2))


@case(133, "a node port that a program holds stays with it, the log names the program, the rest of the Service works",
      **WITH_ONE_SOURCE)
def a_programs_port(t):
    service = t.service([ready(E1)])
    program = t.listen("node", f"program-{service.node_port}", service.node_port)
    service.update(type="NodePort", node_port=True)
    t.settle()
    t.expect(EXT, service.node(), untouched(program))
    t.expect(POD, service.cluster(), kept(E1))
    line = t.bench.daemon.wait_logged(f"{service.namespace}/{service.name}", str(service.node_port), "netecho")
    t.require(line is not None, f"no line names the Service, the port {service.node_port} and the program")


@case(None, "no program can bind a node port while a Service has it, on any address, and any can afterwards", **WITH_ONE_SOURCE)
def held_ports(t):
    service = t.service([ready(E1)], type="NodePort", node_port=True)
    t.settle()
    for ip in ("", FIRST.ip(t.family)):
        try:
            talk.bind(t, FIRST, service.node_port, t.protocol, ip).close()
            t.require(False, f"a program could take the node port on '{ip}'")
        except OSError as error:
            t.require(error.errno == errno.EADDRINUSE, f"on '{ip}': {error}")
    t.expect(EXT, service.node(), masqueraded(E1))
    service.delete()
    t.settle()

    def free():
        try:
            talk.bind(t, FIRST, service.node_port, t.protocol).close()
            return True
        except OSError:
            return False

    t.wait_until(free, "the port is free")


# Redirected clients.


@case(None, "a Service has the address and port of another Service's endpoint, as external IP and load balancer address, with "
      "and without source ranges: the daemon still reaches that endpoint", legacy=["userspace"], **WITH_ONE_SOURCE)
def endpoint_of_another(t):
    victim = t.service([ready(E1)], type="LoadBalancer", external=True)
    other = t.service([ready(E2)])
    vips = [other.vip().ip, E1.ip(t.family)]
    for ranges in (None, [CLIENTS[t.family]]):
        other.update(type="LoadBalancer", spec={"externalIPs": vips}, source_ranges=ranges,
                     ingress=[{"ip": ip, "ipMode": "VIP"} for ip in vips])
        t.settle()
        t.expect(EXT, other.vip(), masqueraded(E2))
        t.expect(POD, victim.cluster(), kept(E1))
        t.expect(NODE, victim.cluster(), masqueraded(E1))
        t.expect(EXT, [victim.external(), victim.vip(), *victim.node_ports()], masqueraded(E1))
        t.expect(NODE, other.vip(), DROPPED if ranges else masqueraded(E2))


def policy_local(t, insiders):
    """Only these, by their interfaces, may use remote endpoints."""
    service = t.service([ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    t.settle()
    t.expect(insiders, [service.vip(), service.node()], kept(E2))
    t.expect([EXT, *({POD, E1} - set(insiders))], [service.vip(), service.node()], DROPPED)


@case(12, "BridgeInterface: with policy Local only clients behind that interface reach remote endpoints",
      config="bridge-detector", **WITH_ONE_SOURCE)
def bridge_detector(t):
    policy_local(t, [POD])


@case(12, "InterfaceNamePrefix: with policy Local only clients behind such an interface reach remote "
      "endpoints", config="prefix-detector", **WITH_ONE_SOURCE)
def prefix_detector(t):
    policy_local(t, [POD, E1])


@case(8, "an SCTP port is not programmed but reported, the TCP port of its Service is served", **TCP_ONLY)
def sctp_not_programmed(t):
    service = t.service([ready(E1)], protocols=["tcp", "sctp"])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    name = f"{service.namespace}/{service.name}:p80"
    t.require(t.bench.daemon.wait_logged(name, "SCTP") is not None, f"no line names {name} and SCTP")
    t.wait_until(lambda: any(one["service_port"] == name for family in t.status()["families"]
                             for one in family["not_programmed"]), f"the status names {name}")


@case((106, 108), "a UDP client that keeps its port moves when its endpoint is removed, at every address, and is served again "
      "after a time without endpoints", protocols=["udp"], **WITH_ONE_SOURCE)
def steady_clients(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for host in (E1, E2, E1):
        service.set_endpoints([ready(host)])
        t.settle()
        for client in clients:
            client.expect_soon(host, f"with {host.name} as the only endpoint")
    service.set_endpoints([])
    t.settle()
    for client in clients:
        t.wait_until(lambda client=client: client.ask(300) == "refused", "a client without an endpoint is refused")
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(E2, "after a time without endpoints")


# What is written.


@case((95, 97), "added, removed and reordered endpoints write no rule", families=[V4], exclusive=True, **TCP_ONLY)
def endpoints_write_nothing(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    with WriteWatch(t.topology) as writes:
        service.set_endpoints(FOUR)
        t.expect_soon(EXT, service.vip(), masqueraded(E1, E2, E3, E4))
        service.set_endpoints([ready(E3)])
        t.expect_soon(EXT, service.node(), masqueraded(E3))
        writes.expect_none(t, "endpoints changed")


@case(96, "a deleted Service: only its rules are removed", families=[V4], exclusive=True, legacy=["userspace"],
      **TCP_ONLY)
def service_deleted(t):
    bystander = t.service(BOTH, type="LoadBalancer", external=True)
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    title = f"{service.namespace}/{service.name}:"
    with WriteWatch(t.topology) as writes:
        before = set(t.saved())
        t.require(sum(title in line for line in before) >= 7, "the Service has too few rules to begin with")
        service.delete_service()
        t.wait_until(lambda: not any(title in line for line in t.saved()), "no rule names it")
        added = [line for line in writes.lines() if line.startswith("add ")]
    changed = [line for line in before ^ set(t.saved()) if title not in line]
    t.require(not changed, f"foreign rules changed: {changed[:2]}")
    t.require(not added, f"something was written: {added[:2]}")
    t.expect(EXT, bystander.vip(), masqueraded(E1, E2))


@case(None, "portRange: the proxy opens ports of the range and no others", config="userspace-reset", **WITH_ONE_SOURCE)
def port_range(t):
    t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    text = [line for line in t.saved("nat") if "KUBE-" in line and ("--to-ports" in line or "--to-destination" in line)]
    numbers = {int(line.rpartition(" ")[2].rpartition(":")[2]) for line in text}
    t.require(len(numbers) >= 2, f"there are too few rules: {text[:3]}")
    t.require(all(21000 <= number <= 21399 for number in numbers), f"ports outside of the range: {sorted(numbers)}")
    open_now = t.topology.run("node", "ss", "-Hltnu").stdout
    t.require(all(f":{number} " in open_now for number in numbers), "a port that rules lead to is not open")


# The end of the daemon, and foreign changes.


@own_daemon(None, "when all ports of --proxy-port-range are taken, further Services are reported, the others are served, and "
            "the reported ones are served once ports are free", **WITH_ONE_SOURCE)
def no_ports_left(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    t.bench.flags = [*t.bench.flags, f"--proxy-port-range={FEW_PORTS[0]}-{FEW_PORTS[-1]}"]
    t.bench.start_daemon()
    t.settle()  # the barrier holds its port
    services = [t.service([ready(E1)]) for _ in range(len(FEW_PORTS) + 3)]
    names = [f"{one.namespace}/{one.name}:p80" for one in services]

    def omitted():
        return [one["service_port"] for family in t.status()["families"] for one in family["not_programmed"]]

    t.wait_until(lambda: len(omitted()) == 4, "all Services without a port are reported")
    out = omitted()
    t.require(set(out) < set(names), f"not programmed: {out}")
    for one, name in zip(services, names):
        if name in out:
            t.require(t.bench.daemon.wait_logged(name, "port") is not None, f"no line names {name}")
        else:
            t.expect(POD, one.cluster(), kept(E1))
    served = [one for one, name in zip(services, names) if name not in out]
    for one in served[:4]:
        one.delete()
    t.settle()
    waiting = [one for one, name in zip(services, names) if name in out]
    for one in waiting:  # the daemon retries them after a minute, or when they change
        one.set_endpoints([ready(E2)])
    t.settle()
    t.wait_until(lambda: not omitted(), "every service port is programmed")
    t.expect(POD, [one.cluster() for one in waiting], kept(E2))


def portals(t):
    """The rules that redirect to ports of the proxy."""
    return sorted(line for family in FAMILIES for line in foreign.saved(t.topology, family, "nat")
                  if "--to-ports" in line or "--to-destination" in line)


@own_daemon(None, "kill -9 and a new start: the same ports and the same rules, open connections end at once, new ones are "
            "served; the same during changes", legacy=["userspace"], **WITH_ONE_SOURCE)
def killed(t):
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    steady = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    endpoint = talk.accept(t, server)
    t.require(talk.is_connected(client, endpoint), "the connection does not work")
    before = portals(t)
    t.bench.daemon.kill()
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the client's end goes on")
    t.require(talk.receive(endpoint) in (talk.END, talk.RESET), "the endpoint's end goes on")
    t.require(portals(t) == before, "the rules changed when the daemon was killed")
    with WriteWatch(t.topology) as writes:
        t.bench.start_daemon()
        t.expect(POD, steady.cluster(), kept(E1, E2))
        writes.expect_none(t, "after the start")
    t.require(portals(t) == before, "rules lead elsewhere after the start")
    t.bench.start_churn()
    for _ in range(2):
        wait_changes(t, 4)
        t.bench.daemon.kill()
        wait_changes(t, 2)
        t.bench.start_daemon()
    counts = t.bench.stop_churn()
    t.require(counts["changes"] > 6, f"only {counts['changes']} changes were made")
    later = t.service([ready(E2)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E2))
    t.expect(EXT, steady.vip(), masqueraded(E1, E2))
    now = set(portals(t))
    title = f"{steady.namespace}/{steady.name}:"
    t.require({line for line in before if title in line} <= now, "the steady Service has other ports")


@own_daemon(None, "SIGTERM leaves the rules, ends open connections and the process with 0; the next start serves again",
            **WITH_ONE_SOURCE)
def terminated(t):
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    talk.accept(t, server)
    before = foreign.ruleset(t.topology)
    status = t.bench.daemon.stop()
    t.require(status == 0, f"exit status {status} on SIGTERM")
    for process in drains(t):  # unless the daemon runs under systemd or in a container, connections continue for 30 s
        os.kill(process, signal.SIGTERM)
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the client's end goes on")
    t.require(foreign.ruleset(t.topology) == before, "the rules changed at SIGTERM")
    t.bench.start_daemon()
    client = talk.connect(t, POD, service.cluster())
    t.require(talk.is_connected(client, talk.accept(t, server)), "it does not serve again")


@own_daemon(100, "the flushed table filter alone is repaired: disallowed clients are dropped again", families=FAMILIES,
            legacy=["userspace"], **WITH_ONE_SOURCE)
def filter_flushed(t):
    service = t.service([ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    t.settle()
    t.expect(EXT, service.vip(), DROPPED)
    t.topology.run("node", t.topology.tools.program(t.family), "-w", "-t", "filter", "-F")
    t.expect(POD, service.vip(), kept(E2))
    t.expect_soon(EXT, service.vip(), DROPPED, seconds=8)


@own_daemon(100, "everything flushed in both families, chains and all, is repaired while a connection goes on",
            legacy=["userspace"], families=FAMILIES, **WITH_ONE_SOURCE)
def everything_flushed(t):
    server, number = talk.listen(t, E1)
    relayed = t.service([ready(E1)], ports=[("p80", 80, number)])
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    client = talk.connect(t, POD, relayed.cluster())
    endpoint = talk.accept(t, server)
    for family in FAMILIES:
        for table in ("filter", "nat"):
            t.topology.tools.empty(t.topology, family, table)
    # No traffic meanwhile: without the tables the kernel does not translate flows that were translated before.
    t.expect_soon(EXT, service.vip(), masqueraded(E1, E2), seconds=8)
    t.expect_soon(EXT, service.node(), masqueraded(E1, E2), seconds=8)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(talk.is_connected(client, endpoint), "a connection broke when the rules went")


@own_daemon((98,), "one Service is rejected by iptables-restore: the others work, it is reported, and served once possible",
            legacy=["userspace"], **WITH_ONE_SOURCE)
def one_refused(t):
    tools = t.topology.tools
    with tools.wrapped():
        bad = t.service(type="ClusterIP", spec={"type": "ExternalName", "externalName": "example.com"})
        title = f"{bad.namespace}/{bad.name}:p80"
        tools.refuse(f"^-[AI] .*{title}", "line")
        t.defer(tools.accept_all)
        bad.set_endpoints(BOTH)
        bad.update(spec=None)
        good = [t.service([ready(E1)]) for _ in range(6)]
        t.settle()
        t.expect(POD, [one.cluster() for one in good], kept(E1))
        t.expect(POD, bad.cluster(), UNTOUCHED)
        t.require(t.bench.daemon.wait_logged(title, "not programmed") is not None, f"no log line names {title}")

        def omitted():
            return [one["service_port"] for family in t.status()["families"] for one in family["not_programmed"]]

        t.wait_until(lambda: omitted() == [title], f"`sluicectl status` names {title} and no other")
        tools.accept_all()
        bad.update(external=True, type="LoadBalancer")  # the daemon retries as soon as the Service changes
        t.settle()
        t.expect(POD, bad.cluster(), kept(E1, E2))
        t.expect(EXT, bad.vip(), masqueraded(E1, E2))
        t.wait_until(lambda: not omitted(), "every service port is programmed")
