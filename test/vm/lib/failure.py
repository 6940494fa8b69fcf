# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What keeps a command from being run, or from being believed."""

STATUS = 125
LIMIT_STATUS = 124


class Failure(Exception):
    """One sentence for the user; the command did not run, or not on a sound kernel."""
