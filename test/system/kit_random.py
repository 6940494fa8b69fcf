# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Random changes, and packets that show whether the node matches a model."""

import random
import time

from lib import addresses as a
from lib.cases import own_daemon
from lib.extent import CHOSEN
from lib.model import World
from lib.model_check import compare_with_model
from lib.random_services import RandomServices

OTHERS = 12  # fronts that are checked besides those that changed
REMEMBERED = 10  # changes that a failure reports
RESTARTS = {"SIGTERM and a start": 0.03, "kill -9 and a start": 0.04}


@own_daemon(None, "random changes, restarts and kill -9: after each, packets go where the model predicts", families=a.FAMILIES,
            sources=("manifests",), slow=True)
def where_the_model_says(t):
    seed = CHOSEN.seed if CHOSEN.seed is not None else int(time.time())
    t.remark(f"--seed {seed}, {CHOSEN.steps} steps")
    world = World(t.bench.source, t.bench.profile)
    services = RandomServices(t, world, seed)
    t.defer(services.close)
    chance = random.Random(seed)
    history, vacated, asked = [], [], 0
    for step in range(1, CHOSEN.steps + 1):
        before = world.fronts(t.family)
        history.append(f"{step}: {change(t, services, chance)}")
        t.settle()
        now = world.fronts(t.family)
        vacated = [front for front in dict.fromkeys(vacated + before) if front not in now][-OTHERS:]
        fronts = now if len(now) <= OTHERS else chance.sample(now, OTHERS)
        wrong, count = compare_with_model(t, world, fronts + vacated)
        asked += count
        if wrong:
            # A single mismatch may be a lost question; only a second one counts.
            wrong, _ = compare_with_model(t, world, fronts + vacated)
        if wrong:
            story = "\n".join(history[-REMEMBERED:])
            t.problems.append(f"step {step} of --seed {seed}: {'; '.join(wrong[:4])}"
                              f"{f' and {len(wrong) - 4} more' if len(wrong) > 4 else ''}; the last changes:\n{story}")
            return
    t.remark(f"{asked} questions were answered as the model says")


def change(t, services, chance):
    for what, probability in RESTARTS.items():
        if chance.random() < probability:
            words = services.step()  # arrives at the end, or after it
            (t.bench.daemon.kill if "kill" in what else t.bench.daemon.stop)()
            words += f"; {what}; {services.step()}"
            t.bench.start_daemon()
            return words
    return services.step()
