#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests the SDK outside of this repository: installs it into an empty folder, builds the example there with pkg-config
# only, and loads it with the loader of the daemon. The plugins of this repository must also build with the installed
# headers, lib/, names/ and plugins/common, without headers of the daemon.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-outside-XXXXXX") || exit 99
# Copies of a read-only source tree must be writable for rm.
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
umask 022
chmod 755 "$away"
# The variables of the calling make must not reach the makes below.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

check "make install" make -C "$SLUICE_BUILDDIR" install DESTDIR="$away/root"
pc=$(find "$away/root" -name sluice-sdk.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG="pkg-config --define-variable=prefix=$away/root$prefix"
export PKG_CONFIG_PATH PKG_CONFIG
include=$($PKG_CONFIG --variable=includedir sluice-sdk)

check "pkg-config knows the ABI major of the headers" \
  grep -q "kMajor = $($PKG_CONFIG --variable=abi_major sluice-sdk);" "$include/sluice/abi/types.hpp"

example=$(dirname "$(find "$away/root" -path '*/examples/print/print.cpp')")
cp -r "$example" "$away/print"
check "the example builds from the installed SDK" make -C "$away/print" CXX="$CXX"
check "the example exports its entry only" sh -c "[ \"\$(nm -D --defined-only '$away/print/print.so' | wc -l)\" = 1 ]"
check "the example installs" make -C "$away/print" CXX="$CXX" install
plugins=$($PKG_CONFIG --variable=plugindir sluice-sdk)
SLUICE_PRINT_PATH=$away/lines
export SLUICE_PRINT_PATH
check "the loader of the daemon accepts the example" "$SLUICE_BUILDDIR/test/abi/load_plugin" "$plugins/print.so" print run
# probe, apply, apply, verify, claims, retire, cleanup for each of two families
check "the example recorded every call" sh -c "[ \"\$(grep -c '\"call\"' '$away/lines')\" = 14 ]"
if command -v python3 >/dev/null; then
  check "every line is JSON" \
    python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$away/lines"
else
  skip "every line is JSON" "python3 is not installed"
fi

# needs_only_the_sdk PLUGIN: the preprocessor finds every header of plugins/PLUGIN in the installed SDK, in lib/, in names/,
# in plugins/common or in the system. With these headers the main build compiles the sources, and test/separate.sh each of them by itself.
needs_only_the_sdk() {
  tree=$away/$1
  mkdir -p "$tree/plugins"
  cp -r "$SLUICE_SRCDIR/lib" "$SLUICE_SRCDIR/names" "$tree/"
  cp -r "$SLUICE_SRCDIR/plugins/common" "$SLUICE_SRCDIR/plugins/$1" "$tree/plugins/"
  flags=$(pkg-config --cflags libnl-3.0 libnl-route-3.0 libnl-genl-3.0 2>/dev/null)
  find "$tree/plugins/$1" -name '*.cpp' >"$tree/sources"
  [ -s "$tree/sources" ] || { echo "plugins/$1 has no sources"; return 1; }
  sed 's/.*/#include "&"/' "$tree/sources" >"$tree/all.cpp"
  # shellcheck disable=SC2086
  $CXX -std=c++20 -M -MF /dev/null $flags -I"$tree" -I"$include" "$tree/all.cpp"
}
check "the installed headers are those of the source tree" diff -r "$SLUICE_SRCDIR/sdk/include/sluice" "$include/sluice"
for folder in "$SLUICE_SRCDIR"/plugins/*/; do
  name=$(basename "$folder")
  [ "$name" = common ] || check "plugins/$name needs only the installed SDK" needs_only_the_sdk "$name"
done
finish
