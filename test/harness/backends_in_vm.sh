#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of backends without the daemon, all in one virtual machine, side by side, as most of the time they wait for its kernel.
# What each prints is RESULTS/NAME.tap, its exit status RESULTS/NAME.status. Usage: backends_in_vm.sh SYSTEM PROGRAMS RESULTS NAME…
set -u
system=$1 programs=$2 results=$3
shift 3

# begin COMMAND…: in the background.
begin() {
  {
    timeout 1000 "$@" >"$results/$name.tap" 2>"$results/$name.err"
    echo $? >"$results/$name.status"
  } &
}

echo "1..$#"
for name in "$@"; do
  case $name in
    servers) begin "$programs/ipvs_roundtrip" ;;
    handover) begin /usr/bin/python3 "$system/ipvs_handover_test.py" "$programs/ipvs_handover" ;;
    rules) begin "$system/iptables_kernel_test.sh" "$programs/ipvs_rules_roundtrip" ;;
    nftables) begin "$system/nftables_kernel_test.sh" "$programs/nftables_roundtrip" ;;
    nftables-crowd) begin "$programs/nftables_crowd" ;;
    *) echo "backends_in_vm.sh: unknown name '$name'" >&2; exit 2 ;;
  esac
done
wait
number=0
for name in "$@"; do
  number=$((number + 1))
  echo "ok $number - $name has run"
done
