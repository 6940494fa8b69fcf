# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the system tests: a network of namespaces, a daemon in it, and the registry of cases."""
