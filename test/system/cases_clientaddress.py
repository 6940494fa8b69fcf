# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Which address of a client an endpoint sees, where more than the rules of the proxy decides: reverse path filters, bridges,
rules of other programs, ports that are in use, endpoints on the node itself."""

import os
import socket
import struct
import time

from lib import addresses as a
from lib import netns_http, swapping, talk
from lib.cases import EXT, NODE, POD, Skip, case, kept, masqueraded, own_daemon
from lib.addresses import E1, E2
from lib.objects import ready

PLAIN = {"sources": ["manifests"], "backends": ["iptables", "nftables", "userspace"]}
OWN = {**PLAIN, "families": a.FAMILIES, "protocols": ("tcp", "udp")}
WIDTH = {a.V4: 32, a.V6: 128}
FAMILY = {a.V4: "ipv4", a.V6: "ipv6"}  # of conntrack
PROGRAM = {a.V4: "iptables", a.V6: "ip6tables"}
# On a bridge of the node, beside the other links of these pods.
BRIDGE = a.Host("bridge", "10.180.0.129", "fd00:10:0:180::8001")
BRIDGED_POD = a.Host("bridged-pod", "10.180.0.130", "fd00:10:0:180::8002", a.NODE_NAME, namespace="pod")
BRIDGED_E1 = a.Host("bridged-e1", "10.180.0.131", "fd00:10:0:180::8003", a.NODE_NAME, namespace="e1")
BRIDGE_PREFIX = {a.V4: 25, a.V6: 113}

# linux/tcp.h
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 19, 20, 21
RECEIVE_QUEUE, SEND_QUEUE = 1, 2
FAR = 10_000_000  # bytes beyond the window
PAUSE = 6  # seconds
SOON = 5  # seconds


def seen_by(t, server):
    """The address and port of the client of the next connection or datagram."""
    if t.protocol == "tcp":
        return talk.accept(t, server).getpeername()[:2]
    return server.recvfrom(100)[1][:2]


def ask_from(t, sender, front, server, port):
    """Connects from that port, and returns what the endpoint sees."""
    client = talk.connect(t, sender, front, port=port)
    if t.protocol == "udp":
        client.send(b"here")
    return seen_by(t, server)


@own_daemon(None, "a client on the same bridge as the endpoint keeps its address, as one on another link does", **OWN)
def bridged(t):
    put_on_bridge(t)
    service = t.service([ready(E1, address=BRIDGED_E1.ip(t.family))])
    remote = t.service([ready(E2)])
    t.settle()
    for one in (service, remote):
        route = [f"{one.cluster().ip}/{WIDTH[t.family]}", "via", BRIDGE.ip(t.family), "dev", "eth1"]
        t.topology.run("pod", "ip", "route", "add", *route)
    t.expect(BRIDGED_POD, service.cluster(), kept("e1"))
    t.expect(BRIDGED_POD, remote.cluster(), kept(E2))
    t.expect(POD, service.cluster(), kept("e1"))


def put_on_bridge(t):
    """Gives two pods a second link, to a bridge of the node whose packets pass the rules."""
    made = ["link add name pods type bridge mcast_snooping 0 forward_delay 0", "link set pods up"]
    made += [f"addr add {BRIDGE.v4}/{BRIDGE_PREFIX[a.V4]} dev pods", f"addr add {BRIDGE.v6}/{BRIDGE_PREFIX[a.V6]} dev pods nodad"]
    for host in (BRIDGED_POD, BRIDGED_E1):
        there = t.topology.namespace(host.place)
        made += [f"link add name on-{host.place} type veth peer name eth1 netns {there}",
                 f"link set on-{host.place} master pods up"]
        inside = [f"addr add {host.v4}/{BRIDGE_PREFIX[a.V4]} dev eth1",
                  f"addr add {host.v6}/{BRIDGE_PREFIX[a.V6]} dev eth1 nodad",
                  "link set eth1 up"]
        t.defer(lambda host=host: t.topology.run("node", "ip", "link", "del", f"on-{host.place}"))
        t.topology.run("node", "ip", "-batch", "-", stdin="\n".join(made) + "\n")
        t.topology.run(host.place, "ip", "-batch", "-", stdin="\n".join(inside) + "\n")
        made = []
    t.defer(lambda: t.topology.run("node", "ip", "link", "del", "pods"))
    for name in ("iptables", "ip6tables"):
        setting = f"net.bridge.bridge-nf-call-{name}=1"
        if t.topology.run("node", "sysctl", "-qw", setting, check=False).returncode != 0:
            raise Skip("the kernel has no br_netfilter")


@own_daemon(None, "strict reverse path filters do not change which address an endpoint sees", **(OWN | {"families": [a.V4]}))
def strict_reverse_path(t):
    strict = [f"net.ipv4.conf.{name}.rp_filter" for name in ("all", "default", "eth0", "vethpod", "vethe1")]
    for place, names in (("node", strict), ("node2", strict[:3])):
        t.topology.run(place, "sysctl", "-qw", *(f"{name}=1" for name in names))
        t.defer(lambda place=place, names=names: t.topology.run(place, "sysctl", "-qw", *(f"{name}=0" for name in names)))
    service = t.service([ready(E1), ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(POD, service.externals(), kept(E1, E2))
    t.expect(EXT, service.externals(), kept(E1))
    t.expect(NODE, service.cluster(), masqueraded(E1, E2))


@case(None, "a rule of another program masquerades a pod on its way to an endpoint: the endpoint sees the node", exclusive=True,
      **PLAIN)
def masqueraded_by_others(t):
    service = t.service([ready(E1)])
    outside = t.service([ready(E2)])
    rule = ["POSTROUTING", "-s", POD.ip(t.family), "-d", E2.ip(t.family), "-j", "MASQUERADE"]
    iptables = os.path.join(t.topology.tools.path, PROGRAM[t.family])
    t.topology.run("node", iptables, "-w", "-t", "nat", "-A", *rule)
    try:
        t.settle()
        t.expect(POD, service.cluster(), kept(E1))
        t.expect(POD, outside.cluster(), masqueraded(E2))
    finally:
        t.topology.run("node", iptables, "-w", "-t", "nat", "-D", *rule)
    # The relay asks the kernel again after ten seconds.
    t.expect_soon(POD, outside.cluster(), kept(E2), 30)


@case(None, "a client whose port another connection to the endpoint has keeps its address, with another port", **PLAIN)
def port_in_use(t):
    server, number = talk.listen(t, E1)
    services = [t.service([ready(E1)], ports=[("p80", 80, number)]) for _ in range(2)]
    t.settle()
    port = 20000 + t.bench.allocator.number()
    first, second = (ask_from(t, POD, service.cluster(), server, port) for service in services)
    t.require(first == (POD.ip(t.family), port), f"the endpoint saw {first} of the first connection")
    t.require(second[0] == POD.ip(t.family) and second[1] != port, f"the endpoint saw {second} of the second connection")


@own_daemon(None, "the first answer of an endpoint is lost: the second dial succeeds, and the endpoint sees the client's address",
            families=a.FAMILIES, protocols=("tcp",), sources=("manifests",), backends=("userspace",))
def dialled_again(t):
    """The endpoint keeps the half-open connection of the first dial. From the same port it would answer a second dial for that one,
    which the node would reset."""
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    answers = ["OUTPUT", "-p", "tcp", "--sport", str(number), "--tcp-flags", "SYN,ACK", "SYN,ACK"]
    first = ["-m", "statistic", "--mode", "nth", "--every", "65535", "--packet", "0"]
    iptables = os.path.join(t.topology.tools.path, PROGRAM[t.family])
    t.topology.run(E1.place, iptables, "-w", "-A", *answers, *first, "-j", "DROP")
    t.defer(lambda: t.topology.run(E1.place, iptables, "-w", "-D", *answers, *first, "-j", "DROP"))
    port = 20000 + t.bench.allocator.number()
    seen = ask_from(t, POD, service.cluster(), server, port)
    t.require(seen[0] == POD.ip(t.family) and seen[1] != port, f"the endpoint saw {seen} of a client with port {port}")


@case(None, "an endpoint with an address of the node sees pods and outside clients as other endpoints do", **PLAIN)
def on_the_node(t):
    server, number = talk.listen(t, NODE)
    service = t.service([ready(E1, address=a.NODE.ip(t.family))], type="LoadBalancer", vip=True, external_policy="Local",
                        ports=[("p80", 80, number)])
    t.settle()
    for sender, front in ((POD, service.cluster()), (POD, service.vip()), (EXT, service.vip())):
        port = 20000 + t.bench.allocator.number()
        seen = ask_from(t, sender, front, server, port)
        t.require(seen[0] == sender.ip(t.family), f"{sender.name} → {front.ip}: the endpoint saw {seen}")


@case(None, "a packet of the endpoint outside of the window does not reset a connection", protocols=["tcp"], families=[a.V4],
      sources=["manifests"], backends=["iptables", "userspace"])
def outside_of_the_window(t):
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    endpoint = talk.accept(t, server)
    client.sendall(b"first")
    t.require(endpoint.recv(100) == b"first", "no data before")
    segment, peer = stray_segment(endpoint), endpoint.getpeername()[0]
    raw = netns_http.made_in(t.topology.namespace(E1.place),
                             lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))
    with raw:
        for _ in range(3):
            raw.sendto(segment, (peer, 0))
    client.sendall(b"second")
    t.require(endpoint.recv(100) == b"second", "no data after the segments")
    endpoint.sendall(b"third")
    t.require(talk.receive(client) == b"third", "no answer after the segments")


def stray_segment(one):
    """A TCP segment to the peer of the socket, far outside of the window. A host that does not know the connection answers it
    with a reset that the socket would accept."""
    source, destination = one.getsockname(), one.getpeername()
    next_to_send, next_expected = (number_of(one, queue) for queue in (SEND_QUEUE, RECEIVE_QUEUE))

    def packed(checksum):
        return struct.pack("!HHIIBBHHH", source[1], destination[1], (next_to_send + FAR) & 0xffffffff, next_expected, 5 << 4,
                           0x10, 1000, checksum, 0)

    header = socket.inet_aton(source[0]) + socket.inet_aton(destination[0]) + struct.pack("!BBH", 0, socket.IPPROTO_TCP, 20)
    words = struct.unpack("!16H", header + packed(0))
    total = sum(words)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return packed(~total & 0xffff)


def number_of(one, queue):
    """The next sequence number of a queue of the socket."""
    one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    try:
        one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, queue)
        return one.getsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ) & 0xffffffff
    finally:
        one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, -1)  # off, without a packet


@own_daemon(None, "a UDP client that pauses until its conntrack entry has expired keeps its address", families=a.FAMILIES,
            protocols=("udp",), sources=("manifests",), backends=("userspace",))
def paused(t):
    for name in ("udp_timeout", "udp_timeout_stream"):
        t.topology.run("node", "sysctl", "-qw", f"net.netfilter.nf_conntrack_{name}=1")
    t.bench.daemon.stop()
    t.bench.flags = [*t.bench.flags, "--udp-timeout", "2m"]
    t.bench.start_daemon()
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    ask_and_answer(t, client, server, "at first")
    time.sleep(PAUSE)  # fixed time: the relay checks its entry only after a pause
    t.wait_until(lambda: f"dport={number}" not in t.topology.run("node", "conntrack", "-L", "-p", "udp", check=False).stdout,
                 "the entry has expired")
    ask_and_answer(t, client, server, "after the pause")


def ask_and_answer(t, client, server, occasion):
    client.send(b"ask")
    seen = server.recvfrom(100)[1]
    t.require(seen[:2] == client.getsockname()[:2], f"{occasion} the endpoint saw {seen}")
    server.sendto(b"answer", seen)
    t.require(talk.receive(client) == b"answer", f"{occasion} no answer")


@own_daemon(None, "an answer that an endpoint sends after the client's conntrack entry is gone does not hide the client",
            **(OWN | {"protocols": ("udp",)}))
def late_answer(t):
    """The relay must not take the entry of that answer for one of the client, whose source is translated."""
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    port = 20000 + t.bench.allocator.number()
    server.sendto(b"late", (POD.ip(t.family), port))
    t.wait_until(lambda: f"sport={number} dport={port}" in t.topology.run("node", "conntrack", "-L", "-f", FAMILY[t.family], "-p", "udp",
                                                                        check=False).stdout, "the late answer has an entry")
    seen = ask_from(t, POD, service.cluster(), server, port)
    t.require(seen[0] == POD.ip(t.family), f"the endpoint saw {seen}")


@own_daemon(None, "after kill -9 no client is shown with the address of one that the killed process served",
            **(OWN | {"backends": ["userspace"]}))
def killed(t):
    """The entries of the killed process are still there, and the ports of their sockets are used again."""
    setting = "net.ipv4.ip_local_port_range"
    before = t.topology.run("node", "sysctl", "-n", setting).stdout.strip()
    t.topology.run("node", "sysctl", "-qw", f"{setting}=40000 40063")
    t.defer(lambda: t.topology.run("node", "sysctl", "-qw", f"{setting}={before}"))
    service = t.service([ready(E1)])
    t.settle()
    t.expect_one(POD, service.cluster(), kept(E1), questions=24)
    t.bench.daemon.kill()
    t.bench.start_daemon()
    t.settle()
    t.expect_one(EXT, service.cluster(), masqueraded(E1), questions=12)


@own_daemon(None, "the status says that client addresses are kept, or names the capability that is missing and the remedy",
            families=a.FAMILIES, sources=("manifests",), backends=("iptables", "userspace"), variants=("nft",))
def in_the_status(t):
    service = t.service([ready(E2)])
    t.settle()
    if t.bench.backend != "userspace":
        t.require(not addresses_of(t), f"another mode reports {addresses_of(t)}")
        return
    t.expect(POD, service.cluster(), kept(E2))
    t.require(addresses_of(t) == {"name": "client addresses", "value": "kept unless rules masquerade them"}, f"with every capability: {addresses_of(t)}")
    family = {a.V4: "IPv4", a.V6: "IPv6"}[t.family]
    t.require(f"{family} client addresses: kept" in t.bench.daemon.status_page(), t.bench.daemon.status_page())
    complete = t.bench.daemon.command
    t.bench.daemon.stop()
    t.bench.daemon.command = lambda *flags: ["setpriv", "--bounding-set=-net_raw", *complete(*flags)]
    t.bench.start_daemon()
    t.settle()
    t.expect(POD, service.cluster(), masqueraded(E2))
    remedy = "run the daemon with the capability CAP_NET_RAW"
    wanted = {"name": "client addresses", "value": "hidden, endpoints see the node: CAP_NET_RAW is missing", "remedy": remedy}
    t.require(addresses_of(t) == wanted, f"without CAP_NET_RAW: {addresses_of(t)}")
    page = t.bench.daemon.status_page()
    t.require(f"{family} client addresses: hidden, endpoints see the node: CAP_NET_RAW is missing; {remedy}" in page, page)
    t.require(t.bench.daemon.wait_logged("endpoints see the address of the node", "CAP_NET_RAW"), t.bench.daemon.log_tail())


def addresses_of(t):
    """What the status says of client addresses in the family of the trial."""
    name = {a.V4: "IPv4", a.V6: "IPv6"}[t.family]
    facts = next((one["facts"] for one in t.status()["families"] if one["family"] == name), ())
    return next((fact for fact in facts if fact["name"] == "client addresses"), None)


# Occasion, settings of lib/swapping.py, and whether the endpoint sees a pod that connects to the cluster IP.
CHANGES = (
    ("masqueradeAll", {"parts": ", masqueradeAll: true"}, False),
    ("without masqueradeAll", {"parts": ""}, True),
    ("another range of the cluster", {"cidrs": "10.1.0.0/16,fd00:11::/48"}, False),
    ("the range of the cluster", {"cidrs": ",".join(a.CLUSTER_CIDR.values())}, True),
)


@own_daemon(None, "masqueradeAll and the range of the cluster change by a reload: new clients have the address that the settings "
            "require, established connections continue", families=a.FAMILIES, protocols=("tcp", "udp"), sources=("manifests",),
            backends=("userspace",))
def changed_by_reload(t):
    daemon = swapping.Swappable(t, t.bench.backend)
    service, (server,) = talk.served_at(t, E2)
    steady = t.service([ready(E2)])
    t.settle()
    t.expect(POD, steady.cluster(), kept(E2))
    for occasion, settings, shown in CHANGES:
        established = talk.conversation(t, service, server) if t.protocol == "tcp" else ()
        daemon.write(**settings)
        daemon.require_reload(occasion)
        t.expect_soon(POD, steady.cluster(), kept(E2) if shown else masqueraded(E2), SOON)
        t.require(not established or talk.is_connected(*established), f"{occasion}: an established connection is broken")
    t.require(daemon.serving() == "userspace" and not daemon.last_swap(), f"the backend was swapped: {daemon.last_swap()}")
