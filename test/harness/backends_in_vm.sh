#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of backends without the daemon, in parallel in one virtual machine, since they mostly wait for its kernel. Output
# goes to RESULTS/NAME.tap, the exit status to RESULTS/NAME.status. Usage:
#   backends_in_vm.sh short|long SYSTEM PROGRAMS RESULTS NAME…
# The short form omits rules that other kernels support, too, and one IP family in nftables mode, whose rules are alike.
set -u
extent=$1 system=$2 programs=$3 results=$4
shift 4
only_ipvs_rules='' nftables_family=''
if [ "$extent" = short ]; then only_ipvs_rules=xt_ipvs nftables_family=6; fi

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
    rules) begin "$system/iptables_kernel_test.sh" "$programs/ipvs_rules_roundtrip" $only_ipvs_rules ;;
    nftables) begin "$system/nftables_kernel_test.sh" "$programs/nftables_roundtrip" $nftables_family ;;
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
