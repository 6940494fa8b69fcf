#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs iptables_roundtrip, or PROGRAM, for both families and both variants of iptables, each in a
# network namespace of its own. TAP. Needs root. PROGRAM gets the WORDs after family and variant.
#   iptables_kernel_test.sh [PROGRAM [WORD…]]
set -u
program=${1:-${SLUICE_BUILDDIR:-.}/test/system/iptables_roundtrip}
[ $# = 0 ] || shift

skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -x "$program" ] || { echo "Bail out! $program is not built"; exit 1; }
unshare -n true 2>/dev/null || skip "network namespaces need root"
command -v iptables-nft-restore >/dev/null || skip "iptables-nft-restore is not installed"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# The old iptables under the plain names, as where the administrator prefers it.
for tool in iptables ip6tables; do
  for suffix in "" -save -restore; do
    old=$(command -v "$tool-legacy$suffix") && ln -s "$old" "$work/$tool$suffix"
  done
done

count=0
status=0
# run LABEL PATH ARGUMENTS…: renumbers the tests of one run.
run() {
  label=$1 path=$2
  shift 2
  PATH=$path unshare -n "$program" "$@" >"$work/out" 2>&1 || status=1
  grep -q '^1\.\.' "$work/out" || { echo "not ok $((count + 1)) - $label: ended early"; count=$((count + 1)); status=1; }
  awk -v label="$label" -v count="$count" '
    /^(not )?ok / { sub(/ok [0-9]+ - /, "ok " (++count) " - " label ": ") }
    /^1\.\./ { next }
    { print }' "$work/out"
  count=$((count + $(grep -cE '^(not )?ok ' "$work/out")))
}

run "IPv4" "$PATH" 4 nft "$@"
run "IPv6" "$PATH" 6 nft "$@"
if [ -e "$work/iptables-restore" ] && unshare -n "$work/iptables" -t nat -S >/dev/null 2>&1; then
  run "IPv4 legacy" "$work:$PATH" 4 legacy "$@"
  run "IPv6 legacy" "$work:$PATH" 6 legacy "$@"
else
  count=$((count + 1))
  echo "ok $count - legacy iptables # SKIP this kernel or system has none"
fi
echo "1..$count"
exit $status
