# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How long the benchmark waits before it gives up: longer on a busy machine, see test/system/lib/pace.py. What is
measured, and how long it is measured, is never stretched."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from lib.pace import stretched  # noqa: E402,F401  # pylint: disable=unused-import
