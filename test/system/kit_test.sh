#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The conformance kit by itself, without a plugin (TAP).
exec env PYTHONDONTWRITEBYTECODE=1 python3 "${SLUICE_SRCDIR:?}/test/system/kit_test.py"
