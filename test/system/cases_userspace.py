# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 128–132 and others that only concern a relaying proxy: which endpoint gets the next connection, what becomes of open
ones, and what settings make of both. Ports and rules are in cases_portals.py."""

import contextlib
import ipaddress
import select
import sys
import time

from lib import pace, probe, shell, talk
from lib.addresses import E1, E2, E3, E4, NODE as FIRST, V4
from lib.cases import EXT, POD, REJECTED, UNTOUCHED, case
from lib.objects import ready
from lib.services import ServiceUnderTest
from lib.talk import conversation, served_at

BOTH = [ready(E1), ready(E2)]
THREE = [ready(E1), ready(E2), ready(E3)]
FOUR = [*THREE, ready(E4)]
# With this many lists of three the probability that all keep their order when shuffled again is one in four millions.
LISTS = 22
UDP_SILENCE = 0.8  # three times the UDP timeout
LADDER = 3.75
REMEMBERED = 4
IDLE = 2  # tcpIdleTimeout of the configuration userspace-drain
DIAL = 0.25  # seconds after which another endpoint is dialed
ATTEMPTS = 5
WITH_ONE_SOURCE = {"sources": ["manifests"], "backends": ["userspace"]}
TCP_ONLY = {"protocols": ["tcp"], **WITH_ONE_SOURCE}
UDP_ONLY = {"protocols": ["udp"], **WITH_ONE_SOURCE}
PROXY_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def order(t, service, questions, sender=POD):
    """The endpoints that answer that many connections, one after the other."""
    front = service.cluster()
    lines = probe.ask(t.topology, sender, front.protocol, front.ip, front.port, t.family, questions, pace.stretched(2500))
    return [line.split()[1] if line.startswith("ok ") else line for line in lines]


def complete_order(t, service, questions):
    """As `order`. On a busy machine an endpoint may answer after the UDP timeout of the relay; the
    answer is lost then, and the same number of questions is asked again."""
    for _ in range(ATTEMPTS):
        names = order(t, service, questions)
        if t.protocol != "udp" or "timeout" not in names:
            break
    return names


# Which endpoint is next.


@case(128, "endpoints take turns in a shuffled order; the same ones in another order of the list keep order and turn, others are "
      "shuffled again", legacy=["userspace"], **WITH_ONE_SOURCE)
def turns(t):
    services = [t.service(THREE) for _ in range(LISTS)]
    t.settle()
    first = [complete_order(t, one, 7) for one in services]
    for names in first:
        if set(names[:3]) != {"e1", "e2", "e3"} or names != (names[:3] * 3)[:7]:
            t.require(False, f"no turns: {names}")
            return
    t.require(len({tuple(rotated(names[:3])) for names in first}) == 2, "every list has the same order")
    for one in services:
        one.set_endpoints([ready(E3), ready(E2), ready(E1)])
    t.settle()
    for one, names in zip(services, first):
        again = complete_order(t, one, 3)
        t.require(again == [names[1], names[2], names[0]], f"after {names} came {again}")
    for one in services:
        one.set_endpoints(FOUR)
    t.settle()
    moved = 0
    for one, names in zip(services, first):
        now = complete_order(t, one, 8)
        if set(now[:4]) != {"e1", "e2", "e3", "e4"} or now[:4] != now[4:]:
            t.require(False, f"no turns with four: {now}")
            return
        moved += rotated([name for name in now[:4] if name != "e4"]) != rotated(names[:3])
    t.require(moved > 0, "another set of endpoints was not shuffled")


def rotated(names):
    """The order, from the first name on."""
    at = names.index(min(names))
    return names[at:] + names[:at]


@case(129, "a client stays with its endpoint; if that one refuses it gets the next and stays with it; after the timeout "
      "it is balanced again", legacy=["userspace"], **TCP_ONLY)
def affinity_and_failure(t):
    number = talk.FIRST_PORT + t.bench.allocator.number()
    servers = {}

    def serve(host):
        servers[host.name] = t.topology.serve(host.place, host.name, [number], [t.protocol])
        t.defer(lambda: shell.stop(servers[host.name]))

    serve(E1)
    serve(E2)
    service = t.service(BOTH, ports=[("p80", 80, number)], spec={
        "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": REMEMBERED}}})
    t.settle()
    before = order(t, service, 4)
    t.require(before in (["e1"] * 4, ["e2"] * 4), f"it did not stay: {before}")
    lost, other = (E1, E2) if before[0] == "e1" else (E2, E1)
    for _ in range(ATTEMPTS):
        shell.stop(servers[lost.name])
        asked = time.monotonic()
        moved = order(t, service, 4)
        t.require(moved == [other.name] * 4, f"with {lost.name} dead: {moved}")
        serve(lost)
        back = order(t, service, 2)
        if time.monotonic() - asked < REMEMBERED:  # a busy machine may take longer than the affinity timeout
            break
    t.require(back == [other.name] * 2, f"it did not stay with the new one: {back}")
    time.sleep(REMEMBERED + 1.2)  # fixed time: the affinity timeout expires
    later = order(t, service, 1)
    t.require(later == [lost.name], f"after the timeout it is not the turn of {later}")


def listening(t, service):
    """The proxy ports of that Service that rules lead to, or that are open."""
    title = f"{service.namespace}/{service.name}:"
    led = {int(line.rpartition(" ")[2].rpartition(":")[2]) for line in t.saved("nat") if title in line}
    kind = {"tcp": "-Hltn", "udp": "-Hlun"}[t.protocol]
    return led, {int(line.split()[3].rpartition(":")[2]) for line in t.topology.run("node", "ss", kind).stdout.splitlines()}


@case(130, "with its last endpoint a Service loses its listener: an open connection lives, new ones are rejected until there is "
      "an endpoint again", legacy=["userspace"], **WITH_ONE_SOURCE)
def last_endpoint(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    led, is_open = listening(t, service)
    t.require(led and led <= is_open, f"rules lead to {sorted(led)}, of which not all are open")
    client, endpoint = conversation(t, service, server) if t.protocol == "tcp" else (None, None)
    for _ in range(2):
        service.set_endpoints([])
        t.settle()
        t.expect(POD, service.cluster(), REJECTED)
        t.require(not listening(t, service)[0], "a rule still leads to a listener")
        t.wait_until(lambda: not led & listening(t, service)[1], f"the proxy ports {sorted(led)} are closed")
        t.require(client is None or talk.is_connected(client, endpoint), "an open connection is broken")
        service.set_endpoints([ready(E1)])
        t.settle()
        led, is_open = listening(t, service)
        t.require(led and led <= is_open, f"rules lead to {sorted(led)}, of which not all are open")
        if client:
            conversation(t, service, server)


def drop_packets(t, host, number):
    """Drops packets to that port in the namespace of the host."""
    tool = "iptables-nft" if t.family == V4 else "ip6tables-nft"
    rule = ["INPUT", "-p", t.protocol, "--dport", str(number), "-j", "DROP"]
    t.topology.run(host.place, tool, "-w", "-I", *rule)
    t.defer(lambda: t.topology.run(host.place, tool, "-w", "-D", *rule))


@case(130, f"for an endpoint that does not answer the next one is tried within a second, and if it is the only one, "
      f"the client is closed after {LADDER} s", **TCP_ONLY)
def dial_ladder(t):
    number = talk.FIRST_PORT + t.bench.allocator.number()
    drop_packets(t, E2, number)
    server = t.topology.serve(E1.place, E1.name, [number], [t.protocol])
    t.defer(lambda: shell.stop(server))
    alone = t.service([ready(E2)], ports=[("p80", 80, number)])
    both = t.service(BOTH, ports=[("p80", 80, number)])
    t.settle()
    met = order(t, both, 6)
    t.require(met == ["e1"] * 6, f"with one of two dead: {met}")
    began = time.monotonic()
    client = talk.connect(t, POD, alone.cluster())
    _, last = talk.seconds_until_over(client)
    took = time.monotonic() - began
    t.require(last in (talk.END, talk.RESET), f"it ended with {last}")
    # The upper bound detects an extra step, which takes longer than all others together; a busy machine gets more time.
    t.require(LADDER - 0.3 < took < LADDER + pace.stretched(2), f"the client was given up after {took:.2f} s")


# Open connections.


@case(131, "one end has sent everything, and the other goes on: half-closed in either direction, all data arrives", **TCP_ONLY)
def half_closed(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    much = bytes(range(256)) * 4096
    client, endpoint = conversation(t, service, server)
    client.sendall(b"question")
    client.shutdown(1)
    t.require(talk.receive_all(endpoint) == (b"question", talk.END), "the question did not arrive completely, with its end")
    talk.send_in_background(endpoint, much, endpoint.close)
    t.require(talk.receive_all(client) == (much, talk.END), "the answer did not arrive completely, with its end")
    client, endpoint = conversation(t, service, server)
    endpoint.sendall(b"greeting")
    endpoint.shutdown(1)
    t.require(talk.receive_all(client) == (b"greeting", talk.END), "the greeting did not arrive completely, with its end")
    talk.send_in_background(client, much, client.close)
    t.require(talk.receive_all(endpoint) == (much, talk.END), "what the client sent did not arrive completely, with its end")


@case(131, "an open connection outlives its endpoint and its Service; new ones go elsewhere at once", legacy=["userspace"],
      **TCP_ONLY)
def outlives(t):
    service, (here, there) = served_at(t, E1, E2)
    t.settle()
    opened = [talk.connect(t, POD, service.cluster()) for _ in range(2)]
    ends = [talk.accept(t, server) for server in (here, there)]
    opened[0].sendall(b"which")
    heard = select.select(ends, [], [], pace.stretched(talk.PATIENCE))[0]
    t.require(len(heard) == 1 and talk.receive(heard[0]) == b"which", f"{len(heard)} ends hear the first connection")
    if heard != ends[:1]:
        opened.reverse()
    t.require(talk.is_connected(opened[0], ends[0]), "the connection to e1 does not work")
    t.require(talk.is_connected(opened[1], ends[1]), "the connection to e2 does not work")
    service.set_endpoints([ready(E2)])
    t.settle()
    for _ in range(4):
        _, end = conversation(t, service, there)
        end.close()
    t.require(talk.is_connected(opened[0], ends[0]), "the connection to the endpoint that went is broken")
    service.delete()
    t.settle()
    t.expect(POD, service.cluster(), UNTOUCHED)
    for client, end in zip(opened, ends):
        t.require(talk.is_connected(client, end), "a connection did not outlive its Service")


@case(131, "a UDP client is removed with its Service: nothing passes in either direction any more", **UDP_ONLY)
def datagrams_end(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    client = talk.connect(t, POD, service.cluster())

    def arrives():
        try:
            client.send(b"?")
            server.settimeout(0.2)
            return server.recvfrom(100)[1]
        except OSError:  # refused, or nothing came
            return None

    relay = t.wait_until(arrives, "a datagram arrives")
    server.sendto(b"!", relay)
    t.require(talk.receive(client) == b"!", "no answer while the Service is there")
    ip = service.cluster().ip
    t.require(any(f"{ip}/" in line for line in t.saved()), f"no rule names {ip} while the Service is there")
    service.delete()

    def rules_gone():
        # The client keeps sending: it must not be removed by the UDP timeout.
        with contextlib.suppress(ConnectionRefusedError):
            client.send(b"?")
        return not any(f"{ip}/" in line for line in t.saved())

    t.wait_until(rules_gone, f"no rule names {ip}")
    t.wait_until(lambda: not arrives(), "nothing arrives any more")
    with contextlib.suppress(ConnectionRefusedError):
        server.sendto(b"late", relay)
    t.require(talk.receive(client, 0.5) != b"late", "an answer came although the Service is gone")


@case(132, "a UDP client that is silent too long is removed: its answer is lost, and its next datagram comes from another "
      "port", config="short-udp-timeout", legacy=["userspace"], **UDP_ONLY)
def silent_client(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    relays = []
    for _ in range(3):  # by chance a port may be the same twice
        client.send(b"?")
        relays.append(server.recvfrom(100)[1])
        time.sleep(UDP_SILENCE)  # fixed time: the UDP timeout expires
        t.wait_until(lambda: relays[-1][1] not in open_ports(t), "the socket for the silent client is closed")
        with contextlib.suppress(ConnectionRefusedError):
            server.sendto(b"late", relays[-1])
        t.require(talk.receive(client, 0.3) == talk.SILENCE, "a late answer came through")
    t.require(len(set(relays)) > 1, f"always from {relays[0]}")
    # On a busy machine one of them may take longer than the UDP timeout.
    t.wait_until(lambda: prompt_answer(client, server), "a prompt answer comes through")


def open_ports(t):
    """Local ports of the sockets that processes on the node have open."""
    return {local for local, _ in open_sockets(t)}


def open_sockets(t):
    """(Local port, remote address and port in the format of in_table()) of the sockets that processes on the node have open; the
    kernel's own, as in TIME_WAIT, have inode 0."""
    table = f"/proc/net/{t.protocol}{'' if t.family == V4 else '6'}"
    rows = [line.split() for line in t.topology.run("node", "cat", table).stdout.splitlines()[1:]]
    return {(int(row[1].rpartition(":")[2], 16), row[2]) for row in rows if row[9] != "0"}


