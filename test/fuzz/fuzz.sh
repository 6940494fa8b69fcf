#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Searches for inputs that break a fuzz target, and prints TAP: one test per target.
# Usage: fuzz.sh [--builddir DIR] [--seconds N] [--jobs N] [TARGET…]
# The build must be configured with --enable-fuzzing. Begins with test/fuzz/corpus and the
# inputs that earlier runs in this build stored in DIR/fuzz-corpus. Inputs that crash, take
# more than 5 s or more than 2 GiB are stored in DIR/fuzz-findings.
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
build=.
seconds=60
jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --builddir) build=${2:?}; shift 2 ;;
    --seconds) seconds=${2:?}; shift 2 ;;
    --jobs) jobs=${2:?}; shift 2 ;;
    --*) sed -n '/^# Usage/s/^# //p' "$0" >&2; exit 2 ;;
    *) break ;;
  esac
done
build=$(cd "$build" && pwd) || exit 2
program=$build/test/fuzz/fuzz_targets
if ! FUZZ_TARGET=values "$program" -help=1 2>&1 | grep max_total_time >/dev/null; then
  echo "fuzz.sh: $program is not built with libFuzzer; configure with CXX=clang++ --enable-fuzzing --enable-sanitizers=address,undefined" >&2
  echo "Bail out! no libFuzzer in $program"
  exit 1
fi
[ $# -gt 0 ] || set -- $(ls "$src/test/fuzz/corpus")
# Timeout of one input in seconds, scaled with the load of the machine.
limit=$((5 * (1 + $(cut -d. -f1 /proc/loadavg) / $(nproc))))
export src build program seconds limit
mkdir -p "$build/fuzz-findings" "$build/logs/fuzz"

# Runs one target; the last line of its log is its TAP line.
export one='
  target=$1
  found=$build/fuzz-findings/$target-
  log=$build/logs/fuzz/$target.log
  mkdir -p "$build/fuzz-corpus/$target"
  case $target in
    json_object | list | watch | yaml | manifest | recording) dictionary=kubernetes ;;
    config | kubeconfig) dictionary=configuration ;;
    iptables_*) dictionary=iptables ;;
    *) dictionary= ;;
  esac
  FUZZ_TARGET=$target "$src/test/sanitizers/watched.sh" - "$program" -max_total_time="$seconds" -timeout="$limit" -rss_limit_mb=2048 -max_len=16384 \
    -artifact_prefix="$found" ${dictionary:+-dict="$src/test/fuzz/dictionaries/$dictionary.dict"} -print_final_stats=1 \
    "$build/fuzz-corpus/$target" "$src/test/fuzz/corpus/$target" >"$log" 2>&1
  status=$?
  runs=$(sed -n "s/^stat::number_of_executed_units: *//p" "$log")
  if [ "$status" -eq 0 ]; then
    echo "result ok - $target: ${runs:-no} inputs in $seconds s" >>"$log"
  else
    input=$(sed -n "s/.*Test unit written to //p" "$log" | tail -1)
    why=$(grep -m1 -E "broken: |SUMMARY: |runtime error: |ERROR: " "$log")
    echo "result not ok - $target: ${why:-status $status}, input ${input:-not kept}, see $log" >>"$log"
  fi'
# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -n 1 -P "$jobs" sh -c 'eval "$one"' sh

number=0
failed=0
for target in "$@"; do
  number=$((number + 1))
  result=$(sed -n 's/^result //p' "$build/logs/fuzz/$target.log" | tail -1)
  case $result in ok*) ;; *) failed=1 ;; esac
  echo "${result:-not ok - $target: it did not run}" | sed "s/^\(not ok\|ok\)/\1 $number/"
done
echo "1..$number"
exit $failed
