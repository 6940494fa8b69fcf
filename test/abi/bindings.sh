#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The ABI for C and Rust is the one of the C++ headers: it is made from them, has every name of them, and the compiler compares
# each size, offset, type, value and function of the C header. A change of that header that would break plugins is detected.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"
SLUICE_ABI_HEADERS=$SLUICE_SRCDIR/sdk/include/sluice/abi
include=$SLUICE_SRCDIR/sdk/include
bindings=$SLUICE_SRCDIR/sdk/tools/bindings/bindings.py
header=$include/sluice/abi.h
rust_file=$SLUICE_SRCDIR/sdk/rust/sluice_abi.rs

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-bindings-XXXXXX") || exit 99
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
made() { python3 -B "$bindings" "$SLUICE_ABI_HEADERS" "$1"; }
up_to_date() {
  made "$1" | diff "$2" - && return
  echo "write it again: make bindings"
  return 1
}
check "abi.h is what the C++ headers make" up_to_date c "$header"
check "sluice_abi.rs is what the C++ headers make" up_to_date rust "$rust_file"

# Each struct, field, value and method that another reader of the headers finds, in both languages. The name of a value is
# checked by its words, because scoped ones have the name of their enumeration before them.
known() {
  names >"$away/names"
  [ "$(wc -l <"$away/names")" -gt 150 ] || { echo "no names were found: adapt names()"; return 1; }
  missing=0
  while read -r kind name member; do
    words=$(printf '%s\n' "${member#k}" | sed 's/\([a-z0-9]\)\([A-Z]\)/\1_\2/g' | tr '[:lower:]' '[:upper:]')
    case $kind in
      enum) c="\\bSLUICE_[A-Z0-9_]*$words\\b" rust="pub const [A-Z0-9_]*$words:" ;;
      class) c="(\\*$member)(" rust="pub $member: unsafe extern" ;;
      struct) c="\\b$member\\(\\[[0-9]*\\]\\)\\?;\\|(\\*$member)(" rust="pub $member: " ;;
    esac
    grep -q "$c" "$header" || { echo "abi.h has no $kind $name, $member"; missing=1; }
    grep -q "$rust" "$rust_file" || { echo "sluice_abi.rs has no $kind $name, $member"; missing=1; }
  done <"$away/names"
  return $missing
}
check "both have every field, value and method" known

# C compilers.
alone() {
  compiler=$1
  shift
  for file in abi.h sdk.h; do
    printf '#include "sluice/%s"\nint unused;\n' "$file" | $compiler "$@" -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror \
      -I"$include" - || return 1
  done
}
says() {
  words=$1
  shift
  if echo '#include "sluice/abi.h"' | "$@" -fsyntax-only -I"$include" -x c - >"$away/said" 2>&1; then
    echo "it compiles"
    return 1
  fi
  grep -q "error.*$words" "$away/said" || { cat "$away/said"; return 1; }
}
for compiler in gcc clang; do
  command -v $compiler >/dev/null || { skip "$compiler" "not installed"; continue; }
  check "C11, $compiler" alone $compiler -x c -std=c11
  check "C17, $compiler" alone $compiler -x c -std=c17
  check "C++17, $compiler" alone $compiler -x c++ -std=c++17
  check "C99 is rejected with an error, $compiler" says 'The ABI of Sluice takes C11 or later' $compiler -std=c99
done
if command -v clang >/dev/null; then
  check "32 bits are rejected with an error" says 'is for 64-bit machines' clang -std=c11 --target=i686-linux-gnu -ffreestanding \
    -ferror-limit=0
fi

# The comparison.
made compare >"$away/compare.cpp"
same() { $1 -std=c++17 -fsyntax-only -I"${2:-$include}" "$away/compare.cpp"; }
check "the C header has the layout of the C++ headers, $CXX" same "$CXX"
if command -v clang++ >/dev/null; then check "likewise, clang++" same clang++; fi
mkdir "$away/include"
cp -r "$include/sluice" "$away/include/sluice"
chmod -R u+w "$away/include"
# detected SED-SCRIPT: this change of abi.h fails the comparison. Its own assertions are removed: they would fail first.
awk '/^SLUICE_ASSERT\(/ { inside = 1 } !inside { print } inside && /;$/ { inside = 0 }' "$header" >"$away/plain.h"
detected() {
  sed "$1" "$away/plain.h" >"$away/include/sluice/abi.h"
  if cmp -s "$away/plain.h" "$away/include/sluice/abi.h"; then
    echo "the change did not apply: adapt it to the header"
    return 1
  fi
  ! same "$CXX" "$away/include" >"$away/said" 2>&1 && grep -q 'static assertion failed\|not declared\|has no member\|no member' "$away/said"
}
cp "$away/plain.h" "$away/include/sluice/abi.h"
check "the comparison passes without these assertions" same "$CXX" "$away/include"
check "a moved function" detected '/(\*verify)(/d; /(\*probe)(/i sluice_code (*verify)(struct sluice_backend* self, struct sluice_error* error);'
check "a further function" detected '/(\*release)(/a void (*more)(struct sluice_backend* self);'
check "another argument" detected 's/(\*log_enabled)(struct sluice_host\* self, sluice_severity/(*log_enabled)(struct sluice_host* self, uint32_t/'
check "another result" detected 's/uint64_t (\*now)/uint32_t (*now)/'
check "swapped fields of one size" detected '/^struct sluice_endpoint {/,/^}/{/uint16_t port;/d; s/uint16_t flags;.*/&\nuint16_t port;/}'
check "a field of another type of the same size" detected '/^struct sluice_apply_result {/,/^}/s/uint64_t objects_owned/double objects_owned/'
check "a further field" detected '/^struct sluice_node_facts {/,/^}/s/struct sluice_array_view service_cidrs;/&\nuint64_t more;/'
check "a changed value" detected 's/SLUICE_CODE_DENIED = 5/SLUICE_CODE_DENIED = 6/'
check "a changed bit" detected 's/define SLUICE_FEATURE_DELTA (UINT64_C(1) << 2)/define SLUICE_FEATURE_DELTA (UINT64_C(1) << 3)/'
check "an enumeration of another width" detected 's/typedef uint16_t sluice_endpoint_flag/typedef uint32_t sluice_endpoint_flag/'
check "another id of an extension" detected 's|"sluice.host.relay/1"|"sluice.host.relay/2"|'

if command -v "${RUSTC:=rustc}" >/dev/null; then
  rust_compiles() { (cd "$away" && $RUSTC --edition 2021 -D warnings --crate-type rlib --crate-name sluice_abi "$rust_file"); }
  check "the types for Rust compile without warnings and have the sizes of the C++ headers" rust_compiles
else
  skip "the types for Rust" "rustc is not installed"
fi
finish
