# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 106–109: UDP flows of steady clients whose endpoint goes away, and flows that must be left alone."""

import os
import re
import time

from lib import addresses as a
from lib import pace, probe
from lib.addresses import E1, E2, NODE_SECOND
from lib.cases import EXT, IN_KERNEL, POD, case, own_daemon
from lib.differences import PRIMARY_ONLY, UDP_MOVES
from lib.episode import WATCHED
from lib.objects import gone, ready, terminating

UDP = ("udp",)
# As many as fit into a table of usual size; in the short form the table of a small machine.
MANY = 200_000 if "SLUICE_LONG" in os.environ else 60_000
# An entry is 84 bytes: keeping the stale entries of the short form takes 5 MiB.
MOST_GROWTH_MIB = 2
ATTEMPTS = 10
LATEST_REPLY = 9  # seconds: the daemon scans for entries of late replies until 10 s after it removed the first entry
OWN_PORTS = iter(range(20001, 29999))  # source ports of ours: probes use those below


class Client:
    """Sends from one port repeatedly, as a resolver does: the kernel sees one flow."""

    def __init__(self, t, sender, front):
        self._t = t
        self._sender = sender
        self._front = front
        self.port = next(OWN_PORTS)

    def ask(self, timeout_ms=2500):
        """The name of the endpoint that answered, or what else happened."""
        ip = probe.source_ip(self._sender, self._front.ip, self._t.family)
        source = f"{ip}:{self.port}" if self._t.family == a.V4 else f"[{ip}]:{self.port}"
        line, = self._t.topology.ask(self._sender.place, self._front.protocol, self._front.ip, str(self._front.port),
                                     "--timeout", f"{pace.stretched(timeout_ms):.0f}", "--source", source)
        return line.split()[1] if line.startswith("ok ") else line

    def expect(self, host, occasion):
        answer = self.ask()
        self._t.require(answer == host.name, f"{occasion}: {self._sender.name} → {self._front.ip} port "
                                             f"{self._front.port} was answered by {answer} and not by {host.name}")

    def expect_soon(self, host, occasion):
        self._t.wait_until(lambda: self.ask(200) == host.name, f"{occasion}: {host.name} answers {self._sender.name} at "
                                                               f"{self._front.ip} port {self._front.port}")

    def insert_untranslated(self):
        """An entry as of a packet that no rule translated; see insert()."""
        front = (self._front.ip, self._front.port)
        return insert(self._t, (self._sender.ip(self._t.family), self.port), front, front)

    def insert_late_reply(self):
        """The entry that a late reply to such a packet creates; see insert()."""
        client = (self._sender.ip(self._t.family), self.port)
        return insert(self._t, (self._front.ip, self._front.port), client, client)

    def tracked(self):
        """The kernel's entry for the flow, or an empty string. A late answer to an earlier datagram, after the flow is removed,
        makes an entry of the other direction, which is not the flow: the first port of a line is the sender's."""
        found = [line for line in entries(self._t, self._front.protocol) if line.partition(" sport=")[2].startswith(f"{self.port} ")]
        return found[0] if found else ""

    def expect_removed(self, occasion):
        self._t.wait_until(lambda: not self.tracked(), f"{occasion}: the flow of port {self.port} is removed")


def entries(t, protocol):
    family = "ipv4" if t.family == a.V4 else "ipv6"
    return t.topology.run("node", "conntrack", "-L", "-f", family, "-p", protocol, "-o", "id", check=False).stdout.splitlines()


def number(line):
    """The kernel's number of an entry: identifies it."""
    found = re.search(r" id=(\d+)", line)
    return found.group(1) if found else ""