def in_table(ip, port):
    """The format of /proc/net: words of four bytes, each in host byte order."""
    packed = ipaddress.ip_address(ip).packed
    words = (int.from_bytes(packed[at:at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def prompt_answer(client, server):
    client.send(b"?")
    server.sendto(b"prompt", server.recvfrom(100)[1])
    return talk.receive(client, 1) == b"prompt"


@case(132, "with --udp-timeout 2s an answer may take a second, and the next datagram comes from the same port",
      config="userspace-reset", **UDP_ONLY)
def longer_silence(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    client = talk.connect(t, POD, service.cluster())

    def patient():
        client.send(b"?")
        relay = server.recvfrom(100)[1]
        time.sleep(UDP_SILENCE)  # fixed time: silence that is shorter than --udp-timeout
        with contextlib.suppress(ConnectionRefusedError):
            server.sendto(b"late", relay)
        if talk.receive(client, 1) != b"late":
            return False
        client.send(b"?")
        return server.recvfrom(100)[1] == relay

    # On a busy machine the silence may be longer than --udp-timeout.
    t.wait_until(patient, "a client that is silent for a shorter time than --udp-timeout keeps its port")


@case(None, "datagrams of every size go through whole, in both directions", **UDP_ONLY)
def sizes(t):
    service, (server,) = served_at(t, E2)
    t.settle()
    client = talk.connect(t, POD, service.cluster())

    sent, seen = set(), set()

    def echoed(data):
        sent.add(data)
        client.send(data)
        try:
            server.settimeout(1)
            got, relay = server.recvfrom(1 << 16)
            server.sendto(got, relay)
            client.settimeout(1)
            back = client.recv(1 << 16)
        except TimeoutError:
            return False
        seen.update((got, back))
        return back == data  # an earlier one may arrive late

    for size in (0, 1, 1400, 4097, 30000, 65000):
        t.wait_until(lambda data=bytes(size % 251 for _ in range(size)): echoed(data), f"{size} bytes come back")
    t.require(seen <= sent, f"something else came, of {sorted(map(len, seen - sent))} bytes")


# With other settings.


@case(None, "whenEndpointRemoved reset: connections to a removed endpoint are reset at once, at both ends; others live",
      config="userspace-reset", **TCP_ONLY)
def reset_when_removed(t):
    service, (server,) = served_at(t, E1)
    other, (steady,) = served_at(t, E2)
    t.settle()
    client, endpoint = conversation(t, service, server)
    t.require(talk.is_connected(client, endpoint), "the connection does not work")
    bystanders = conversation(t, other, steady)
    service.set_endpoints([])
    t.require(talk.receive(client) == talk.RESET, "the client's end was not reset")
    t.require(talk.receive(endpoint) == talk.RESET, "the endpoint's end was not reset")
    t.require(talk.is_connected(*bystanders), "a connection to another endpoint broke")
    other.delete_service()
    t.require(talk.receive(bystanders[0]) == talk.RESET, "a connection of a deleted Service was not reset")


@case(None, "whenEndpointRemoved drain: a connection to a removed endpoint is reset when its drain timeout expires, not before",
      config="userspace-drain", **TCP_ONLY)
def drained_when_removed(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    client, endpoint = conversation(t, service, server)
    t.require(talk.is_connected(client, endpoint), "the connection does not work")
    began = time.monotonic()
    service.set_endpoints([ready(E2)])
    _, last = talk.seconds_until_over(client)
    took = time.monotonic() - began
    t.require(last == talk.RESET, f"the connection ended with {last}")
    # The upper bound detects a drain timeout that is not the configured one of 1 s; a busy machine gets more time.
    t.require(1 <= took < pace.stretched(8), f"it ended after {took:.2f} s")


@case(None, "tcpIdleTimeout: a connection without any data ends, one with data from one end lives",
      config="userspace-drain", **TCP_ONLY)
def idle_connections(t):
    service, (server,) = served_at(t, E1)
    t.settle()
    for _ in range(ATTEMPTS):
        silent = conversation(t, service, server)
        before = time.monotonic()
        speaking = conversation(t, service, server)
        longest_pause, last, over = send_until_other_ends(silent[0], speaking[1], before)
        with contextlib.suppress(OSError):
            speaking[1].sendall(b"!")
        heard = b""
        while b"!" not in heard and isinstance(part := talk.receive(speaking[0]), bytes):
            heard += part
        t.require(last in (talk.END, talk.RESET), f"the silent one ended with {last}")
        if max(longest_pause, time.monotonic() - over) < IDLE:  # a busy machine may let it pause for too long
            break
    t.require(b"!" in heard, f"the speaking one ended, too: {part}")


def send_until_other_ends(silent, speaking, before):
    """One connection sends until the other is over, and for longer than IDLE: its longest pause, how the other ended, and the
    time of the last data."""
    spoke, longest, last = before, 0.0, talk.SILENCE
    while (last == talk.SILENCE and spoke - before < pace.stretched(9)) or spoke - before < 3:
        time.sleep(0.3)  # fixed time: the rate at which one end sends
        with contextlib.suppress(OSError):  # the caller finds that it is over
            speaking.sendall(b".")
        longest, spoke = max(longest, time.monotonic() - spoke), time.monotonic()
        if last == talk.SILENCE:
            last = talk.receive(silent, 0.01)
    return longest, last, spoke


@case(None, "leastConnections: the next connections go to the endpoint with the fewest, until it has as many as others",
      config="userspace-reset", **TCP_ONLY)
def least_connections(t):
    choice_of_endpoints(t)


@case(None, "powerOfTwoChoices: of two endpoints the next connections go to the one with fewer",
      config="userspace-drain", **TCP_ONLY)
def two_choices(t):
    choice_of_endpoints(t)


class TooSlow(Exception):
    """An endpoint received a connection so late that another endpoint may have been tried before."""


def choice_of_endpoints(t):
    # A busy machine may send no data for the idle timeout, or open a connection so slowly that the relay tries another
    # endpoint. Neither is a fault of the choice.
    for left in reversed(range(ATTEMPTS)):
        try:
            return fewest_first(t)
        except (BrokenPipeError, ConnectionResetError, TooSlow):
            if not left:
                raise


def fewest_first(t):
    service, servers = served_at(t, E1, E2)
    t.settle()
    speaking = []

    def open_many(count):
        """Connections, by the endpoint that accepted them. A silent connection would end after IDLE, and the count of
        its endpoint one less."""
        made = {0: [], 1: []}
        for _ in range(count):
            for talker in speaking:
                talker.sendall(b".")
            begun = time.monotonic()
            client = talk.connect(t, POD, service.cluster())
            which, endpoint = accepted(t, servers)
            if (took := time.monotonic() - begun) >= DIAL:
                raise TooSlow(f"{took:.2f} s for a connection")
            made[which].append((client, endpoint))
            speaking.append(client)
        return made

    def still_open(index):
        """The number of the daemon's sockets to that endpoint, after data on each connection that must stay: on a busy machine
        IDLE passes meanwhile. Their ports are not those that the endpoint sees."""
        for talker in speaking:
            talker.sendall(b".")
        return sum(remote == places[index] for _, remote in open_sockets(t))

    first = open_many(6)
    t.require(len(first[0]) == len(first[1]) == 3, f"six connections: {len(first[0])} and {len(first[1])}")
    places = [in_table(*first[index][0][1].getsockname()[:2]) for index in (0, 1)]
    t.require(still_open(0) == 3, f"three connections of the daemon are not among {open_sockets(t)}")
    for client, endpoint in first[0]:
        speaking.remove(client)
        client.close()
        endpoint.close()
    t.wait_until(lambda: still_open(0) == 0, "the daemon has closed the connections to this endpoint")
    then = open_many(3)
    t.require(still_open(1) == 3, "the connections to the other endpoint are over")
    t.require(len(then[0]) == 3, f"of three more {len(then[0])} went to the endpoint without any")


def accepted(t, servers):
    """The server that gets a connection, and its end of the connection."""
    deadline = time.monotonic() + pace.stretched(talk.PATIENCE)
    while time.monotonic() < deadline:
        for index, server in enumerate(servers):
            server.settimeout(0.05)
            try:
                endpoint, _ = server.accept()
            except TimeoutError:
                continue
            t.defer(endpoint.close)
            return index, endpoint
    raise TimeoutError("no server got the connection")


@case(None, "an endpoint that refuses several times is skipped, no client fails, and it is used again when it answers",
      config="userspace-drain", **TCP_ONLY)
def outlier(t):
    number = talk.FIRST_PORT + t.bench.allocator.number()
    live = t.topology.serve(E1.place, E1.name, [number], [t.protocol])
    t.defer(lambda: shell.stop(live))
    tool = "iptables-nft" if t.family == V4 else "ip6tables-nft"
    rule = ["INPUT", "-p", "tcp", "--syn", "--dport", str(number), "-m", "comment", "--comment", "dials"]
    t.topology.run(E2.place, tool, "-w", "-I", *rule)
    t.defer(lambda: t.topology.run(E2.place, tool, "-w", "-D", *rule))
    service = t.service(BOTH, ports=[("p80", 80, number)])
    t.settle()
    began = time.monotonic()
    met = order(t, service, 100)
    took = time.monotonic() - began
    t.require(met == ["e1"] * 100, f"a client noticed: {[name for name in met if name != 'e1'][:3]}")
    counted = next(line for line in t.topology.run(E2.place, tool, "-w", "-L", "INPUT", "-nvx").stdout.splitlines()
                   if f"dpt:{number} " in line)
    dials = int(counted.split()[0])
    # Two dials to detect it, and one retry per second, as measured here; without outlier detection about fifty.
    t.require(2 <= dials <= 4 + took, f"{dials} dials of the dead endpoint in {took:.1f} s")
    back = t.topology.serve(E2.place, E2.name, [number], [t.protocol])
    t.defer(lambda: shell.stop(back))
    t.wait_until(lambda: "e2" in order(t, service, 5), "the endpoint is used again", seconds=20)


@case(None, "proxyProtocol: the endpoint receives the client's address and the destination address, before any data; other "
      "Services get data only", config="userspace-reset", **TCP_ONLY)
def proxy_protocol(t):
    server, number = talk.listen(t, E1)
    named = ServiceUnderTest(t.bench.source, t.bench.allocator.number(), "named", t.family, t.protocol, [ready(E1)],
                             name=f"svc-{t.family}", ports=[("p80", 80, number)], type="LoadBalancer", external=True)
    t.defer(named.delete)
    other = t.service([ready(E1)], ports=[("p80", 80, number)])
    t.settle()
    for sender, front in ((POD, named.cluster()), (EXT, named.node()), (EXT, named.vip()), (FIRST, named.cluster())):
        client = talk.connect(t, sender, front)
        client.sendall(b"hello")
        endpoint = talk.accept(t, server)
        wanted = proxy_header(t, client, front) + b"hello"
        got = b""
        while len(got) < len(wanted) and isinstance(part := talk.receive(endpoint), bytes):
            got += part
        t.require(got == wanted, f"from {sender.name} to {front.ip} the endpoint got {got!r}, not {wanted!r}")
    client, endpoint = conversation(t, other, server)
    client.sendall(b"hello")
    t.require(talk.receive(endpoint) == b"hello", "another Service's endpoint received more than was sent")


def proxy_header(t, client, front):
    """Version 2, command PROXY, TCP."""
    source, source_port = client.getsockname()[:2]
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(front.ip).packed
    ports = source_port.to_bytes(2, "big") + front.port.to_bytes(2, "big")
    kind = b"\x11" if t.family == V4 else b"\x21"
    return PROXY_SIGNATURE + b"\x21" + kind + len(addresses + ports).to_bytes(2, "big") + addresses + ports
