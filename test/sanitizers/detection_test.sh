#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# TAP: small programs with one bug each, run with watched.sh, must leave a report that
# reports.sh finds; one without a bug must leave none. This proves that the sanitizers
# work. Usage: detection_test.sh BUILDDIR address|thread
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
kind=$2
. "$src/test/abi/tap.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-sanitizers-XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
variable() { sed -n "s/^$1 = //p" "$build/Makefile"; }
compiler=$(variable CXX)
# In the order of the build, where a later flag switches checks of an earlier one off.
flags="$(variable CPPFLAGS) $(variable SLUICE_SANITIZER_CPPFLAGS) $(variable SLUICE_SANITIZER_FLAGS) $(variable CXXFLAGS)"

# run_bug NAME: the reports are in $scratch/NAME afterwards.
run_bug() {
  # shellcheck disable=SC2086
  $compiler -std=c++20 -pthread $flags "$src/test/sanitizers/bugs/$1.cpp" -o "$scratch/$1.program" || return 1
  "$src/test/sanitizers/watched.sh" "$scratch/$1" "$scratch/$1.program" >"$scratch/$1.out" 2>&1
  return 0
}

# is_found NAME WORDS
is_found() {
  run_bug "$1" || return 1
  if "$src/test/sanitizers/reports.sh" "$scratch/$1" >"$scratch/tap"; then
    echo "nothing was reported"
    cat "$scratch/$1.out"
    return 1
  fi
  grep -h "$2" "$scratch/$1"/report.* >/dev/null || { cat "$scratch/$1"/report.*; return 1; }
}

is_clean() {
  run_bug "$1" && "$src/test/sanitizers/reports.sh" "$scratch/$1"
}

check "a program without a bug leaves no report" is_clean none
case $kind in
  address)
    check "use after free is found" is_found use_after_free heap-use-after-free
    check "a leak is found" is_found leak 'detected memory leaks'
    check "signed overflow is found" is_found overflow 'signed integer overflow'
    check "an index behind the end of a view is found" is_found index 'AddressSanitizer: ABRT'
    ;;
  thread) check "a data race is found" is_found race 'data race' ;;
esac
finish
