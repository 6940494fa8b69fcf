# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""IPVS mode at scale: sets beyond the size of kube-proxy's, thousands of Services."""

import os
import time

from lib import bulk, ipvs, pace
from lib.addresses import E1, E2, E3, EXT_OTHER, V4
from lib.cases import DROPPED, EXT, POD, kept, masqueraded, own_daemon
from lib.objects import ready

BOTH = [ready(E1), ready(E2)]
LONG = os.environ.get("SLUICE_LONG", "0") != "0"
ONLY = {"protocols": ["tcp"], "families": [V4], "backends": ["ipvs"], "sources": ["manifests"], "slow": True}
MOST = 65536  # entries of a set of kube-proxy's
RANGES = 1000
SERVICES = 10_000 if LONG else 1000


def ranges(number):
    """That many ranges without an address of the test network, and another one each."""
    return [f"100.{64 + number}.{at >> 6}.{(at & 63) << 2}/30" for at in range(RANGES)]


@own_daemon(None, f"a set grows beyond {MOST} entries while clients connect, and shrinks again: all entries are there, and no "
            "client is let in or turned away wrongly meanwhile", **ONLY)
def large_set(t):
    entry = ipvs.set_name("LOAD-BALANCER-SOURCE-CIDR", V4)
    steady = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=["203.0.113.0/25"])
    t.settle()
    t.expect(EXT_OTHER, steady.vip(), DROPPED)
    hammer = t.hammer(EXT, steady.vip())
    count = MOST // RANGES + 4
    turned_away = t.hammer(EXT_OTHER, steady.vip(), timeout_ms=900)  # no answer may come
    services = [t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[*ranges(at), "203.0.113.0/25"]) for at in range(count)]

    def entries():
        text = t.topology.run("node", "ipset", "list", "-t", entry).stdout
        return int(next(line for line in text.splitlines() if line.startswith("Number of entries")).rsplit(" ", 1)[1])

    wanted = count * (RANGES + 1) + 1
    t.wait_until(lambda: entries() == wanted, f"{wanted} entries are there", seconds=60)
    t.settle()
    t.require(wanted > MOST and entries() == wanted, f"there are {entries()} entries, not {wanted}")
    t.expect(EXT, [services[0].vip(), services[-1].vip()], masqueraded(E1, E2))
    t.expect(EXT_OTHER, [services[0].vip(), services[-1].vip(), steady.vip()], DROPPED)
    t.bench.daemon.stop()
    t.bench.start_daemon()
    t.require(ipvs.all_writes(t) == (0, 0), f"writes and messages of a restart: {ipvs.all_writes(t)}")
    for one in services[1:]:
        one.delete()
    t.wait_until(lambda: entries() == RANGES + 2, f"{RANGES + 2} entries are left", seconds=60)
    t.expect(EXT, [services[0].vip(), steady.vip()], masqueraded(E1, E2))
    left = [name for name in ipvs.saved_sets(t) if name.startswith("KUBE-") and
            name not in {ipvs.set_name(name, family) for name in ipvs.SETS for family in ("v4", "v6")}]
    t.require(not left, f"unused sets are left: {left}")
    t.require_unbroken(hammer, "while the set grew and shrank")
    counts = turned_away.stop()
    t.require(counts["ok"] == 0 < counts["failed"], f"clients that must be turned away: {counts}")


@own_daemon(None, f"{SERVICES} Services: all are served; one change takes few netlink messages; a restart writes nothing",
            **ONLY)
def many_services(t):
    service = t.service(BOTH)
    t.bench.source.put(*bulk.services(SERVICES, [ready(E1), ready(E2)]))
    began = time.monotonic()
    last = bulk.cluster_front(SERVICES - 1)

    def all_there():
        return len(ipvs.bound(t)) >= SERVICES

    t.wait_until(all_there, f"{SERVICES} addresses are bound", seconds=120)
    t.settle()
    t.remark(f"loaded in {time.monotonic() - began:.0f} s")
    t.require(len(ipvs.servers(t)) >= SERVICES, f"{len(ipvs.servers(t))} virtual servers")
    for front in (bulk.cluster_front(0), bulk.cluster_front(SERVICES // 2), last, service.cluster()):
        t.expect(POD, front, kept(E1, E2))
    hammer = t.hammer(POD, service.cluster())
    before = ipvs.kernel_writes(t)
    service.set_endpoints([ready(E1), ready(E2), ready(E3)])
    t.wait_until(lambda: len(ipvs.weights(t, service.cluster())) == 3, "the change is there")
    took = ipvs.kernel_writes(t) - before
    t.require(0 < took <= 5, f"one change took {took:.0f} writes")
    t.bench.daemon.stop()
    t.bench.start_daemon()
    t.require(ipvs.all_writes(t) == (0, 0), f"writes and messages of a restart: {ipvs.all_writes(t)}")
    t.require_unbroken(hammer, "during a change and a restart")
    t.remark(f"slowness {pace.SLOWNESS:g}")
