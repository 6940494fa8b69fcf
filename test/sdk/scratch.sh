# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The SDK in a place of its own, as an author has it who installed it to a prefix; read with `.`.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-sdk-XXXXXX") || exit 99
# Copies of a read-only source tree must not stay behind.
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
umask 022
chmod 755 "$away"
# What make told this test is not meant for the makes of an author.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES PKG_CONFIG PKG_CONFIG_PATH ACLOCAL_PATH CMAKE_PREFIX_PATH

check "the SDK installs alone" make -C "$SLUICE_BUILDDIR" install-sdk DESTDIR="$away/root"
pc=$(find "$away/root" -name sluice-sdk.pc)
installed=$(sed -n 's/^prefix=//p' "$pc")
prefix=$away/root$installed

# with_sdk: everything finds it, as the README of a skeleton says for another prefix.
with_sdk() {
  PATH=$prefix/bin:$PATH
  CMAKE_PREFIX_PATH=$prefix
  ACLOCAL_PATH=$prefix/share/aclocal
  PKG_CONFIG_PATH=$(dirname "$pc")
  PKG_CONFIG="pkg-config --define-variable=prefix=$prefix"
  export PATH CMAKE_PREFIX_PATH ACLOCAL_PATH PKG_CONFIG_PATH PKG_CONFIG CXX
}

have() { command -v "$1" >/dev/null 2>&1; }
