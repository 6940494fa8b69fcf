#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests different compilers, standard libraries and language levels for daemon and plugin: the built daemon loads the
# plugins of each lane, and the output of a plugin is the same with a daemon of another lane.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-lanes-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
include=$SLUICE_SRCDIR/sdk/include
long=${SLUICE_LONG:-0}

# Builds the example like its Makefile.
example() {
  $COMPILER -fPIC -shared -Wall -Wextra -I"$include" -Wl,-z,defs -Wl,--version-script="$SLUICE_SRCDIR/sdk/plugin.map" \
    "$SLUICE_SRCDIR/sdk/examples/print/print.cpp" -o "$away/print.so"
}
exports_entry_only() { [ "$(nm -D --defined-only "$1" | awk '{ print $NF }')" = sluice_plugin_entry ]; }
is_taken() {
  SLUICE_PRINT_PATH=$away/printed "$SLUICE_BUILDDIR/test/abi/load_plugin" "$1" "$2" run >"$away/taken" && return
  cat "$away/taken"
  return 1
}
says_as_ever() {
  "$1" "$away/skew.so" >"$away/said" 2>&1
  diff "$away/wanted" "$away/said"
}

COMPILER="$CXX -std=c++20"
check "the daemon of $COMPILER" skew_daemon "$include" "$away/daemon"
check "its plugin" skew_plugin "$include" "$away/skew.so"
check "their output" sh -c "'$away/daemon' '$away/skew.so' >'$away/wanted'"

# lane COMPILER FLAG…
lane() {
  COMPILER=$*
  if ! echo 'int main() {}' | $COMPILER -include string -x c++ - -o "$away/tried" 2>/dev/null; then
    skip "$COMPILER" "this compiler or its library is not installed"
    return
  fi
  check "$COMPILER: the example builds" example
  check "$COMPILER: it exports its entry only" exports_entry_only "$away/print.so"
  check "$COMPILER: the daemon loads and calls it" is_taken "$away/print.so" print
  check "$COMPILER: a plugin without the SDK" skew_plugin "$include" "$away/skew.so" -fno-exceptions
  check "$COMPILER: the daemon loads and calls it, too" is_taken "$away/skew.so" skew
  check "$COMPILER: the output with another daemon is the same" says_as_ever "$away/daemon"
  [ "$long" != 0 ] || return
  check "$COMPILER: a daemon" skew_daemon "$include" "$away/other"
  check "$COMPILER: the output with this daemon is the same" says_as_ever "$away/other"
}

lane "$CXX" -std=c++17
lane "$CXX" -std=c++20 -fno-rtti
lane clang++ -std=c++17
lane clang++ -std=c++20 -stdlib=libc++
if [ "$long" != 0 ]; then
  lane clang++ -std=c++17 -stdlib=libc++ -fno-rtti -O2
  lane "$CXX" -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0
  lane "$CXX" -std=c++20 -D_GLIBCXX_DEBUG
  lane "$CXX" -std=c++20 -O2 -flto
else
  skip "four lanes more" "long form only"
fi
finish
