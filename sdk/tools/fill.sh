#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Fills a template of the SDK with installation paths, and prints it. Used by make:
#   fill.sh TEMPLATE TYPES.HPP VERSION PREFIX INCLUDEDIR LIBDIR DATADIR BINDIR
# The ABI version comes from its header. Paths from one installed file to another are relative, so that an installation
# with DESTDIR works in place.
set -eu
template=$1 types=$2 version=$3 prefix=$4 includedir=$5 libdir=$6 datadir=$7 bindir=$8

number() {
  found=$(sed -n "s/^inline constexpr std::uint16_t $1 = \([0-9][0-9]*\);.*/\1/p" "$types")
  [ -n "$found" ] || { echo "fill.sh: $types has no $1" >&2; exit 1; }
  echo "$found"
}
from() { realpath -ms --relative-to="$1" "$2"; }
# Uses ${prefix} as pkg-config expects, so that redefining the prefix moves all paths.
below_prefix() {
  # shellcheck disable=SC2016
  case $1 in "$prefix"/*) printf '${prefix}%s\n' "${1#"$prefix"}" ;; *) printf '%s\n' "$1" ;; esac
}
major=$(number kMajor)
minor=$(number kMinor)
cmake=$libdir/cmake/SluiceSDK
sed -e "s,@VERSION@,$version,g; s,@abi_major@,$major,g; s,@abi_minor@,$minor,g" \
  -e "s,@prefix@,$prefix,; s,@includedir@,$(below_prefix "$includedir"),; s,@libdir@,$(below_prefix "$libdir"),
    s,@datadir@,$(below_prefix "$datadir"),; s,@include_from_cmake@,$(from "$cmake" "$includedir"),
    s,@plugins_from_cmake@,$(from "$cmake" "$libdir/sluice/plugins"),; s,@data_from_cmake@,$(from "$cmake" "$datadir/sluice"),
    s,@skeleton_from_bin@,$(from "$bindir" "$datadir/sluice/skeleton")," "$template"
