#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every built plugin exports exactly one symbol. Plugins would share further symbols, and an STB_GNU_UNIQUE symbol
# prevents unmapping.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

exports_only() {
  found=$(nm -D --defined-only "$1" | awk '{ print $NF }' | LC_ALL=C sort | tr '\n' ' ')
  [ "$found" = "$2" ] || { echo "exports: $found"; return 1; }
}

for file in "$SLUICE_BUILDDIR"/plugins/*/.libs/*.so "$SLUICE_BUILDDIR"/sdk/examples/*/.libs/*.so \
  "$SLUICE_BUILDDIR"/test/plugins/.libs/*.so; do
  [ -f "$file" ] || continue
  name=${file#"$SLUICE_BUILDDIR"/}
  case $name in
    */no_symbol.so) check "$name exports nothing" exports_only "$file" "" ;;
    # This plugin has the fault on purpose.
    */stays_unique.so) check "$name exports a unique symbol" sh -c "nm -D --defined-only '$file' | grep -q ' u '" ;;
    *) check "$name exports its entry only" exports_only "$file" "sluice_plugin_entry " ;;
  esac
done
finish
