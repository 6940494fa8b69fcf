#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that each source file compiles by itself, warnings being errors, as --disable-unity compiles it: the unity build
# hides a header that a file forgets to include. Code is checked and not generated, which takes a third of the time.
# Usage: separate.sh BUILDDIR [objects|installed-objects]
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
cd "$1"
[ -f config.status ] || "$src/configure" --quiet --disable-unity --enable-werror --disable-dependency-tracking
make --no-print-directory -k -j "${SLUICE_JOBS:-$(nproc)}" -f Makefile -f "$src/test/objects.mk" \
  "${2:-objects}" CXXFLAGS=-fsyntax-only
