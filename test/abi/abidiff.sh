#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# libabigail compares the binaries that compilers produce from the released and the current headers. docs/abi.md lists the
# changes that it does not detect; gate.sh tests them.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-abidiff-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
now=$SLUICE_SRCDIR/sdk/include
number() { sed -n "s/.* $1 = \([0-9]*\);.*/\1/p" "$now/sluice/abi/types.hpp"; }
release=$(number kMajor).$(number kMinor)
before=$SLUICE_SRCDIR/test/abi/released/$release/include

# A minor in development differs from the last one on purpose; released.sh and skew.sh test its compatibility.
if [ ! -d "$before" ]; then
  skip "the headers are those of $release" "$release is not released"
elif ! command -v abidiff >/dev/null; then
  skip "the headers are those of $release" "abidiff is not installed; install abigail-tools"
else
  for compiler in "$CXX -femit-class-debug-always" "clang++ -fstandalone-debug"; do
    if ! ${compiler%% -f*} --version >/dev/null 2>&1; then
      skip "$compiler" "this compiler is not installed"
      continue
    fi
    # shellcheck disable=SC2086
    check "the released headers, $compiler" describe "$before" "$away/before.so" $compiler
    # shellcheck disable=SC2086
    check "the current headers, $compiler" describe "$now" "$away/now.so" $compiler
    check "both produce the same binary, $compiler" same_binary "$away/before.so" "$away/now.so"
  done
fi
finish
