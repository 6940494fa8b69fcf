#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the ABI tests are complete: abi.hpp includes all headers, the tests of layout and slots have every name of
# them, every struct says whether it grows, and the example prints every field that it receives.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"
: "${SLUICE_ABI_HEADERS:=$SLUICE_SRCDIR/sdk/include/sluice/abi}"
tests=$SLUICE_SRCDIR/test/abi
print=$SLUICE_SRCDIR/sdk/examples/print/print.cpp

reached() {
  $CXX -std=c++17 -MM -I"$SLUICE_ABI_HEADERS/../.." "$SLUICE_ABI_HEADERS/abi.hpp" >"$away/reached" || return 1
  missing=0
  for header in "$SLUICE_ABI_HEADERS"/*.hpp; do
    grep -q "/sluice/abi/$(basename "$header")\\( \\|\$\\)" "$away/reached" && continue
    echo "abi.hpp does not include $(basename "$header")"
    missing=1
  done
  return $missing
}

tested() {
  names >"$away/names"
  [ "$(wc -l <"$away/names")" -gt 150 ] || { echo "no names were found: adapt this test to the headers"; return 1; }
  missing=0
  while read -r kind name member; do
    case $kind in
      struct) grep -q "is_at<.*>(&$name::$member," "$tests/layout_test.cpp" ;;
      enum) grep -q "static_assert(.*\\b$member\\()\\)\\? == " "$tests/layout_test.cpp" ;;
      class) grep -q "= &$name::$member;" "$tests/slots_test.cpp" ;;
    esac && continue
    echo "the tests do not know $kind $name, $member"
    missing=1
  done <"$away/names"
  return $missing
}

says_how_it_grows() {
  for header in "$SLUICE_ABI_HEADERS"/*.hpp; do
    awk '/^\/\/ (Fixed|Growing)\./ { said = 1 }
         /^struct / { if (!said) { print FILENAME ": " $2 " says neither Fixed. nor Growing."; bad = 1 } }
         /^[^\/]/ || /^$/ { said = 0 }
         END { exit bad }' "$header" || return 1
  done
}

shown() {
  names >"$away/names"
  missing=0
  for struct in NodeFacts ServicePort Frontend Endpoint Transaction Handover; do
    awk -v name=$struct '$1 == "struct" && $2 == name { print $3 }' "$away/names" >"$away/fields"
    while read -r field; do
      case $field in struct_size | reserved | reserved2 | key | node | endpoints | frontends | source_ranges) continue ;; esac
      grep -q "\\.$field\\b" "$print" && continue
      echo "the example does not print $struct::$field"
      missing=1
    done <"$away/fields"
  done
  return $missing
}

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-complete-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
check "abi.hpp includes every header" reached
check "the tests of layout and slots have every field, value and method" tested
check "every struct says whether it grows" says_how_it_grows
check "the example prints every field" shown
finish
