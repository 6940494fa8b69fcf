# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Session affinity of clients survives a swap of backends."""

from cases_affinity import ANY, FOUR, MANY, sticky
from lib import swapping
from lib.addresses import E1, E2, E3, E4, FAMILIES
from lib.cases import EXT, POD, kept, own_daemon

WAY = ("nftables", "iptables", "nftables", "nftables", "iptables", "iptables")


@own_daemon(None, f"clients of {MANY} Services with affinity keep their endpoints, through swaps " + " → ".join(WAY),
            families=FAMILIES, protocols=("tcp",), sources=["manifests"], backends=["iptables"])
def clients_stay(t):
    services = [sticky(t, FOUR, type="NodePort") for _ in range(MANY)]
    daemon = swapping.Swappable(t, WAY[0])
    t.settle()

    def met():
        return [(t.expect_one(EXT, one.cluster(), ANY), t.expect_one(POD, one.cluster(), kept(E1, E2, E3, E4)))
                for one in services]

    before = met()
    t.require(len({outside for outside, _ in before}) > 1, f"all Services have led to one endpoint: {before}")
    for mode in WAY[1:]:
        one = daemon.mode
        daemon.swap(mode)
        after = met()
        moved = sum(a != b for pair in zip(before, after) for a, b in zip(*pair))
        t.require(not moved, f"{one} → {mode}: {moved} of {2 * MANY} clients meet another endpoint")
