#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Released headers and their tests must not change, and those tests must pass with the current headers, in which structs
# may have grown. Without a new minor only comments of the headers may change. Every minor must be in the change log.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_ABI_HEADERS:=$SLUICE_SRCDIR/sdk/include}"
: "${SLUICE_ABI_RELEASED:=$SLUICE_SRCDIR/test/abi/released}"
: "${SLUICE_CHANGELOG:=$SLUICE_SRCDIR/CHANGELOG.md}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-released-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
number() { sed -n "s/.* $1 = \([0-9]*\);.*/\1/p" "$SLUICE_ABI_HEADERS/sluice/abi/types.hpp"; }
major=$(number kMajor)
minor=$(number kMinor)

# Every file is listed and unchanged.
kept_as_it_was() {
  cd "$1" || return 1
  sha256sum --quiet -c SHA256SUMS || return 1
  find . -type f ! -name SHA256SUMS | LC_ALL=C sort | sed 's,^\./,,' >"$away/there"
  sed 's/^[0-9a-f]*  //' SHA256SUMS | LC_ALL=C sort | diff - "$away/there"
}

# The files are those that were added to git.
as_it_was_added() {
  added=$(git -C "$SLUICE_SRCDIR" log -1 --diff-filter=A --format=%H -- "test/abi/released/$1/SHA256SUMS")
  [ -n "$added" ] || { echo "test/abi/released/$1/SHA256SUMS is not in git"; return 1; }
  git -C "$SLUICE_SRCDIR" diff --exit-code --stat "$added" -- "test/abi/released/$1"
}

# Prints the headers in the order of names, without comments and empty lines.
code_of() {
  for header in "$1"/sluice/abi/*.hpp; do
    echo "== $(basename "$header")"
    sed 's,[[:space:]]*//.*,,' "$header" | grep -v '^[[:space:]]*$'
  done
}
same_code() {
  code_of "$1" >"$away/before"
  code_of "$SLUICE_ABI_HEADERS" | diff "$away/before" - && return
  echo "an addition takes another kMinor, everything else another kMajor"
  return 1
}

releases=$(cd "$SLUICE_ABI_RELEASED" && find . -mindepth 1 -maxdepth 1 -type d | sed 's,^\./,,' | LC_ALL=C sort -V)
check "there is a release of this major" sh -c "echo '$releases' | grep -q '^$major\\.0\$'"
for release in $releases; do
  folder=$SLUICE_ABI_RELEASED/$release
  check "$release is kept as it was" kept_as_it_was "$folder"
  check "$release: its headers pass its layout test" layout_holds "$folder/include" "$folder"
  check "$release: its headers pass its slots test" slots_hold "$folder/include" "$folder"
  [ "${release%.*}" = "$major" ] || continue
  check "$release: the headers of today pass its layout test" layout_holds "$SLUICE_ABI_HEADERS" "$folder" \
    -DSLUICE_MAY_HAVE_GROWN
  check "$release: the headers of today pass its slots test" slots_hold "$SLUICE_ABI_HEADERS" "$folder"
done
newest=$(echo "$releases" | grep "^$major\\." | tail -n 1)
if [ "$newest" = "$major.$minor" ]; then
  check "the headers of today are those of $newest" same_code "$SLUICE_ABI_RELEASED/$newest/include"
else
  check "the next minor is that after $newest" [ "$minor" = $((${newest#*.} + 1)) ]
fi
# in_the_change_log MINOR: below a heading "ABI", as "Version 1.0".
in_the_change_log() {
  awk -v wanted="Version $major.$1" '
    /^#/ { abi = /^### ABI/ }
    abi && match($0, wanted "([^0-9.]|$)") { found = 1 }
    END { exit !found }' "$SLUICE_CHANGELOG" && return
  echo "$SLUICE_CHANGELOG says nothing of Version $major.$1 below \"### ABI\""
  return 1
}
for number in $(seq 0 "$minor"); do
  check "$major.$number is in the change log, where changes of the ABI are" in_the_change_log "$number"
done
for release in $releases; do
  if [ -e "$SLUICE_SRCDIR/.git" ] && [ "$(git -C "$SLUICE_SRCDIR" rev-parse --is-shallow-repository)" = false ]; then
    check "$release is as it was added to git" as_it_was_added "$release"
  else
    skip "$release is as it was added to git" "this is not a full git clone"
  fi
done
finish
