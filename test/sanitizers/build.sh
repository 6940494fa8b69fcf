#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# A build with sanitizers, with its test programs, with lines but not types for debuggers; reports are readable all the
# same. Usage:
#   build.sh BUILDDIR COMPILER PROGRAMS CONFIGURE-OPTION…
# PROGRAMS are those of make check that are wanted; all when empty. CXXFLAGS are -g1 -O1 unless set.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
CXX=$2
programs=$3
shift 3
if command -v ccache >/dev/null 2>&1; then CXX="ccache $CXX"; fi
: "${CXXFLAGS:=-g1 -O1}"
export CXX CXXFLAGS
"$src/packaging/build.sh" "$build" --enable-precompiled "$@"
exec make --no-print-directory -C "$build" -j "${SLUICE_JOBS:-$(nproc)}" check TESTS= ${programs:+"check_PROGRAMS=$programs"}
