#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# A build with sanitizers, with its test programs, with lines but not types for debuggers; reports are readable all the
# same. Usage:
#   build.sh BUILDDIR COMPILER PROGRAMS CONFIGURE-OPTION…
# PROGRAMS are those of make check that are wanted; all when empty. CXXFLAGS are -g1 -O1 unless set; SLUICE_MAKE_VARIABLES are
# words for make, as packaging/build.sh takes them. SLUICE_TESTS_CXXFLAGS are added for the test programs' own sources.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
CXX=$2
programs=$3
shift 3
# Without ccache, which cannot keep what is compiled with precompiled headers.
: "${CXXFLAGS:=-g1 -O1}"
# GNU ld takes twice the time of gold for objects of this size.
if command -v ld.gold >/dev/null 2>&1; then LDFLAGS="-fuse-ld=gold ${LDFLAGS:-}"; fi
export CXX CXXFLAGS LDFLAGS
"$src/packaging/build.sh" "$build" --enable-precompiled "$@"
if [ -n "${SLUICE_TESTS_CXXFLAGS:-}" ]; then
  set -- "CXXFLAGS=$CXXFLAGS $SLUICE_TESTS_CXXFLAGS" precompiled=precompiled/tests.hpp
else
  set --
fi
# shellcheck disable=SC2086
exec make ${SLUICE_MAKE_VARIABLES:-} --no-print-directory -C "$build" -j "${SLUICE_JOBS:-$(nproc)}" \
  check TESTS= ${programs:+"check_PROGRAMS=$programs"} "$@"
