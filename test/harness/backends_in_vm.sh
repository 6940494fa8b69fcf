#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of backends without the daemon, all in one virtual machine. What each prints is RESULTS/NAME.tap, its exit status
# RESULTS/NAME.status. Usage: backends_in_vm.sh SYSTEM PROGRAMS RESULTS NAME…
set -u
system=$1 programs=$2 results=$3
shift 3
number=0

each() {
  limit=$1
  shift
  timeout "$limit" "$@" >"$results/$name.tap" 2>"$results/$name.err"
  echo $? >"$results/$name.status"
  number=$((number + 1))
  echo "ok $number - $name has run"
}

echo "1..$#"
for name in "$@"; do
  case $name in
    servers) each 500 "$programs/ipvs_roundtrip" ;;
    handover) each 400 /usr/bin/python3 "$system/ipvs_handover_test.py" "$programs/ipvs_handover" ;;
    rules) each 500 "$system/iptables_kernel_test.sh" "$programs/ipvs_rules_roundtrip" ;;
    nftables) each 300 "$system/nftables_kernel_test.sh" "$programs/nftables_roundtrip" ;;
    nftables-crowd) each 300 "$programs/nftables_crowd" ;;
    *) echo "backends_in_vm.sh: unknown name '$name'" >&2; exit 2 ;;
  esac
done
