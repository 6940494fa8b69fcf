# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Another build of a backend replaces it, and so does each of Sluice's modes, and vice versa, under continuous traffic:
nothing fails, nothing is cut or lost, and no state of the old backend is left."""

import time

from kit_claims import unclaimed
from lib import pace, swapping, traffic
from lib.cases import own_daemon

MODES = ("nftables", "iptables")  # the installed ones of them
HELD = 3  # seconds that connections live on after a swap
# UDP clients that never pause keep their flows until then.
DRAIN = round(HELD + 2 + pace.SLOWNESS)
BEFORE_ITS_END = 0.5  # seconds: connections are checked this long before the drain can end
RATE_MS = 10


@own_daemon(None, "swaps to another build, to Sluice's modes and back, under traffic: nothing fails, is cut or is left",
            sources=("manifests",), slow=True, needs=("node-ports", "udp"))
def under_traffic(t):
    everywhere, local = swapping.services(t)
    mine = t.bench.backend
    daemon = swapping.Swappable(t, mine, DRAIN)
    others = [mode for mode in MODES if mode != mine and t.bench.programs.add_mode(mode, daemon.plugins)]
    t.settle()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local, RATE_MS)).wait_flowing()
    for other in [mine, *(one for mode in others for one in (mode, mine))]:
        exchange(t, daemon, everywhere, local, steady, other)
    traffic.require_unharmed(t, steady.flows, steady.stop(), "altogether")
    if not others:
        t.remark(f"of {' and '.join(MODES)} none is installed besides")


def exchange(t, daemon, everywhere, local, steady, other):
    occasion = f"{daemon.mode} → {other}"
    before = steady.progress()
    drain = swapping.drain(DRAIN, steady.flows, before)
    connections = traffic.Traffic(t, swapping.held(everywhere, local)).wait_flowing()
    begun = time.monotonic()
    daemon.swap(other, drain=drain)
    # The drain begins after `begun`. On a busy machine less of it may be left than HELD.
    left = begun + drain - BEFORE_ITS_END - time.monotonic()
    time.sleep(max(0.0, min(HELD, left)))  # fixed time: connections have to live on for so long
    if left > 0:
        traffic.require_unharmed(t, connections.flows, connections.stop(), occasion)
    else:
        connections.stop()
        t.remark(f"{occasion}: the swap took longer than the drain of {drain} s: held connections may end")
    daemon.wait_retired(occasion, drain + 10)
    counts = traffic.since(before, steady.progress())
    traffic.require_unharmed(t, steady.flows, counts, occasion, ended=False)
    t.wait_until(lambda: not unclaimed(t), f"{occasion}: only what {other} claims is on the node", seconds=10)
    t.remark(f"{occasion}: {traffic.summary(steady.flows, counts)}")
