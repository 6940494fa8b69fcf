#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds into a folder of its own. Usage: build.sh BUILDDIR [configure options…]
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
[ -x "$src/configure" ] && [ "$src/configure" -nt "$src/configure.ac" ] || "$src/autogen.sh" >"$src/autogen.log" 2>&1 || {
  cat "$src/autogen.log" >&2
  exit 1
}
rm -f "$src/autogen.log"
mkdir -p "$build"
cd "$build"
if [ ! -f config.status ]; then
  if command -v ccache >/dev/null 2>&1 && [ -z "${CXX:-}" ]; then export CXX='ccache g++'; fi
  "$src/configure" --quiet "$@" >configure.out 2>&1 || { cat configure.out >&2; exit 1; }
fi
make --no-print-directory -j "${SLUICE_JOBS:-$(nproc)}"
