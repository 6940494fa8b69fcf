# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""IPVS mode while endpoints go: no client is cut before the timeout, none fails, none waits."""

import errno
import socket
import struct
import time

from lib import ipvs, pace, probe, relay, talk
from lib.addresses import E1, E2, E3, E4
from lib.cases import EXT, POD, case, kept
from lib.objects import ready

ONLY = {"backends": ["ipvs"], "sources": ["manifests"]}
TCP_ONLY = {"protocols": ["tcp"], **ONLY}
DRAIN, LONG_DRAIN = 6, 20  # seconds, of the configurations of these names
TURN = (E1, E2, E3, E4)
RATE = round(200 / pace.SLOWNESS)  # new connections a second
HAMMERS = 4
OWN_PORTS = iter(range(30001, 39999))
SCAN_INTERVAL = 2  # seconds at most between two scans of the kernel by the daemon, in these configurations
TOTAL_RETRANSMISSIONS = 100  # where in struct tcp_info (linux/tcp.h) tcpi_total_retrans is


# With default settings.


class Crowd:
    """Clients of one Service: four downloads, and new connections at a steady rate."""

    def __init__(self, t, service, port):
        self._t = t
        front = service.cluster(81)
        self._downloads = relay.Client(t, POD, front, connections=4, together=True, down=1 << 30, read_rate=200_000, seed=port)
        t.require(self._downloads.wait_open(), "the downloads could not begin")
        self._front = service.cluster()
        self._hammers = [self._hammer(self._front) for _ in range(HAMMERS)]

    def _hammer(self, front):
        process = self._t.topology.start(
            POD.place, self._t.topology.netecho, "hammer", "tcp", front.ip, str(front.port), "--seconds", "3600", "--interval",
            str(round(1000 * HAMMERS / RATE)), "--timeout", str(round(pace.stretched(probe.HAMMER_TIMEOUT_MS))),
            stdout=probe.subprocess.PIPE)
        self._t.defer(lambda: probe.shell.stop(process))
        return process

    def wait_connected(self, *hosts, times=10):
        """Returns once the kernel has counted that many more connections to each of these endpoints."""
        def count():
            found = ipvs.connections(self._t, self._front)
            known = [found.get(ipvs.real(self._t, host)) for host in hosts]
            return [one.active + one.inactive if one else 0 for one in known]

        before, names = count(), ", ".join(host.name for host in hosts)
        self._t.wait_until(lambda: all(now >= then + times for then, now in zip(before, count())), f"new connections go to {names}")

    def end(self):
        """Totals of the hammers, and of the downloads."""
        for process in self._hammers:
            process.terminate()
        counts = [probe.json.loads(process.communicate(timeout=pace.stretched(20))[0]) for process in self._hammers]
        total = {name: sum(one[name] for one in counts) for name in ("ok", "failed")}
        total["rate"] = round(sum((one["ok"] + one["failed"]) / one["seconds"] for one in counts))
        total["first_failure"] = next((one["first_failure"] for one in counts if one["first_failure"]), "")
        return total, self._downloads.stop()


@case(None, f"all endpoints of a Service are replaced, one after the other, twice: of {RATE} new connections per second none "
      "fails that succeeds without a rolling update, and no download is cut", exclusive=True, **{**TCP_ONLY, "families": ["v4"]})
def rolling_update(t):
    port = next(relay.PORTS)
    for host in TURN:
        relay.Server(t, host, port)
    rolled, left_alone = (t.service([ready(E1), ready(E2)], ports=[("p80", 80, 80), ("p81", 81, port)]) for _ in range(2))
    t.settle()
    rolled_crowd, crowd = Crowd(t, rolled, port), Crowd(t, left_alone, port)
    for one in (rolled_crowd, crowd):
        one.wait_connected(E1, E2)
    for at in range(1, 2 * len(TURN) + 1):
        # The new endpoint comes before the old one goes, as in a Deployment.
        one, other, new = (TURN[(at + more) % len(TURN)] for more in (-1, 0, 1))
        rolled.set_endpoints([ready(one), ready(other), ready(new)])
        rolled_crowd.wait_connected(new)
        rolled.set_endpoints([ready(other), ready(new)])
        t.settle()
    t.expect(POD, rolled.cluster(), kept(E1, E2))
    (with_update, downloads), (without, steady) = rolled_crowd.end(), crowd.end()
    t.remark(f"with the update {with_update}, without {without}")
    t.require(with_update["ok"] > 0 and with_update["failed"] <= without["failed"],
              f"{with_update['failed']} of {with_update['ok'] + with_update['failed']} connections failed, first: "
              f"{with_update['first_failure']}; without an update {without['failed']}")
    for name, counts in (("with the update", downloads), ("without", steady)):
        t.require(counts["failed"] == 0 and counts["open"] == 4, f"downloads {name}: {counts}")


