#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# What `make install-conformance` puts into a prefix is complete, and finds its way there (TAP).
set -u
build=${SLUICE_BUILDDIR:?}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
count=0
failed=0
check() {  # check STATUS TITLE: what was said is in $prefix/said
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $count - $2"
  else
    failed=$((failed + 1))
    echo "not ok $count - $2"
    sed 's/^/#   /' "$prefix/said"
  fi
}

prefix=$(mktemp -d "${TMPDIR:-/tmp}/sluice-kit-XXXXXX") || exit 1
trap 'rm -rf "$prefix"' EXIT
# Made for another prefix it would be up to date.
rm -f "$build/test/system/sluice-conformance"
make --no-print-directory -s -C "$build" install-conformance prefix="$prefix" exec_prefix="$prefix" datarootdir="$prefix/share" \
  sbindir="$prefix/sbin" >"$prefix/said" 2>&1
check $? "the kit is installed"
rm -f "$build/test/system/sluice-conformance"
mkdir -p "$prefix/sbin"
ln -s "$build/core/sluiced" "$build/core/sluicectl" "$prefix/sbin/"
plugin=$build/sdk/examples/print/.libs/print.so
kit=$prefix/bin/sluice-conformance

"$kit" --plugin "$plugin" --list >"$prefix/said" 2>&1
check $? "it lists what it would run, from what is installed alone"
cases=$(wc -l <"$prefix/said")
[ "$cases" -gt 100 ]
check $? "that is a hundred cases and more ($cases)"
! grep -q "$build" "$kit"
check $? "it names no place of the build tree"

"$kit" --plugin "$plugin" --declare /nowhere >"$prefix/said" 2>&1
[ $? -eq 2 ]
check $? "a declaration that is not there is wrong usage"
echo 'unsupported 20' >"$prefix/mine"
"$kit" --plugin "$plugin" --declare "$prefix/mine" --list >"$prefix/said" 2>&1
[ $? -eq 2 ] && grep -q 'a reason is missing' "$prefix/said"
check $? "a declaration without a reason is wrong usage"
"$kit" --plugin "$build/test/plugins/.libs/no_symbol.so" --only file >"$prefix/said" 2>&1
[ $? -eq 1 ] && grep -q '^not ok 1 - file: the plugin can be loaded' "$prefix/said"
check $? "a file that is no plugin fails"
# refused WHAT FILE SENTENCE: one sentence that names the file and says what to do.
refused() {
  "$kit" --plugin "$2" --only file >"$prefix/said" 2>&1
  [ $? -eq 1 ] && grep '^not ok 1 - file: the plugin can be loaded' -A 3 "$prefix/said" | grep -q "$2.*$3"
  check $? "$1 is refused with a sentence"
}
refused "a plugin of a newer major" "$build/test/plugins/.libs/newer_major.so" 'built for ABI major .*install a newer sluiced'
head -c 20000 "$plugin" >"$prefix/cut.so"
refused "a file that is cut" "$prefix/cut.so" 'install the file again'
echo "no plugin" >"$prefix/text.so"
refused "a file of text" "$prefix/text.so" 'not an ELF file'
mkdir "$prefix/folder.so"
refused "a folder" "$prefix/folder.so" 'is not a file: name the plugin itself'
"$kit" --plugin "$plugin" --only file --json "$prefix/report" >"$prefix/said" 2>&1 && grep -q '"unsupported": 0' "$prefix/report"
check $? "the file of a plugin is judged by anybody, with a report"
"$kit" --plugin "$plugin" --only no-such-thing >"$prefix/said" 2>&1
[ $? -eq 2 ]
check $? "what matches nothing is wrong usage"

echo "1..$count"
[ "$failed" -eq 0 ]
