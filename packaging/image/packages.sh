#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages of the image from a source archive of `make dist`, in a clean Debian 12 that is removed
# afterwards: for this machine's architecture, or with a cross compiler for another one. Needs root, mmdebstrap and a network.
#   packages.sh --arch ARCH SOURCE.tar.gz OUT
set -eu

fail() { echo "packages.sh: $1" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
if [ $# != 4 ] || [ "$1" != --arch ]; then usage; fi
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing; install it"
architecture=$2
[ -f "$3" ] || fail "no source archive $3; make dist creates it"
SOURCE=$(readlink -f "$3")
mkdir -p "$4"
OUT=$(cd "$4" && pwd)
native=$(dpkg --print-architecture)
WORDS="-a$architecture"
PROFILES=nocheck
include=build-essential
if [ "$architecture" != "$native" ]; then
  native=$native,$architecture
  PROFILES=nocheck,cross
  include=$include,crossbuild-essential-$architecture
fi
export SOURCE OUT WORDS PROFILES

# Hooks run outside of the new Debian, with its path as $1; apt and dpkg must run inside, or they change this machine.
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=minbase --architectures="$native" --include="$include" --format=null \
  --customize-hook='mkdir "$1/build" && tar -C "$1/build" --strip-components=1 --one-top-level=sluice -xf "$SOURCE"' \
  --customize-hook='cp -r "$1/build/sluice/packaging/debian" "$1/build/sluice/debian"' \
  --customize-hook='chroot "$1" sh -ec "cd /build/sluice
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq --yes --no-install-recommends --arch-only $WORDS -P$PROFILES build-dep ./"' \
  --customize-hook='chroot "$1" sh -ec "cd /build/sluice
    DEB_BUILD_OPTIONS=\"nocheck ${DEB_BUILD_OPTIONS:-}\" dpkg-buildpackage --build=any --no-sign $WORDS -P$PROFILES"' \
  --customize-hook='cp "$1"/build/*.deb "$1"/build/*.buildinfo "$OUT"' \
  bookworm /dev/null
ls "$OUT"/*.deb
