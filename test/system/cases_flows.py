# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Userspace mode and tracked flows: a UDP client that keeps its port is never stuck on a port that no process holds."""

import re
import time

from lib import addresses as a
from lib import foreign, holders
from lib.addresses import E1, E2, E3, E4
from lib.cases import POD, case, own_daemon
from lib.daemon import Daemon
from lib.objects import gone, ready, terminating

from cases_conntrack import UDP, Client, everywhere, number

ONLY_HERE = {"backends": ["userspace"], "sources": ["manifests"]}
PAUSE = 3  # seconds: more than a short UDP timeout, less than the default of 30 s


def tracked(clients):
    return [number(client.tracked()) for client in clients]


def restart_as(t, backend, *flags):
    """Replaces the daemon by one in that mode; rules of the old mode are still there."""
    t.bench.daemon.stop()
    t.bench.daemon = Daemon(t.topology, t.bench.programs, backend, t.bench.label)
    t.bench.daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, *flags])
    t.bench.daemon.wait_synced()


def proxy_ports(t, service):
    """The ports that rules of the Service redirect to."""
    return {int(port) for line in t.saved("nat") if f"{service.namespace}/" in line
            for port in re.findall(r"--to-(?:ports |destination \S*:)(\d+)", line)}


@own_daemon(None, "a UDP client that keeps its port is served on, as one flow, through a restart and a change of all endpoints, "
            "and again after its Service had no endpoints, or was deleted and created again", families=a.FAMILIES, protocols=UDP, **ONLY_HERE)
def one_flow(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for client in clients:
        client.expect(E1, "at first")
    before, ports = tracked(clients), proxy_ports(t, service)
    t.bench.daemon.stop()
    t.bench.start_daemon()
    for client in clients:
        client.expect_soon(E1, "after a restart")
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(E2, "after e1 was replaced")
    t.require(proxy_ports(t, service) == ports, f"ports {ports} became {proxy_ports(t, service)}")
    t.require(tracked(clients) == before, "a flow was created again")

    service.set_endpoints([])
    t.settle()
    for client in clients:
        client.expect_removed("after all endpoints were gone")
    service.set_endpoints([ready(E1)])
    t.settle()
    for client in clients:
        client.expect_soon(E1, "after all endpoints were gone for a while")

    service.delete()
    t.settle()
    for client in clients:
        client.expect_removed("after its Service was deleted")
        client.ask(100)  # leaves the node now, and is tracked
    service.apply()
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(E2, "after its Service was made again")


@own_daemon(None, "ports that another process took while no daemon ran: others are used, and clients of the old ones reach them",
            families=a.FAMILIES, protocols=UDP, **ONLY_HERE)
def port_taken(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for client in clients:
        client.expect(E1, "at first")
    ports = proxy_ports(t, service)
    holder = holders.wait_one(t, t.bench.daemon)
    t.bench.daemon.stop()
    holders.kill(t, holder)
    for port in ports:
        t.listen("node", "intruder", port)
    for client in clients:
        answer = client.ask()
        t.require(answer == "intruder", f"while no daemon runs {answer} answered, and not the process that has the port")
    t.bench.start_daemon()
    t.settle()
    t.require(not ports & proxy_ports(t, service), f"rules still lead to {ports}")
    for client in clients:
        client.expect_soon(E1, "on another port")


@own_daemon(None, "from iptables mode to userspace and back: no rule of the other mode stays, flows keep their endpoint",
            families=a.FAMILIES, protocols=UDP, **ONLY_HERE)
def mode_changed(t):
    some = ["--nodeport-addresses", "192.168.0.0/24,fd00:192:168::/64"]
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    tcp = t.service([ready(E1), ready(E2)], protocols=["tcp"])
    front = tcp.cluster(protocol="tcp")
    t.bench.cleanup()
    restart_as(t, "iptables", *some)
    t.settle()
    clients = [Client(t, POD, service.cluster()), Client(t, a.EXT, service.node()), Client(t, a.EXT, service.vip())]
    for client in clients:
        client.expect(E1, "in iptables mode")
    before = tracked(clients)

    hammer = t.hammer(POD, front)
    restart_as(t, "userspace", *some)
    t.wait_until(lambda: not foreign_chains(t, "KUBE-SERVICES|KUBE-SVC|KUBE-SEP|KUBE-NODEPORTS"), "chains of iptables are gone")
    t.require_unbroken(hammer, "from iptables mode to userspace")
    for client in clients:
        client.expect(E1, "in userspace mode, as begun before")
    t.require(tracked(clients) == before, "a flow was created again")
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(E2, "in userspace mode, its endpoint replaced")

    restart_as(t, "iptables", *some)
    t.wait_until(lambda: not foreign_chains(t, "KUBE-PORTALS|KUBE-NODEPORT-"), "the chains of userspace are gone")
    for client in clients:
        client.expect_soon(E2, "back in iptables mode")
    restart_as(t, "userspace")


def foreign_chains(t, pattern):
    return [line for line in foreign.saved(t.topology, t.family) if re.match(rf":({pattern})", line)]


@case(None, "a UDP flow stays with its endpoint through a pause, while others come and go, and while it terminates and serves; it "
      "moves at once when the endpoint serves no more", protocols=UDP, **ONLY_HERE)
def flow_stays(t):
    service = t.service([ready(E2)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for client in clients:
        client.expect(E2, "at first")
    service.set_endpoints([ready(E1), ready(E2), ready(E3), ready(E4)])
    t.settle()
    time.sleep(PAUSE)  # fixed time: the flow must outlast it
    for client in clients:
        client.expect(E2, "after a pause")
    for others in ([ready(E1)], [ready(E3), ready(E4)], [ready(E1), ready(E4)], []):
        for own in (ready(E2), terminating(E2)):
            service.set_endpoints([*others, own])
            t.settle()
            for client in clients:
                client.expect(E2, f"beside {len(others)} others")
    service.set_endpoints([ready(E1), gone(E2)])
    t.settle()
    for client in clients:
        client.expect(E1, "once e2 serves no more")
    service.set_endpoints([ready(E3), ready(E4)])
    t.settle()
    for client in clients:
        answer = client.ask()
        t.require(answer in (E3.name, E4.name), f"after e1 was removed {answer} answered")
