# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The cost of a change: about the same with many Services as with few. Measured below the daemon, without packets."""

import json
import math

from kit_contract import lines
from lib import pace
from lib.addresses import FAMILIES, V4
from lib.cases import own_daemon
from lib.extent import CHOSEN

FEW = 100
# The timeouts of the ABI.
LONGEST_APPLY_MS, LONGEST_VERIFY_MS = 60_000, 10_000
# A change of one Service may cost more with many of them than with few, but not in proportion: a tenth of that with 10,000.
PLUS_MS = 5
# Or it is small compared with a full transaction: programs that are started to write a rule read many first.
PART_OF_ALL = 1 / 20


@own_daemon(None, "a change of one Service costs about the same among 10,000 as among 100 (with --short: 1,000); a repetition "
            "writes nothing; all within the limits of the ABI", families=FAMILIES, sources=("manifests",), slow=True, starts=False)
def of_changes(t):
    costs = {count: [json.loads(line) for line in lines(t, "cost", "4" if t.family == V4 else "6", str(count))]
               for count in (FEW, CHOSEN.services)}
    for count, steps in costs.items():
        for step in steps:
            judge(t, count, step)
        t.require(any(step["step"] == "full" for step in steps), f"{count} Services: no transaction was applied")
    few, many = (one_change(steps) for steps in costs.values())
    if few is None or many is None:
        t.remark("it takes no deltas: every change costs a full transaction")
        return
    everything = next((step["wall_ms"] for step in costs[CHOSEN.services] if step["step"] == "full"), 0)
    usual = few * math.sqrt(CHOSEN.services / FEW) + pace.stretched(PLUS_MS)
    t.require(many <= max(usual, everything * PART_OF_ALL),
              f"a change of one Service takes {many:.1f} ms among {CHOSEN.services}, {few:.1f} ms among {FEW}, and all of them "
              f"{everything:.0f} ms: does it write everything?")


def judge(t, count, step):
    name = step["step"]
    t.require(step["code"] == "kOk", f"{count} Services, {name}: {step['code']}: {step['why']}")
    missing = step["not_programmed"]
    t.require(missing == 0, f"{count} Services, {name}: {missing} service ports are not programmed")
    limit = pace.stretched(LONGEST_VERIFY_MS if name == "verify" else LONGEST_APPLY_MS)
    t.require(step["wall_ms"] <= limit, f"{count} Services, {name}: {step['wall_ms']:.0f} ms; the ABI allows {limit:.0f}")
    t.require(name not in ("same", "restart") or step["writes"] == 0,
              f"{count} Services, {name}: {step['writes']} kernel writes where nothing is different")
    t.remark(f"{count} Services, {name}: {step['wall_ms']:.1f} ms, {step['cpu_ms']:.1f} ms of processor, {step['rss_kib']} KiB, "
             f"{step['writes']} writes")


def one_change(steps):
    """The time for a delta of one Service on an idle processor; None when there was no delta."""
    taken = [step["wall_ms"] for step in steps if step["step"] == "delta-1" and step["code"] == "kOk"]
    return min(taken, default=None)
