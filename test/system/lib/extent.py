# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How much the groups of the conformance kit do; set once, before they run."""

import dataclasses


@dataclasses.dataclass
class Extent:
    services: int = 10_000  # that the cost of a change is measured among
    steps: int = 200  # of random changes
    seed: int | None = None  # of random changes; None: another one each time


CHOSEN = Extent()
