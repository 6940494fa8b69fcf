#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages a second time, in another place, at another time of day and with another umask, and compares
# them. Usage: again.sh PACKAGES BUILDDIR [all]
# PACKAGES is where packaging/debian/build.sh has built, BUILDDIR a configured tree. What was compiled is taken from the
# first build, but small files of the daemon and of a plugin are compiled again, and each kind of program and the plugin is
# linked again; with "all" everything is, without a cache.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
first=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
other=$build/packages-of-another-build
rm -rf "$other"
mkdir -p "$other"
trap 'rm -rf "$other"' EXIT
export CCACHE_DISABLE=1 TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
umask 027

if [ "${3:-}" = all ]; then
  "$src/packaging/debian/build.sh" "$other" "$build"
else
  tree=$(find "$first" -mindepth 1 -maxdepth 1 -type d -name 'sluice-*')
  # Links: nothing that was compiled is written to, only removed or replaced; but for what configure writes.
  cp -al "$tree" "$other/"
  cd "$other/${tree##*/}"
  rm -rf debian
  cp -r "$tree/packaging/debian" debian
  (cd build && rm config.status config.log core/unity/libsluicecore_la-base.lo core/unity/.libs/libsluicecore_la-base.o \
    core/sluicectl plugins/iptables/iptables_la-entry.lo plugins/iptables/.libs/iptables_la-entry.o test/tools/conformance-load)
  export DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=nocheck
  dpkg-buildpackage --build=binary --no-pre-clean --no-sign --jobs-try="${SLUICE_JOBS:-$(nproc)}"
fi

status=0
count=0
for file in "$first"/*.deb; do
  cmp "$file" "$other/${file##*/}" || status=1
  count=$((count + 1))
done
echo "$count packages compared"
[ "$count" -gt 7 ] || status=1
exit $status
