#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The hook of packages.sh: mmdebstrap runs it on this machine, with the path of the new Debian as its argument. apt, dpkg and
# the compiler run in the new Debian, without the environment of the caller; otherwise they would change this machine.
set -eu
root=${1:?}

inside() {
  chroot "$root" env -i PATH="${CCACHE_DIR:+/usr/lib/ccache:}/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LC_ALL=C.UTF-8 \
    CCACHE_DIR=/build/cache DEBIAN_FRONTEND=noninteractive http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "$@"
}

# The path of the sources is the same each time, so that ccache finds what an earlier build compiled.
mkdir -p "$root/build/cache"
tar -C "$root/build" -xf "$SOURCE"
mv "$root"/build/sluice-* "$root/build/sluice"
cp -r "$root/build/sluice/packaging/debian" "$root/build/sluice/debian"
if [ -n "${CCACHE_DIR:-}" ]; then
  mkdir -p "$CCACHE_DIR"
  mount --bind "$CCACHE_DIR" "$root/build/cache"
fi
inside apt-get -qq --yes --no-install-recommends --arch-only --host-architecture "$ARCHITECTURE" --build-profiles "$PROFILES" \
  build-dep /build/sluice
# shellcheck disable=SC2016
inside sh -ec 'cd /build/sluice && export DEB_BUILD_OPTIONS=nocheck && exec dpkg-buildpackage "$@"' sh \
  --build=any --no-sign --host-arch "$ARCHITECTURE" --build-profiles="$PROFILES" --jobs-try="${SLUICE_JOBS:-$(nproc)}"
cp "$root"/build/*.deb "$root"/build/*.buildinfo "$OUT"