@case(None, "a UDP client moves to another endpoint at once when its own is removed, and back", **{**ONLY, "protocols": ["udp"]})
def datagrams_move(t):
    service, (here, there) = talk.served_at(t, E1, E2)
    number = service.wanted["ports"][0][2]
    service.set_endpoints([ready(E1)])
    t.settle()
    client = talk.connect(t, POD, service.cluster())
    for host, server in ((E1, here), (E2, there), (E1, here)):
        service.set_endpoints([ready(host)])
        t.settle()
        t.require(ipvs.weights(t, service.cluster()) == {ipvs.real(t, host, number): 1}, "another real server is left")
        t.wait_until(lambda server=server: exchanged(client, server), f"datagrams arrive at {host.name}, and answers come back",
                     seconds=3)


def exchanged(client, server):
    try:
        client.send(b"?")
        server.settimeout(pace.stretched(0.2))
        _, source = server.recvfrom(100)
        server.sendto(b"!", source)
        return talk.receive(client, pace.stretched(0.3)) == b"!"
    except OSError:  # refused, or nothing came
        return False


# One source port.


def greet_and_close(listener, name):
    """Serves each connection for as long as the listener is open: sends its name, and closes first."""
    def work():
        while True:
            try:
                conversation, _ = listener.accept()
                with conversation:
                    conversation.sendall(name.encode())
            except TimeoutError:
                continue
            except OSError:
                return

    talk.threading.Thread(target=work, daemon=True).start()


