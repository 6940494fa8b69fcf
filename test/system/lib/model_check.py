# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers to packets with the model."""

from . import outcomes, probe
from .cases import EXT, NODE, POD

SENDERS = (POD, EXT, NODE)
ASKED = 4  # times: how often a front is asked by each


def compare_with_model(t, world, fronts):
    """(differences from the model, the number of questions)."""
    wrong, count = [], 0
    for sender in SENDERS:
        wanted = [(front, world.expected(sender, front, t.family)) for front in fronts]
        wanted = [(front, expected) for front, expected in wanted if expected is not None]
        times = [(front, expected) for front, expected in wanted for _ in range(ASKED if expected.kind == "served" else 1)]
        lines = probe.ask_all(t.topology, sender, [(front, probe.patience_of(expected)) for front, expected in times], t.family)
        count += len(lines)
        for (front, expected), line in zip(times, lines):
            misfit = outcomes.misfit(expected, [line], probe.source_ip(sender, front.ip, t.family), t.family)
            if misfit:
                wrong.append(f"{sender.name} → {front.protocol} {front.ip} port {front.port}: {misfit}")
    return list(dict.fromkeys(wrong)), count
