# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Userspace mode carries data itself: no byte is lost, duplicated or reordered, and no unused resource is kept."""

import os
import time

from lib import addresses as a
from lib import observed, pace
from lib.addresses import E1, E2, E3, E4
from lib.cases import EXT, POD, Skip, case, own_daemon
from lib.episode import WATCHED
from lib.objects import ready
from lib.relay import (PORTS, Client, ResourceUsage, Server, add_addresses, allow_port_reuse, blackhole, conntrack_drops,
                       descriptor_limit, flush_conntrack, metric, require_intact, transfer)

LONG = os.environ.get("SLUICE_LONG", "0") != "0"
MIB = 1 << 20
TCP = ("tcp",)
USERSPACE = ("userspace",)
READ_RATE = 20_000  # bytes a second: far less than the slowest relay sends


def under_way(t, host, port):
    """The number of connections at that port of the host that have received and sent data."""
    said = t.topology.run(host.place, "ss", "-Htni", "state", "established", f"sport = :{port}").stdout
    return min(said.count(" bytes_received:"), said.count(" bytes_acked:"))


def unread(t, host, port, least):
    """The number of connections at that port of the host with at least so many unread bytes."""
    said = t.topology.run(host.place, "ss", "-Htn", "state", "established", f"sport = :{port}").stdout
    return sum(int(line.split()[0]) >= least for line in said.splitlines())


def relayed(t, endpoints, port):
    """The cluster IP of a Service for this port of the endpoints."""
    service = t.service(endpoints, ports=[("p80", 80, port)])
    t.settle()
    return service.cluster()


@case(None, f"{'1 GiB' if LONG else '64 MiB'} each way at once, in pieces of random size, closed first by either end: every byte "
            "arrives, in order, and each direction ends by itself", protocols=TCP, sources=("manifests",), backends=USERSPACE)
def whole(t):
    port = next(PORTS)
    servers = [Server(t, host, port) for host in (E1, E2)]
    front = relayed(t, [ready(E1), ready(E2)], port)
    each = (1024 if LONG else 64) * MIB // 6
    transfer(t, POD, front, 6, up=each, down=each, seed=11)
    # Short and long connections side by side, with pauses, so that directions fall idle and become busy again.
    transfer(t, EXT, front, 60, total=300, up=4 * MIB, down=4 * MIB, vary=True, pauses=200, seed=12)
    require_intact(t, servers)


@own_daemon(None, f"{10_000 if LONG else 1000} connections open at once, or as many as the process limit allows, carry data each",
            families=a.FAMILIES, sources=("manifests",), backends=USERSPACE)
