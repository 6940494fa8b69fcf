# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Upstream's end-to-end tests of sig-network: which run, how, and their results."""
