#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
# Makes configure and Makefile.in out of a fresh clone.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf aclocal automake libtoolize pkg-config; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "autogen.sh: '$tool' is missing; install it (Debian: apt-get install autoconf automake libtool pkg-config)" >&2
    exit 1
  }
done
mkdir -p build-aux
autoreconf --install --force --warnings=all,no-obsolete
# configure ends with "rm -f core …" for crash dumps, which fails on our folder of that name.
sed -i 's/rm -f core \*\.core core\.conftest/rm -f *.core core.conftest/' configure