def met(t, front, port, abort):
    """The endpoint that answers from that source port, the number of retransmissions, and the duration."""
    began = None

    def connect():
        nonlocal began
        began = time.monotonic()
        try:
            return talk.connect(t, EXT, front, patience=pace.stretched(20), port=port)
        except OSError as error:
            # The last acknowledgement of the earlier connection from this port has not arrived yet.
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            return None

    client = t.wait_until(connect, f"port {port} of {EXT.name} is free again")
    name, _ = talk.receive_all(client)
    took = time.monotonic() - began
    again, = struct.unpack_from("=I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), TOTAL_RETRANSMISSIONS)
    if abort:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    return name.decode(), again, took


@case(None, "a client that reuses a source port after its real server was removed is served by another one as "
      "quickly as from a fresh port; also if the earlier connection was reset, and if the removed pod does not answer",
      exclusive=True, legacy=["ipvs"], **TCP_ONLY)
def one_source_port(t):
    service, (here, there) = talk.served_at(t, E1, E2)
    number = service.wanted["ports"][0][2]
    greet_and_close(here, "e1")
    greet_and_close(there, "e2")
    front = service.cluster()
    slowest = []

    def repeated(turn):
        """The number of retransmissions when the port was used a second and a third time."""
        stay, go = ((E1, E2), (E2, E1))[turn % 2]
        port = next(OWN_PORTS)
        service.set_endpoints([ready(go)])
        t.settle()
        name, _, _ = met(t, front, port, abort=turn >= 4)
        t.require(name == go.name, f"at first {name} answered, not {go.name}")
        service.set_endpoints([ready(stay)])
        t.settle()
        silent = turn in (2, 3)
        if silent:
            blackhole(t, go, number, True)
        both = [met(t, front, port, abort=False) for _ in range(2)]
        if silent:
            blackhole(t, go, number, False)
        for name, _, took in both:
            t.require(name == stay.name, f"from the same port {name or 'no endpoint'} answered, not {stay.name} (turn {turn})")
            slowest.append(took)
        return sum(again for _, again, _ in both)

    for turn in range(6):
        # A fault of the product occurs each time; a stall of the machine does not.
        tries = [repeated(turn)]
        while tries[-1] > 0 and len(tries) < 4:
            tries.append(repeated(turn))
        t.require(tries[-1] == 0, f"in turn {turn}, from the same port, packets were sent again: {tries}")
    t.remark(f"the slowest from the same port took {max(slowest):.3f} s")


def blackhole(t, host, number, on):
    tool = "iptables-nft" if t.family == "v4" else "ip6tables-nft"
    t.topology.run(host.place, tool, "-w", "-I" if on else "-D", "INPUT", "-p", "tcp", "--dport", str(number), "-j", "DROP")


@case(None, "a UDP client that reuses a source port after its real server was removed is answered at the second of "
      "two datagrams at the latest", exclusive=True, **{**ONLY, "protocols": ["udp"]})
def one_source_port_udp(t):
    service = t.service([ready(E1)])
    t.settle()
    front = service.cluster()
    for turn in range(4):
        port = next(OWN_PORTS)
        stay, go = ((E1, E2), (E2, E1))[turn % 2]
        service.set_endpoints([ready(go)])
        t.settle()
        t.require(asked_from(t, front, port) == go.name, f"{go.name} did not answer at first")
        service.set_endpoints([ready(stay)])
        t.settle()
        # The kernel drops the first one when it finds that its real server is gone.
        names = [asked_from(t, front, port) for _ in range(2)]
        t.require(names[1] == stay.name, f"from the same port came {names}, not {stay.name}")


def asked_from(t, front, port):
    source = ipvs.where(POD.ip(t.family), port)
    line, = t.topology.ask(POD.place, "udp", front.ip, str(front.port), "--timeout", str(round(pace.stretched(2000))), "--source",
                           source)
    return line.split()[1] if line.startswith("ok ") else line


# Deadlines.


def end_of(client, endpoint, patience):
    """The time of the last exchange between both ends; None if they still communicate after the patience."""
    last = began = time.monotonic()
    while last - began < patience:
        if not talk.is_connected(client, endpoint, pace.stretched(3)):
            return last
        last = time.monotonic()
        time.sleep(0.2)  # poll interval
    return None


def require_drained(t, drain, took):
    """The deadline is real time, so the bounds are fixed. The daemon checks deadlines as often as the kernel; a busy machine
    delays that, and the traffic that shows the end."""
    t.require(drain - t.busiest.stretched(0.5) <= took < drain + SCAN_INTERVAL + t.busiest.stretched(1), f"it ended after {took:.1f} s")


def held_at(t, host, other):
    """A Service with an open connection to the first of two endpoints, which is then removed; returns the removal time, too."""
    service, (server, _) = talk.served_at(t, host, other)
    service.set_endpoints([ready(host)])
    t.settle()
    client, endpoint = talk.conversation(t, service, server)
    t.require(talk.is_connected(client, endpoint), "the connection does not work")
    went = time.monotonic()
    service.set_endpoints([ready(other)])
    t.settle()
    return service, client, endpoint, went


@case(None, f"whenEndpointRemoved drain: a connection to a removed endpoint lives {DRAIN} s more, and no longer; then the real "
      "server is removed", config="ipvs-drain", legacy=["ipvs"], **TCP_ONLY)
def cut_at_deadline(t):
    service, client, endpoint, went = held_at(t, E1, E2)
    number = service.wanted["ports"][0][2]
    gone = ipvs.real(t, E1, number)
    t.require(ipvs.weights(t, service.cluster()).get(gone) == 0, f"{ipvs.weights(t, service.cluster())}")
    last = end_of(client, endpoint, DRAIN + pace.stretched(20))
    t.require(last is not None, "it goes on")
    took = last - went
    require_drained(t, DRAIN, took)
    t.wait_until(lambda: gone not in ipvs.weights(t, service.cluster()), "the real server is gone", seconds=4)


@case(None, f"a deadline of {LONG_DRAIN} s survives kill -9: it expires while no daemon runs, and the next one cuts at once",
      config="ipvs-drain-long", exclusive=True, **{**TCP_ONLY, "families": ["v4"]})
def deadline_survives(t):
    _, client, endpoint, went = held_at(t, E1, E2)
    t.bench.daemon.kill()
    time.sleep(max(0.0, went + LONG_DRAIN + 1 - time.monotonic()))  # fixed time: the deadline has to pass
    t.require(talk.is_connected(client, endpoint), "it was cut while no daemon ran")
    t.bench.start_daemon()
    started = time.monotonic()
    last = end_of(client, endpoint, LONG_DRAIN * 2)
    # The deadline is real time, so this bound is fixed.
    t.require(last is not None and last - started < SCAN_INTERVAL + t.busiest.stretched(1), "after the start it lived on")


@case(None, "a deadline that has not passed at a restart is kept: no client is cut early", config="ipvs-drain-long",
      exclusive=True,
      **{**TCP_ONLY, "families": ["v4"]})
def deadline_not_sooner(t):
    _, client, endpoint, went = held_at(t, E1, E2)
    t.bench.daemon.kill()
    t.bench.start_daemon()
    last = end_of(client, endpoint, LONG_DRAIN * 2)
    t.require(last is not None, "it goes on")
    took = last - went
    require_drained(t, LONG_DRAIN, took)


@case(None, "whenEndpointRemoved reset: the real server is removed at once, with its connection", config="ipvs-reset", **TCP_ONLY)
def reset_at_once(t):
    service, client, endpoint, _ = held_at(t, E1, E2)
    number = service.wanted["ports"][0][2]
    t.require(ipvs.weights(t, service.cluster()) == {ipvs.real(t, E2, number): 1}, f"{ipvs.weights(t, service.cluster())}")
    t.require(end_of(client, endpoint, pace.stretched(5)) is not None, "the connection goes on")
