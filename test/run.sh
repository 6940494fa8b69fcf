#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests; test/run.sh --help says how. The last line is `N passed, N failed[, N skipped]`.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
[ -x /usr/bin/python3 ] || "$src/packaging/install-deps.sh" test >&2
exec /usr/bin/python3 "$src/test/harness/main.py" "$@"
