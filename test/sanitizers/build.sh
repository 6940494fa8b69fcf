#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds with sanitizers, including the test programs. Debug information has lines but no types, which is enough for
# reports. Usage:
#   build.sh BUILDDIR COMPILER PROGRAMS CONFIGURE-OPTION…
# PROGRAMS: programs of make check to build; empty: all. CXXFLAGS: -g1 -O1 unless set. SLUICE_MAKE_VARIABLES: arguments
# of make, as for packaging/build.sh. SLUICE_TESTS_CXXFLAGS: added for the sources of the test programs.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
CXX=$2
programs=$3
shift 3
# Without ccache, which cannot cache compilations with precompiled headers.
: "${CXXFLAGS:=-g1 -O1}"
# For objects of this size GNU ld takes five times the time of lld.
if command -v ld.lld >/dev/null 2>&1; then LDFLAGS="-fuse-ld=lld ${LDFLAGS:-}"; fi
export CXX CXXFLAGS LDFLAGS
# Checks make templates large, so folders of the core share them.
"$src/packaging/build.sh" "$build" --enable-precompiled --enable-unity=wide "$@"
if [ -n "${SLUICE_TESTS_CXXFLAGS:-}" ]; then
  set -- "CXXFLAGS=$CXXFLAGS $SLUICE_TESTS_CXXFLAGS" precompiled=precompiled/tests.hpp
else
  set --
fi
# shellcheck disable=SC2086
exec make ${SLUICE_MAKE_VARIABLES:-} --no-print-directory -C "$build" -j "${SLUICE_JOBS:-$(nproc)}" \
  check TESTS= ${programs:+"check_PROGRAMS=$programs"} "$@"
