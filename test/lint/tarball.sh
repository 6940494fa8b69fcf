#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Fails when `make dist` does not pack a file of the clone, and names it. Usage: tarball.sh BUILDDIR
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-tarball-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
make --no-print-directory -s -C "$build" dist
tar -tf "$build"/sluice-*.tar.gz | sed 's#^[^/]*/##' | sort >"$scratch/packed"
# Of no use without a repository.
git -C "$src" ls-files | grep -vx '.gitignore' | sort >"$scratch/kept"
comm -13 "$scratch/packed" "$scratch/kept" >"$scratch/missing"
[ -s "$scratch/kept" ] && [ ! -s "$scratch/missing" ] && exit 0
echo "not in the tarball; name them in a _SOURCES or EXTRA_DIST:"
cat "$scratch/missing"
exit 1
