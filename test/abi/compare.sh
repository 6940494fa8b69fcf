# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The judges of the ABI, each on the headers of one folder; read with `.`. $away is a folder for what they make.
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

# describe INCLUDE FILE [COMPILER…]: a library that says with its debug information what these headers have. Of a
# class a compiler says all only where it is told to.
describe() {
  include=$1
  file=$2
  shift 2
  # shellcheck disable=SC2086
  [ $# -gt 0 ] || set -- $CXX -femit-class-debug-always
  "$@" -std=c++17 -g -O0 -fPIC -shared -I"$include" "$SLUICE_SRCDIR/test/abi/probe.cpp" -o "$file"
}

# same_binary FILE FILE: also of what is harmless elsewhere, such as a new method: every answer but 0 is one.
same_binary() { abidiff --harmless "$1" "$2"; }

# skew_plugin INCLUDE FILE FLAG…, skew_daemon likewise: the plugin and the daemon that are written with the headers of
# the ABI alone. $COMPILER instead of $CXX where it is set.
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
