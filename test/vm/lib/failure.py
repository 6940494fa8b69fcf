# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Errors for commands that could not run, or whose result is not reliable."""

STATUS = 125
LIMIT_STATUS = 124


class Failure(Exception):
    """One sentence for the user; the command did not run, or not on a sound kernel."""
