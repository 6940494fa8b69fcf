#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the RPM packages from the files of `make dist`. Usage: build.sh OUTDIR BUILDDIR [BUILT]
# The packages are built in OUTDIR and placed there; BUILDDIR is a configured build tree. BUILT is a built tree with the
# folders of a package (prefix /usr): with it nothing is compiled. On a system without an RPM database, build dependencies
# are checked by configure only.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tree=$2
built=${3:+$(cd "$3" && pwd)}

"$src/packaging/install-deps.sh" build rpm
value() { sed -n "s/^$1 = //p" "$2/Makefile"; }
name=sluice-$(value PACKAGE_VERSION "$tree")
rm -rf "$out/$name" "$out/top" "$out"/*.rpm
make --no-print-directory -s -C "$tree" distdir distdir="$out/$name"
tar -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"

nodeps=
rpm -q rpm >/dev/null 2>&1 || nodeps=--nodeps
if [ -n "$built" ]; then
  [ "$(value prefix "$built")" = /usr ] || { echo "build.sh: $built is configured with another prefix than /usr" >&2; exit 1; }
  libdir=$(make --no-print-directory -s -C "$built" -f - print <<'END'
include Makefile
print: ; @echo $(libdir)
END
)
  case $libdir in /*) ;; *) echo "build.sh: $built is to be configured again, and says: $libdir" >&2; exit 1 ;; esac
  set -- --define "sluice_tree $built" --define "_libdir $libdir"
else
  set --
  if command -v ccache >/dev/null 2>&1 && [ -z "${CXX:-}" ]; then export CXX='ccache g++'; fi
fi
# Without debuginfo packages, whose tools differ between systems.
# shellcheck disable=SC2086
rpmbuild -tb $nodeps --quiet --define "_topdir $out/top" --define "_smp_mflags -j${SLUICE_JOBS:-$(nproc)}" \
  --define 'debug_package %{nil}' --define '_docdir %{_datadir}/doc' "$@" "$out/$name.tar.gz"
find "$out/top/RPMS" -name '*.rpm' -exec mv {} "$out/" \;
rm -rf "$out/top"
ls "$out"/*.rpm
