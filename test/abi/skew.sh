#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests plugins and daemons of different minors: each plugin, compiled with the headers of a release, the current ones, or
# a next minor in which all growing structs have grown, must work with each daemon, and fields that both know must have the
# same values. The built daemon must accept all plugins.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-skew-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
now=$SLUICE_SRCDIR/sdk/include
major=$(sed -n 's/.* kMajor = \([0-9]*\);.*/\1/p' "$now/sluice/abi/types.hpp")
minor=$(sed -n 's/.* kMinor = \([0-9]*\);.*/\1/p' "$now/sluice/abi/types.hpp")

# made NAME INCLUDE [FLAG]: plugin and daemon, which use what the minor of the headers has.
made() {
  headers=$2
  has=-DSKEW_MINOR=$(sed -n 's/.* kMinor = \([0-9]*\);.*/\1/p' "$headers/sluice/abi/types.hpp")
  mkdir -p "$away/$1" || return 1
  skew_plugin "$headers" "$away/$1/skew.so" "$has" ${3:+"$3"} &&
    skew_daemon "$headers" "$away/$1/daemon" "$has" ${3:+"$3"}
}
says() { "$away/$1/daemon" "$away/$2/skew.so" >"$away/$1-$2" 2>&1 || { tail -n 3 "$away/$1-$2"; return 1; }; }
known() { grep -Ev '^(next|since)' "$away/$1"; }
as_ever() {
  says "$1" "$2" || return 1
  known "$1-$2" >"$away/known"
  known today-today | diff - "$away/known"
}
# What both minors have must arrive, and nothing else: since_both DAEMON PLUGIN.
since_both() {
  least=$(printf '%s\n' "$1" "$2" | sed "s/today/$major.$minor/; s/next/$major.$((minor + 1))/" | sort -V | head -n 1)
  awk -v least="${least#*.}" '/^since/ && $2 + 0 <= least' "$away/today-today" >"$away/since"
  grep '^since' "$away/$1-$2" | diff "$away/since" -
}
# Fields that the other side does not know must be zero or absent.
nothing_new() {
  ! grep '^next' "$away/$1" |
    grep -Ev ': (error of the host|[a-z]+) 0$|: this daemon has minor [0-9]+$|: an older daemon$'
}

check "headers of a next minor" sh "$SLUICE_SRCDIR/test/abi/skew/next.sh" "$now" "$away/next-headers"
all=
for release in "$SLUICE_SRCDIR/test/abi/released/$major".*/; do
  name=$(basename "$release")
  all="$all $name"
  check "plugin and daemon of $name" made "$name" "$release/include"
done
check "plugin and daemon of today" made today "$now"
check "plugin and daemon of a next minor" made next "$away/next-headers" -DSKEW_NEXT
all="$all today next"
check "the output with current headers" says today today
# The output covers each call of a backend.
check "the output is complete" sh -c "[ \"\$(grep -c . '$away/today-today')\" = 113 ]"
for daemon in $all; do
  for plugin in $all; do
    check "a daemon of $daemon and a plugin of $plugin have the same output" as_ever "$daemon" "$plugin"
    check "and the same output of what both have since then" since_both "$daemon" "$plugin"
    if [ "$daemon$plugin" = nextnext ]; then
      grep '^next' "$away/next-next" | LC_ALL=C sort -u >"$away/news"
      check "and the output of new fields" diff "$away/news" "$SLUICE_SRCDIR/test/abi/skew/news"
    else
      check "and no output of new fields" nothing_new "$daemon-$plugin"
    fi
  done
done

# Two swapped fields must be detected.
swapped=$away/swapped-headers
mkdir -p "$swapped"
cp -r "$now/sluice" "$swapped/"
chmod -R u+w "$swapped"
sed -i '/^static_assert(sizeof(ServicePort) ==/,/;$/d
  /^struct ServicePort {/,/^}/{
    /affinity_seconds;/d
    s/^  std::uint32_t flags;.*/  std::uint32_t affinity_seconds;\n  std::uint32_t flags;/
  }' "$swapped/sluice/abi/service.hpp"
check "plugin and daemon of other headers" made swapped "$swapped"
check "two swapped fields are detected" sh -c \
  "! '$away/today/daemon' '$away/swapped/skew.so' | diff - '$away/today-today'"

for plugin in $all; do
  check "sluiced loads and calls the plugin of $plugin" "$SLUICE_BUILDDIR/test/abi/load_plugin" \
    "$away/$plugin/skew.so" skew run
done
finish
