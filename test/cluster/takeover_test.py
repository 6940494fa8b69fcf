#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Replaces the real kube-proxy on a node by Sluice, and back, under traffic. Prints TAP. Needs root and SLUICE_KUBE_BIN.

  takeover_test.py --builddir DIR [--kube-proxy PROGRAM] [--only WORD]

Most of 50 Services change without pause. New connections to 24 of them come from a pod, from the node and from outside, in IPv4 and
IPv6. Streams stay open, and datagrams are sent from few ports and from new ports. No connection may fail, no stream may break,
and each datagram must be answered. Afterwards the node must have exactly the objects that the new proxy creates on an empty node.

PROGRAM is a kube-proxy of another release than that in SLUICE_KUBE_BIN.

For a return to kube-proxy in another mode, Sluice first swaps to that mode. Without the swap kube-proxy removes the rules of
the other mode before it has written its own, and connections fail.
"""

import dataclasses
import os
import sys

sys.dont_write_bytecode = True

from lib import traffic_scene, traffic_state  # noqa: E402
from lib.traffic_program import Tests, parser, programs_or_reason  # noqa: E402
from lib.traffic_stage import KUBE_PROXY, SLUICE, Stage  # noqa: E402

IPVS = ("a node here shares the kernel of the machine, which may lack IPVS; cases_takeover.real_one replaces a kube-proxy in ipvs "
        "mode in an emulated machine")
BEFORE, AFTER = 40, 80  # connections of each flow before and after the change


@dataclasses.dataclass(frozen=True)
class Step:
    """`begin` and `end` are (program, mode); with `swap` Sluice first changes to the mode of `end`."""

    begin: tuple
    end: tuple
    swap: bool = False

    @property
    def name(self):
        (one, mode), (other, new_mode) = self.begin, self.end
        swapped = f", swapped to {new_mode} mode," if self.swap else ""
        return f"{one} in {mode} mode{swapped} is replaced by {other} in {new_mode} mode"


STEPS = [
    Step((KUBE_PROXY, "iptables"), (SLUICE, "iptables")),
    Step((SLUICE, "iptables"), (KUBE_PROXY, "iptables")),
    Step((KUBE_PROXY, "iptables"), (SLUICE, "nftables")),
    Step((SLUICE, "nftables"), (KUBE_PROXY, "iptables"), swap=True),
    Step((KUBE_PROXY, "nftables"), (SLUICE, "nftables")),
    Step((SLUICE, "nftables"), (KUBE_PROXY, "nftables")),
    Step((KUBE_PROXY, "nftables"), (SLUICE, "iptables")),
    Step((SLUICE, "iptables"), (KUBE_PROXY, "nftables"), swap=True),
]


def play(step, stage, tests):
    """Yields sentences about problems."""
    wanted = stage.fresh(*step.end)
    stage.begin(*step.begin)
    with stage.churn() as churn, stage.traffic() as run:
        run.wait_connects(BEFORE)
        if step.swap:
            stage.swap(step.end[1])
            run.wait_connects(BEFORE)
        stage.replace(*step.end)
        run.wait_connects(AFTER)
        churn.end()
        if step.end[0] == KUBE_PROXY:
            traffic_state.remove_unused(stage.scene, step.end[1])
        remaining = traffic_state.wait_equal(stage.scene, wanted)
        if remaining and step.end == (KUBE_PROXY, "nftables"):
            # Before 1.36 it deletes unused chains of its own in its next sync, and there is none without a change.
            stage.services.delete_service(stage.services.count)
            stage.services.put_service(stage.services.count)
            remaining = traffic_state.wait_equal(stage.scene, wanted)
        run.wait_connects(1)
        result = run.end()
    tests.count(step.name, result)
    yield from result.problems()
    yield from remaining[:10]


def main():
    words = parser(__doc__)
    words.add_argument("--kube-proxy", metavar="PROGRAM", help="another kube-proxy than that in SLUICE_KUBE_BIN")
    options = words.parse_args()
    tests = Tests(options.only)
    programs, reason = programs_or_reason()
    if reason:
        tests.skip("takeover from the real kube-proxy and back", reason)
        return tests.finish()
    with Stage(options, programs, kube_proxy=options.kube_proxy and os.path.abspath(options.kube_proxy)) as stage:
        for step in STEPS:
            tests.check(step.name, lambda step=step: play(step, stage, tests))
    tests.skip("kube-proxy in ipvs mode is replaced by Sluice in ipvs mode", IPVS)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
