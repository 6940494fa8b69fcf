# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the SDK to a separate prefix; read with `.`.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-sdk-XXXXXX") || exit 99
# Copies of a read-only source tree must be writable for rm.
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
umask 022
chmod 755 "$away"
# The variables of the calling make must not reach the makes of the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES PKG_CONFIG PKG_CONFIG_PATH ACLOCAL_PATH CMAKE_PREFIX_PATH

check "the SDK installs alone" make -C "$SLUICE_BUILDDIR" install-sdk DESTDIR="$away/root"
pc=$(find "$away/root" -name sluice-sdk.pc)
installed=$(sed -n 's/^prefix=//p' "$pc")
prefix=$away/root$installed

# with_sdk: sets the variables to find the SDK, as in the README of a skeleton.
with_sdk() {
  PATH=$prefix/bin:$PATH
  CMAKE_PREFIX_PATH=$prefix
  ACLOCAL_PATH=$prefix/share/aclocal
  PKG_CONFIG_PATH=$(dirname "$pc")
  PKG_CONFIG="pkg-config --define-variable=prefix=$prefix"
  export PATH CMAKE_PREFIX_PATH ACLOCAL_PATH PKG_CONFIG_PATH PKG_CONFIG CXX
}

have() { command -v "$1" >/dev/null 2>&1; }
