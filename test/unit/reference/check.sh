#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# docs/reference, the manual pages and `sluiced --help` have the tables of the code. `make reference` writes them.
set -eu

reference=$SLUICE_BUILDDIR/test/unit/reference/reference
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$SLUICE_BUILDDIR/core/sluiced" --help >"$folder/help"
"$reference" --check-help "$folder/help" >"$folder/first" || true
"$reference" --check "$SLUICE_SRCDIR/docs" >"$folder/second" || true
cat "$folder/first" "$folder/second" | awk '
  /^1\.\.[0-9]+$/ { next }
  /^(not )?ok / { ++count; sub(/ok [0-9]+/, "ok " count) }
  { print }
  END { print "1.." count + 0 }'
