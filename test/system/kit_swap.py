# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Another build of a backend takes its place, and each of Sluice's modes does, and it theirs, under traffic that does not stop:
nothing fails, nothing is cut or lost, and of the one that went nothing is left."""

import time

from kit_claims import unclaimed
from lib import pace, swapping, traffic
from lib.cases import own_daemon

MODES = ("nftables", "iptables")  # those of them that are installed
HELD = 3  # seconds that connections live on after a swap
# UDP clients that never pause have until then.
DRAIN = round(HELD + 2 + pace.stretched(1))
RATE_MS = 10


@own_daemon(None, "another build takes its place under traffic, and Sluice's modes do and it theirs: nothing fails, is cut or is left",
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
    connections = traffic.Traffic(t, swapping.held(everywhere, local)).wait_flowing()
    daemon.swap(other)
    time.sleep(HELD)
    traffic.require_unharmed(t, connections.flows, connections.stop(), occasion)
    daemon.wait_retired(occasion, DRAIN + 10)
    counts = traffic.since(before, steady.progress())
    traffic.require_unharmed(t, steady.flows, counts, occasion, ended=False)
    t.wait_until(lambda: not unclaimed(t), f"{occasion}: only what {other} claims is on the node", seconds=10)
    t.remark(f"{occasion}: {traffic.summary(steady.flows, counts)}")
