#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that each source file compiles by itself, warnings being errors, as --disable-unity compiles it: the unity build
# hides a header that a file forgets to include. Code is checked and not generated, which takes a third of the time.
# Usage: separate.sh BUILDDIR [objects|installed-objects]
#
# With installed-objects clang++, where it is installed, has the headers of test/precompiled.hpp precompiled, which takes a third
# of the time that g++ takes without. test/lint/standard_headers.py finds files that forget one of these.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
objects=${2:-objects}
mkdir -p "$1"
cd "$1"
precompiled=
if [ "$objects" = installed-objects ]; then
  precompiled=--enable-precompiled
  if [ -z "${CXX:-}" ] && command -v clang++ >/dev/null 2>&1; then export CXX=clang++; fi
fi
"$src/configure" --quiet --disable-unity --enable-werror --disable-dependency-tracking $precompiled
if [ -n "$precompiled" ]; then
  suffix=$(sed -n 's/^SLUICE_PRECOMPILED_SUFFIX = //p' Makefile)
  make --no-print-directory "precompiled/standard.hpp.$suffix" CXXFLAGS=
fi
# Libtool takes a seventh of the time, to name an object that is not made.
printf '#!/bin/sh\nwhile [ "$1" != --mode=compile ]; do shift; done\nshift\nexec "$@"\n' >compile
chmod 755 compile
make --no-print-directory -k -j "${SLUICE_JOBS:-$(nproc)}" -f Makefile -f "$src/test/objects.mk" \
  "$objects" LIBTOOL=./compile CXXFLAGS=-fsyntax-only
