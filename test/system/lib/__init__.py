# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What the system tests are made of: a network in namespaces, a daemon on it, and cases."""