def insert(t, source, to, answers, protocol="udp", more=()):
    """Creates an entry, of (address, port) pairs, as a rule would have; returns a function that checks that it
    is still there."""
    t.topology.run("node", "conntrack", "-I", "-t", "300", "-p", protocol, "--orig-src", source[0], "--orig-dst", to[0],
                   "--reply-src", answers[0], "--reply-dst", source[0], "--sport", str(source[1]), "--dport", str(to[1]),
                   "--reply-port-src", str(answers[1]), "--reply-port-dst", str(source[1]), *more)
    return lambda: any(f" sport={source[1]} dport={to[1]} " in line for line in entries(t, protocol))


def everywhere(t, service):
    """A client at each kind of address."""
    fronts = service.externals() + t.differs(PRIMARY_ONLY, [service.node(NODE_SECOND)], [])
    return [Client(t, POD, service.cluster()), *(Client(t, EXT, front) for front in fronts)]


@case((106, 108), "an endpoint is removed: its flows move at once, at every address, other flows stay; when the last one "
      "goes, its flows are removed", protocols=UDP, backends=IN_KERNEL, legacy=True, needs=("node-ports",))
def endpoint_removed(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    moving = everywhere(t, service)
    for client in moving:
        client.expect(E1, "while it is the only one")
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in moving:
        client.expect_soon(E2, "after e1 was replaced")
    service.set_endpoints([ready(E1), ready(E2)])
    t.settle()
    for client in moving:
        client.expect(E2, "beside a new endpoint")
    service.set_endpoints([])
    t.settle()
    for client in moving:
        client.expect_removed("after the last endpoint went")


@case(107, "a client that sent before there was an endpoint is served as soon as there is one", protocols=UDP, legacy=True,
      needs=("node-ports",))
def first_endpoint(t):
    service = t.service(type="LoadBalancer", external=True)
    # Replies from outside were not translated. The rules reject the packets later; earlier there were no rules for them.
    clients = [Client(t, POD, service.cluster()), Client(t, EXT, service.external()), Client(t, EXT, service.node())]
    lost = [client.insert_untranslated() for client in clients]
    t.settle()
    t.require(all(there() for there in lost), "a flow without an endpoint was removed")
    service.set_endpoints([ready(E1)])
    t.settle()
    for client in clients:
        client.expect_soon(E1, "after e1 came")


@case(107, "a reply from outside arrives after the entry of its flow was removed: the client reaches the Service",
      protocols=UDP, backends=IN_KERNEL, legacy=True)
def late_reply(t):
    service = t.service(type="LoadBalancer", external=True)
    for _ in range(ATTEMPTS):
        service.set_endpoints([])
        t.settle()
        client = Client(t, EXT, service.external())
        lost = client.insert_untranslated()
        begun = time.monotonic()
        service.set_endpoints([ready(E1)])
        t.wait_until(lambda: not lost(), "the untranslated entry is removed")
        client.insert_late_reply()  # fails if the entry was not created
        in_time = time.monotonic() - begun < LATEST_REPLY
        if in_time:  # on a busy machine the reply may come too late
            break
    t.require(in_time, f"in {ATTEMPTS} attempts no reply arrived within {LATEST_REPLY} s")
    client.expect_soon(E1, "after a late reply from outside")


@case(108, "TCP flows, flows to other ports, foreign translations and other zones are left alone", protocols=UDP,
      exclusive=True)
def others_left_alone(t):
    service = t.service([ready(E1), ready(E2)], type="LoadBalancer", external=True)
    t.settle()
    node, pod, vip = a.NODE.ip(t.family), (E1.ip(t.family), a.POD_PORT), service.cluster()
    client = EXT.ip(t.family)
    port = service.node_port
    foreign = {
        "a TCP flow to the node port": insert(t, (client, 30011), (node, port), pod, "tcp", ["--state", "ESTABLISHED"]),
        "a UDP flow to another port": insert(t, (client, 30012), (node, 8053), (node, 8053)),
        "the translation of a host port to the pod": insert(t, (client, 30013), (node, 8054), pod),
        "the translation of an address that is no Service's": insert(t, (client, 30014), (a.NEIGHBOUR.ip(t.family), 53), pod),
        "a flow through the node to the number of the node port": insert(
            t, (client, 30015), (a.NEIGHBOUR.ip(t.family), port), (a.NEIGHBOUR.ip(t.family), port)),
        "a flow of another zone": insert(t, (client, 30016), (vip.ip, vip.port), pod, more=["-w", "7"]),
    }
    stale = insert(t, (client, 30017), (node, port), pod)
    service.set_endpoints([ready(E2)])
    t.settle()
    t.wait_until(lambda: not stale(), "the stale flow at the node port is removed")
    service.delete()
    t.settle()
    for what, there in foreign.items():
        t.require(there(), f"{what} was removed")
    t.topology.run("node", "conntrack", "-D", "-s", client, check=False)


@case(109, "a terminating endpoint that serves keeps its flows, one that serves no more loses them; policies and "
      "hints remove none", protocols=UDP, backends=["iptables", "nftables"], legacy=True, needs=("node-ports",))
def terminating_endpoint(t):
    service = t.service([ready(E2)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for client in clients:
        client.expect(E2, "at first")
    entries_then = [number(client.tracked()) for client in clients]
    service.set_endpoints([ready(E1), terminating(E2)])
    t.settle()
    service.update(internal_policy="Local", external_policy="Local")
    t.settle()
    service.set_endpoints([ready(E1), ready(E2)])
    t.settle()
    service.update(internal_policy="Cluster", external_policy="Cluster")
    service.set_endpoints([ready(E1, zones=(a.ZONE,)), ready(E2, zones=("elsewhere",))])
    t.settle()
    # A removed endpoint shows that reconciliation has happened since.
    hinted = [ready(E1, zones=(a.ZONE,)), ready(E2, zones=("elsewhere",))]
    service.set_endpoints([*hinted, ready(POD)])
    t.settle()
    witness = insert(t, (POD.ip(t.family), next(OWN_PORTS)), (service.cluster().ip, service.cluster().port),
                     (POD.ip(t.family), a.POD_PORT))
    service.set_endpoints(hinted)
    t.settle()
    t.wait_until(lambda: not witness(), "a flow to a removed endpoint is removed")
    for client in clients:
        client.expect(E2, "after all that")
    t.require([number(client.tracked()) for client in clients] == entries_then, "a flow was created again")
    service.set_endpoints([ready(E1), gone(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(E1, "once e2 serves no more")


@case(109, "a terminating endpoint that serves loses its flows to a ready one: at once, at every address, and "
      "without a gap", protocols=UDP, backends=["ipvs"])
def terminating_endpoint_ipvs(t):
    service = t.service([ready(E2)], type="LoadBalancer", external=True)
    t.settle()
    clients = everywhere(t, service)
    for client in clients:
        client.expect(E2, "at first")
    service.set_endpoints([terminating(E2)])
    t.settle()
    for client in clients:
        client.expect(E2, "while it is the only one")
    service.set_endpoints([ready(E1), terminating(E2)])
    t.settle()
    for client in clients:
        client.expect_soon(t.differs(UDP_MOVES, E2, E1), "beside one that is ready")


@case(None, "a Service is deleted, or loses an address: its flows there are removed, flows "
      "elsewhere stay", protocols=UDP, needs=("node-ports",))
def service_deleted(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    other = t.service([ready(E1)])
    t.settle()
    steady = [Client(t, POD, service.cluster()), Client(t, POD, other.cluster())]
    leaving = [Client(t, EXT, front) for front in (service.external(), service.vip(), service.node())]
    for client in steady + leaving:
        client.expect(E1, "at first")
    service.update(external=False, type="ClusterIP")
    t.settle()
    for client in leaving:
        client.expect_removed("after its address was taken from the Service")
    for client in steady:
        t.require(client.tracked() != "", "a flow to an address that stayed was removed")
    service.delete_service()
    t.settle()
    steady[0].expect_removed("after its Service was deleted")
    t.require(steady[1].tracked() != "", "a flow of another Service was removed")


@own_daemon(None, "a restart without changes removes no flow; changes while no daemon runs are noticed at the "
            "start, a deleted Service included", families=a.FAMILIES, protocols=UDP, sources=["manifests"])
def restart(t):
    services = [t.service([ready(E1)]) for _ in range(3)]
    t.settle()
    clients = [Client(t, POD, service.cluster()) for service in services]
    for client in clients:
        client.expect(E1, "before the restart")
    before = [number(client.tracked()) for client in clients]
    t.bench.daemon.stop()
    t.bench.flags = [*t.bench.flags, "--v=4"]
    t.bench.start_daemon()
    name = "IPv4" if t.family == a.V4 else "IPv6"
    t.require(t.bench.daemon.wait_logged("conntrack]", f"{name}: 0 of", "full scan") is not None, "no reconciling at the start")
    t.require([number(client.tracked()) for client in clients] == before, "a flow was created again")

    t.bench.daemon.stop()
    services[0].set_endpoints([ready(E2)])
    services[1].delete()
    t.bench.start_daemon()
    clients[0].expect_soon(E2, "after its endpoint was replaced while no daemon ran")
    clients[1].expect_removed("after its Service was deleted while no daemon ran")
    t.require(number(clients[2].tracked()) == before[2], "the flow of a Service that stayed was removed")


@own_daemon(None, f"{MANY} tracked flows: a start scans all of them; they are removed when their endpoint goes, and "
            f"memory grows by less than {MOST_GROWTH_MIB} MiB", families=(a.V4,), protocols=UDP, sources=["manifests"],
            above=True)
def many_flows(t):
    # The endpoint that the flows made by ctfill lead to.
    service = t.service([ready(E1, address="10.99.0.0")], ports=[("dns", 53, 53)], spec={"externalIPs": ["172.31.0.0"]})
    t.settle()
    filler = t.bench.programs.tool("ctfill")
    t.topology.run("node", filler, "--count", str(MANY))
    t.defer(lambda: t.topology.run("node", "conntrack", "-D", "-d", "172.31.0.0", check=False))
    t.bench.daemon.stop()
    t.bench.flags = [*t.bench.flags, "--v=4"]
    t.bench.start_daemon()
    line = t.bench.daemon.wait_logged("conntrack]", "IPv4: 0 of", "full scan", seconds=60) or " of 0 flows"
    seen = int(re.search(r" of (\d+) flows", line).group(1))
    t.require(seen >= MANY, f"{seen} flows scanned")

    # An unrelated change first, so that its one-time allocations do not count.
    service.set_endpoints([ready(E1, address="10.99.0.0"), ready(E1, address="10.99.0.1")])
    t.settle()
    service.set_endpoints([ready(E1, address="10.99.0.0")])
    t.wait_until(lambda: re.search(r"IPv4: 0 of \d+ flows removed, [\d.]+ s", t.bench.daemon.log()), "a scan for flows to it")
    before = begin_peak_kib(t)
    service.set_endpoints([ready(E1, address="10.99.0.1")])
    t.require(t.bench.daemon.wait_logged("conntrack]", f"IPv4: {MANY} of ", "flows removed", seconds=60) is not None,
              "one scan did not remove all of them")
    grown = memory_kib(t, "VmHWM") - before
    t.require(WATCHED or grown < MOST_GROWTH_MIB << 10, f"the peak of memory grew by {grown} KiB")


def begin_peak_kib(t):
    """Resets the peak to the current resident memory; the peak of the start would hide a smaller one."""
    with open(f"/proc/{t.bench.daemon.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5\n")
    return memory_kib(t, "VmHWM")


def memory_kib(t, name):
    with open(f"/proc/{t.bench.daemon.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))
