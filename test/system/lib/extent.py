# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes for the groups of the conformance kit, set once before they run."""

import dataclasses


@dataclasses.dataclass
class Extent:
    services: int = 10_000  # number of Services for measurements of the cost of a change
    steps: int = 200  # number of random changes
    seed: int | None = None  # seed of the random changes; None: a new one in each run


CHOSEN = Extent()