def many_open(t):
    port = next(PORTS)
    servers = [Server(t, host, port) for host in (E1, E2, E3)]
    front = relayed(t, [ready(E1), ready(E2), ready(E3)], port)
    # Two descriptors per connection.
    number = min(10_000 if LONG else 1000, descriptor_limit(t) // 2 - 500)
    # An idle connection must not be distinguishable from a busy one by what happens to it.
    counts = transfer(t, POD, front, number, together=True, up=50_000, down=50_000, vary=True, pauses=100, hold=500,
                   timeout=round(pace.stretched(60_000)), seed=21)
    t.require(counts["most_open"] == number, f"at most {counts['most_open']} were open")
    require_intact(t, servers)


@case(None, "one endpoint of a hundred is dead, and all but one of many: no client fails", protocols=TCP,
      sources=("manifests",), backends=USERSPACE)
def some_dead(t):
    port = next(PORTS)
    servers = [Server(t, E1, port)]
    alive = add_addresses(t, E1, range(1, 199))
    refusing = add_addresses(t, E4, [1])
    silent = add_addresses(t, E4, [2])
    blackhole(t, E4, silent[0])
    front = relayed(t, [ready(E1, address=address) for address in alive] +
                    [ready(E4, address=address) for address in refusing + silent], port)
    number = 100_000 if LONG else 1500
    transfer(t, POD, front, 50, total=number, up=2000, down=2000, vary=True, seed=31)
    one = relayed(t, [ready(E2), *(ready(E4, address=address) for address in refusing), ready(E1), ready(E3)], port)
    transfer(t, POD, one, 20, total=300, up=2000, down=2000, vary=True, seed=32)
    require_intact(t, servers)


@case(None, "an endpoint that is killed in the middle of a transfer: its clients are reset at once, all others live on",
      protocols=TCP, sources=("manifests",), backends=USERSPACE)
def killed(t):
    port = next(PORTS)
    servers = [Server(t, host, port) for host in (E1, E2)]
    doomed, steady = relayed(t, [ready(E1)], port), relayed(t, [ready(E2)], port)
    # The kernel resets a connection of a server that ends with unread data, and closes it otherwise.
    flow = {"together": True, "up": 1 << 30, "down": 1 << 30, "server_read_rate": READ_RATE}
    cut = Client(t, POD, doomed, connections=20, timeout=round(pace.stretched(5000)), seed=41, **flow)
    unharmed = Client(t, POD, steady, connections=4, seed=42, **flow)
    t.require(cut.wait_open() and unharmed.wait_open(), "connections were not all there")
    t.wait_until(lambda: under_way(t, E1, port) == unread(t, E1, port, 2 * READ_RATE) == 20,
                 "data goes both ways on every connection, and has piled up at the server")
    servers[0].kill()
    counts = cut.end()
    t.require(counts["problems"] == {"reset": 20}, f"clients of the dead endpoint saw {counts['problems']}")
    t.require(unharmed.running(), "connections to the other endpoint ended")
    counts = unharmed.stop()
    t.require(counts["open"] == 4 and counts["failed"] == 0, f"connections to the other endpoint: {counts}")


@own_daemon(None, "slow readers throttle their senders, and cost the daemon no memory", backends=USERSPACE,
            sources=("manifests",))
def slow_readers(t):
    port = next(PORTS)
    server = Server(t, E1, port)
    front = relayed(t, [ready(E1)], port)
    transfer(t, POD, front, 20, up=MIB, down=MIB, seed=51)
    before = ResourceUsage(t)
    number = 400 if LONG else 40
    slow = Client(t, POD, front, connections=number, together=True, down=1 << 30, read_rate=20_000, seed=52)
    t.require(slow.wait_open(), "connections were not all there")
    most = before.resident_kib
    for _ in range(15):
        time.sleep(0.2)  # fixed time: its memory is watched for 3 s
        most = max(most, ResourceUsage(t).resident_kib)
    # The same threads carry other connections meanwhile.
    transfer(t, EXT, front, 10, up=MIB, down=MIB, seed=53)
    counts = slow.stop()
    t.require(counts["failed"] == 0 and counts["open"] == number, f"slow readers: {counts}")
    grown = most - before.resident_kib
    t.require(WATCHED or grown < 4096 + 8 * number, f"the daemon grew by {grown} KiB for {number} of them")
    sent = server.stop()["bytes_down"]
    # At most the buffers of three kernels: a sender without backpressure sends 1 GiB each.
    t.require(sent < number * 40 * MIB, f"the endpoint could send {sent >> 20} MiB to {number} readers that read next to nothing")
    t.wait_until(lambda: ResourceUsage(t).descriptors <= before.descriptors + 16, f"their descriptors are closed, of {before}")


CHURN = 1_000_000 if LONG else 20_000
CHANGES_A_SECOND = 50


@own_daemon(None, f"{CHURN} short connections while endpoints change {CHANGES_A_SECOND} times a second: no client error, and no "
                  "descriptor, socket or memory is left", backends=USERSPACE, sources=("manifests",))
def churn(t):
    hosts = (E1, E2, E3, E4)
    port = next(PORTS)
    servers = [Server(t, host, port) for host in hosts]
    for host in (POD, *hosts):
        allow_port_reuse(t, host)
    service = t.service([ready(E1)], ports=[("p80", 80, port)])
    t.settle()
    # Threads, pools and tables grow to their final size.
    transfer(t, POD, service.cluster(), 50, total=3000, up=2000, down=2000, vary=True, seed=61)
    t.wait_until(lambda: ResourceUsage(t).sockets < 100, "connections end")
    before = ResourceUsage(t)
    flush_conntrack(t)
    not_tracked = conntrack_drops(t)
    busy = Client(t, POD, service.cluster(), connections=50, total=CHURN, up=2000, down=2000, vary=True, seed=62)
    changes, started, gap = 0, time.monotonic(), 1 / CHANGES_A_SECOND
    while busy.running():
        changes += 1
        chosen = [ready(host) for number, host in enumerate(hosts) if (changes * 7) % 15 + 1 & 1 << number]
        service.set_endpoints(chosen or [ready(E1)])
        time.sleep(max(0.0, started + changes * gap - time.monotonic()))  # fixed time: the rate of changes
    seconds = time.monotonic() - started
    counts = busy.end()
    not_tracked = conntrack_drops(t) - not_tracked
    t.require(not_tracked == 0, f"{not_tracked} packets were dropped because the kernel had no room to track a flow: dials time "
                                f"out then, whatever the relay does ({counts['problems']})")
    t.require(counts["ok"] == CHURN, f"{counts['ok']} of {CHURN} connections were as they should be; {counts['problems']}, "
                                     f"{counts['first_problem']}")
    # In proportion to connections: a busy machine delays both.
    t.require(changes > CHURN / 1000, f"only {changes} changes during {CHURN} connections, in {seconds:.0f} s")
    service.set_endpoints([ready(E1)])
    t.settle()
    t.wait_until(lambda: (now := ResourceUsage(t)).descriptors <= before.descriptors + 8 and now.sockets <= before.sockets + 8,
                 f"the daemon holds no more than before, {before}")
    now = ResourceUsage(t)
    t.require(WATCHED or now.resident_kib < before.resident_kib + 4096, f"memory: {before} became {now}")
    require_intact(t, servers)


@own_daemon(None, "out of descriptors: accepting pauses and resumes, one line reports it, and every client is served in the end",
            backends=USERSPACE, sources=("manifests",))
def out_of_descriptors(t):
    if WATCHED:
        raise Skip("the sanitizers need descriptors of their own to inspect an object, and complain when there are none")
    port = next(PORTS)
    server = Server(t, E1, port)
    front = relayed(t, [ready(E1)], port)
    limit = ResourceUsage(t).descriptors + 60
    t.topology.run("node", "prlimit", "--pid", str(t.bench.daemon.pid), f"--nofile={limit}:{limit}")
    first = Client(t, POD, front, connections=25, together=True, hold=2000, up=20_000, down=20_000, seed=71)
    t.require(first.wait_open(), "the first connections were not there")
    second = Client(t, POD, front, connections=100, up=20_000, down=20_000, seed=72)
    paused = "out of file descriptors for clients"
    t.require(t.bench.daemon.wait_logged(paused) is not None, "no line says that accepting pauses")
    for name, client, number in (("first", first, 25), ("second", second, 100)):
        counts = client.end()
        t.require(counts["ok"] == number, f"the {name} clients: {counts}")
    t.wait_until(lambda: metric(text := observed.metrics(t).body, "sluice_userspace_paused_threads") == 0 and
                 metric(text, 'sluice_userspace_pauses_total{reason="descriptors"}') > 0, "accepting goes on, and is counted")
    lines = [line for line in t.bench.daemon.log().splitlines() if paused in line]
    # One line, unless the machine was so busy that the shortage seemed over for a second.
    t.require(1 <= len(lines) <= 3, f"{len(lines)} lines: {lines[:3]}")
    require_intact(t, [server])
