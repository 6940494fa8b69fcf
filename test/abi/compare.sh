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

# names: the lines "struct NAME FIELD", "enum NAME VALUE", "class NAME METHOD" of all headers in $SLUICE_ABI_HEADERS.
names() {
  sed 's|//.*||' "$SLUICE_ABI_HEADERS"/*.hpp | awk '
    /^(struct|class|enum( class)?) [A-Za-z]+[^;]*\{/ {
      kind = $1; name = $2 == "class" ? $3 : $2; sub(/[:{].*/, "", name); inside = 1
      if (kind != "enum") next
    }
    inside && kind == "enum" {
      text = $0; sub(/^.*\{/, "", text)
      while (match(text, /k[A-Z][A-Za-z0-9]*/)) {
        print kind, name, substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
        sub(/^[^,]*,?/, "", text)
      }
    }
    inside && /\}/ { inside = 0; next }
    inside && kind == "class" && /virtual/ && match($0, /[a-z_]+\(/) {
      print kind, name, substr($0, RSTART, RLENGTH - 1)
    }
    inside && kind == "struct" && /noexcept;/ && match($0, /\(\*[a-z_]+\)/) {
      print kind, name, substr($0, RSTART + 2, RLENGTH - 3); next
    }
    inside && kind == "struct" && /;/ {
      field = $0; sub(/;.*/, "", field); sub(/\[.*/, "", field); sub(/.*[ *]/, "", field)
      if (field != "") print kind, name, field
    }'
}
