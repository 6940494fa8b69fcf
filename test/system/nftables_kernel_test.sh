#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs nftables_roundtrip for both families, or the one that is named, each in a network namespace of its own. TAP. Needs root,
# and nf_tables in the kernel.
#   nftables_kernel_test.sh [PROGRAM [4|6]]
set -u
program=${1:-${SLUICE_BUILDDIR:-.}/test/system/nftables_roundtrip}

skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -x "$program" ] || { echo "Bail out! $program is not built"; exit 1; }
unshare -n true 2>/dev/null || skip "network namespaces need root"
command -v nft >/dev/null || skip "nft is not installed"
unshare -n nft list ruleset >/dev/null 2>&1 || skip "this kernel has no nf_tables"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0
status=0
# run LABEL ARGUMENT: renumbers the tests of one run.
run() {
  unshare -n "$program" "$2" >"$work/out" 2>&1 || status=1
  grep -q '^1\.\.' "$work/out" || { echo "not ok $((count + 1)) - $1: ended early"; count=$((count + 1)); status=1; }
  awk -v label="$1" -v count="$count" '
    /^(not )?ok / { sub(/ok [0-9]+ - /, "ok " (++count) " - " label ": ") }
    /^1\.\./ { next }
    { print }' "$work/out"
  count=$((count + $(grep -cE '^(not )?ok ' "$work/out")))
}

for family in ${2:-4 6}; do run "IPv$family" "$family"; done
echo "1..$count"
exit $status
