#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages from what `make dist` packs. Usage: build.sh OUTDIR [BUILDDIR]
# OUTDIR gets the packages and is where they are built, BUILDDIR is a configured build tree
# (default: one made in OUTDIR). Needs root only where something is missing to build with.
# DEB_BUILD_OPTIONS as usual; without it the tests of the clone are not run again. Times in the packages are those of
# packaging/debian/changelog, unless SOURCE_DATE_EPOCH says otherwise.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tree=${2:-$out/dist}

"$src/packaging/install-deps.sh" build package
if [ ! -f "$tree/config.status" ]; then
  [ -x "$src/configure" ] || "$src/autogen.sh" >"$out/autogen.log" 2>&1 || { cat "$out/autogen.log" >&2; exit 1; }
  mkdir -p "$tree"
  (cd "$tree" && "$src/configure" --quiet)
fi
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$tree/Makefile")
name=sluice-$version
rm -rf "${out:?}/$name" "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
# Without the archive, and not where another `make dist` may be at work.
make --no-print-directory -s -C "$tree" distdir distdir="$out/$name"

cd "$out/$name"
cp -r packaging/debian debian
packaged=$(dpkg-parsechangelog --show-field Version)
upstream=${packaged#*:}
if [ "${upstream%-*}" != "$version" ]; then
  echo "build.sh: this is version $version, and packaging/debian/changelog ends with $packaged; add what is new to it" >&2
  exit 1
fi
if command -v ccache >/dev/null 2>&1 && [ -z "${CXX:-}" ]; then
  export CXX='ccache g++'
  # debhelper gives programs a home folder that is new each time.
  : "${CCACHE_DIR:=$(ccache --get-config cache_dir)}" "${CCACHE_MAXSIZE:=$(ccache --get-config max_size)}"
  export CCACHE_DIR CCACHE_MAXSIZE
fi
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck}"
case " $DEB_BUILD_OPTIONS " in *" nocheck "*) export DEB_BUILD_PROFILES="nocheck ${DEB_BUILD_PROFILES:-}" ;; esac
dpkg-buildpackage --build=binary --no-sign --jobs-try="${SLUICE_JOBS:-$(nproc)}"
ls "$out"/*.deb
