# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with another kernel and the host's files."""
