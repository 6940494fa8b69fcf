#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages from the files of `make dist`. Usage: build.sh OUTDIR [BUILDDIR]
# The packages are built in OUTDIR and placed there; BUILDDIR is a configured build tree (default: created in OUTDIR).
# Needs root only to install missing build dependencies. DEB_BUILD_OPTIONS as usual; by default tests are not run.
# Timestamps in the packages are those of packaging/debian/changelog, unless SOURCE_DATE_EPOCH is set.
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
# Without the archive, and in a folder that no other `make dist` uses.
make --no-print-directory -s -C "$tree" distdir distdir="$out/$name"

cd "$out/$name"
cp -r packaging/debian debian
packaged=$(dpkg-parsechangelog --show-field Version)
upstream=${packaged#*:}
if [ "${upstream%-*}" != "$version" ]; then
  echo "build.sh: version $version is not in packaging/debian/changelog, which ends with $packaged; add an entry" >&2
  exit 1
fi
if command -v ccache >/dev/null 2>&1 && [ -z "${CXX:-}" ]; then
  export CXX='ccache g++'
  # debhelper sets a new, empty HOME.
  : "${CCACHE_DIR:=$(ccache --get-config cache_dir)}" "${CCACHE_MAXSIZE:=$(ccache --get-config max_size)}"
  export CCACHE_DIR CCACHE_MAXSIZE
fi
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck}"
case " $DEB_BUILD_OPTIONS " in *" nocheck "*) export DEB_BUILD_PROFILES="nocheck ${DEB_BUILD_PROFILES:-}" ;; esac
dpkg-buildpackage --build=binary --no-sign --jobs-try="${SLUICE_JOBS:-$(nproc)}"
ls "$out"/*.deb
