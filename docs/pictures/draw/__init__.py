# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
