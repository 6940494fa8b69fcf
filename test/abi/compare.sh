# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The checks of the ABI, each for the headers of one folder; read with `.`. $away is the folder for their output.
: "${away:=.}"
plain=$SLUICE_SRCDIR/test/abi/plain

# layout_holds INCLUDE [TESTS [FLAG…]], slots_hold likewise: TESTS is the folder of the two tests.
layout_holds() {
  include=$1
  tests=${2:-$SLUICE_SRCDIR/test/abi}
  shift "$(($# > 2 ? 2 : $#))"
  $CXX -std=c++20 -fsyntax-only "$@" -I"$include" "$tests/layout_test.cpp"
}
slots_hold() {
  $CXX -std=c++20 -O0 -I"$plain" -I"$1" "${2:-$SLUICE_SRCDIR/test/abi}/slots_test.cpp" "$plain/main.cpp" \
    -o "$away/slots" && "$away/slots"
}

# describe INCLUDE FILE [COMPILER…]: builds a library whose debug information describes these headers. By default,
# compilers omit the debug information of unused classes.
describe() {
  include=$1
  file=$2
  shift 2
  # shellcheck disable=SC2086
  [ $# -gt 0 ] || set -- $CXX -femit-class-debug-always
  "$@" -std=c++17 -g -O0 -fPIC -shared -I"$include" "$SLUICE_SRCDIR/test/abi/probe.cpp" -o "$file"
}

# same_binary FILE FILE: also reports changes that are harmless elsewhere, such as a new method.
same_binary() { abidiff --harmless "$1" "$2"; }

# skew_plugin INCLUDE FILE FLAG…, skew_daemon likewise: build the plugin and the daemon that use only the headers of the
# ABI, with $COMPILER if it is set, otherwise with $CXX.
skew_plugin() {
  include=$1
  file=$2
  shift 2
  ${COMPILER:-$CXX -std=c++17} -O0 -Wall -fPIC -shared -I"$include" "$@" "$SLUICE_SRCDIR/test/abi/skew/plugin.cpp" \
    -Wl,-z,defs -Wl,--version-script="$SLUICE_SRCDIR/sdk/plugin.map" -o "$file"
}
skew_daemon() {
  include=$1
  file=$2
  shift 2
  ${COMPILER:-$CXX -std=c++17} -O0 -Wall -I"$include" "$@" "$SLUICE_SRCDIR/test/abi/skew/daemon.cpp" -o "$file" -ldl
}
