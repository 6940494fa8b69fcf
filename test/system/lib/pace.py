# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How patient the tests are: SLUICE_TEST_SLOWNESS says how many times slower than usual this machine does anything.

It stretches limits on what must happen, which cost nothing as long as it does, and pauses between two looks, since
looking is work too. Waiting that proves that nothing happens stays as it is, and so does time that is part of what is
tested.
"""

import os

SLOWNESS = max(1.0, float(os.environ.get("SLUICE_TEST_SLOWNESS") or 1))


def stretched(limit):
    """A limit or a pause as it is to be on this machine, in the same unit."""
    return limit * SLOWNESS
