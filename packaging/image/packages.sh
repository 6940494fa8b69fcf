#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages of the image from a source archive of `make dist`, in a clean Debian 12 that is removed
# afterwards: for this machine's architecture, or with a cross compiler for another one. Needs root, mmdebstrap and a network.
#   packages.sh --arch ARCH SOURCE.tar.gz OUT
# SLUICE_JOBS limits the compilers that run at once. If CCACHE_DIR is set, ccache uses that cache.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

fail() { echo "packages.sh: $1" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
if [ $# != 4 ] || [ "$1" != --arch ]; then usage; fi
ARCHITECTURE=$2
supported=$(sed -n '/^Package: sluice$/,/^$/s/^Architecture: //p' "$here/../debian/control")
case " $supported " in *" $ARCHITECTURE "*) ;; *) fail "no packages for architecture '$ARCHITECTURE'; supported: $supported" ;; esac
[ -f "$3" ] || fail "no source archive $3; make dist creates it"
SOURCE=$(readlink -f "$3")
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing; install it"
mkdir -p "$4"
OUT=$(cd "$4" && pwd)
rm -f "$OUT"/*.deb "$OUT"/*.buildinfo
architectures=$(dpkg --print-architecture)
PROFILES=nocheck
include=build-essential
if [ "$ARCHITECTURE" != "$architectures" ]; then
  architectures=$architectures,$ARCHITECTURE
  PROFILES=nocheck,cross
  include=$include,crossbuild-essential-$ARCHITECTURE
fi
[ -z "${CCACHE_DIR:-}" ] || include=$include,ccache
COMPILE=$here/compile.sh
export ARCHITECTURE SOURCE OUT PROFILES COMPILE

# What the hook mounts is gone when it ends, before mmdebstrap removes the Debian.
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=minbase --architectures="$architectures" --include="$include" --format=null \
  --customize-hook='unshare --mount "$COMPILE" "$1"' bookworm /dev/null
ls "$OUT"/*.deb
