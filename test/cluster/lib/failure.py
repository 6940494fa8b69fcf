# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the cluster, each as a sentence for the user."""


class ClusterError(Exception):
    """What failed, the cause, and the tail of the log that explains it."""
