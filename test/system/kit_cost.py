# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What a change costs: the same with many Services as with few, give or take. Measured below the daemon, without packets."""

import json

from kit_contract import lines
from lib import pace
from lib.addresses import FAMILIES, V4
from lib.cases import own_daemon
from lib.extent import CHOSEN

FEW = 100
# The ABI's own limits.
LONGEST_APPLY_MS, LONGEST_VERIFY_MS = 60_000, 10_000
# How much more a change of one Service may cost with many of them than with few.
TIMES, PLUS_MS = 10, 5


@own_daemon(None, "a change of one Service costs about the same among 10,000 as among 100 (with --short: 1,000); a repetition "
            "writes nothing; all within the limits of the ABI", families=FAMILIES, sources=("manifests",), slow=True)
def of_changes(t):
    figures = {count: [json.loads(line) for line in lines(t, "cost", "4" if t.family == V4 else "6", str(count))]
               for count in (FEW, CHOSEN.services)}
    for count, steps in figures.items():
        for step in steps:
            judge(t, count, step)
        t.require(any(step["step"] == "full" for step in steps), f"{count} Services: no transaction was applied")
    few, many = (one_change(steps) for steps in figures.values())
    if few is None or many is None:
        t.remark("it takes no deltas: every change costs a full transaction")
        return
    t.require(many <= few * TIMES + pace.stretched(PLUS_MS),
              f"a change of one Service takes {many:.1f} ms among {CHOSEN.services} and {few:.1f} ms among {FEW}: does it write everything?")


def judge(t, count, step):
    name = step["step"]
    t.require(step["code"] == "kOk", f"{count} Services, {name}: {step['code']}: {step['why']}")
    t.require(step["left_out"] == 0, f"{count} Services, {name}: {step['left_out']} service ports were left out")
    limit = pace.stretched(LONGEST_VERIFY_MS if name == "verify" else LONGEST_APPLY_MS)
    t.require(step["wall_ms"] <= limit, f"{count} Services, {name}: {step['wall_ms']:.0f} ms; the ABI allows {limit:.0f}")
    t.require(name not in ("same", "restart") or step["writes"] == 0,
              f"{count} Services, {name}: {step['writes']} kernel writes where nothing is different")
    t.remark(f"{count} Services, {name}: {step['wall_ms']:.1f} ms, {step['cpu_ms']:.1f} ms of processor, {step['rss_kib']} KiB, "
             f"{step['writes']} writes")


def one_change(steps):
    """What a delta of one Service takes when nobody else has the processor; None when there was none."""
    taken = [step["wall_ms"] for step in steps if step["step"] == "delta-1" and step["code"] == "kOk"]
    return min(taken, default=None)
