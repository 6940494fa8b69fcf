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

[ -e "$prefix/share/man/man1/sluice-conformance.1" ]
check $? "its page of the manual is installed with it"
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
# no_plugin FILE WHAT WHY: a failure in the report for people and in those for programs, and no line of Python.
no_plugin() {
  rm -f "$prefix/report.json" "$prefix/report.xml"
  "$kit" --plugin "$1" --only file --json "$prefix/report.json" --junit "$prefix/report.xml" >"$prefix/said" 2>&1
  [ $? -eq 1 ] && grep -q '^not ok 1 - file: the plugin can be loaded' "$prefix/said" &&
    ! grep -q Traceback "$prefix/said" && grep -q -e "^#   .*$3" "$prefix/said" &&
    python3 - "$prefix/report.json" "$prefix/report.xml" >>"$prefix/said" 2>&1 <<'END'
import json, sys
from xml.etree import ElementTree
found = json.load(open(sys.argv[1], encoding="utf-8"))
failures = list(ElementTree.parse(sys.argv[2]).getroot().iter("failure"))
assert found["counts"]["fail"] == 1 and len(found["results"]) == 1, found
assert len(failures) == 1 and failures[0].get("message") == found["results"][0]["reason"] != "", failures
END
  check $? "$2 fails, and every report says so"
}
echo text >"$prefix/text.so"
mkdir "$prefix/folder.so"
head -c 3000 "$plugin" >"$prefix/cut.so"
no_plugin "$build/test/plugins/.libs/no_symbol.so" "a library that is no plugin" 'undefined symbol: sluice_plugin_entry'
no_plugin "$build/test/plugins/.libs/wrong_magic.so" "a descriptor that is none" 'magic check: '
no_plugin "$build/test/plugins/.libs/newer_major.so" "a plugin for a newer major" \
  'built for ABI major .*; install a newer sluiced'
no_plugin "$prefix/text.so" "a file that is no library" 'not an ELF file'
no_plugin "$prefix/cut.so" "a library that was cut off" 'install the file again'
no_plugin "$prefix/folder.so" "a folder" 'is not a file: name the plugin itself'
no_plugin "$prefix/nothing.so" "a file that is not there" 'there is no file'

# faulty PLUGIN WHICH: one promise about files is broken, by a plugin that can be loaded all the same.
faulty() {
  "$kit" --plugin "$build/test/plugins/.libs/$1.so" --only file >"$prefix/said" 2>&1
  [ $? -eq 1 ] && [ "$(grep -c '^not ok' "$prefix/said")" = 1 ] && grep -q "^not ok .* - file: $2" "$prefix/said"
  check $? "a plugin that breaks it is found out: $2"
}
faulty wrong_id "the file is named after the id"
faulty stays_unique "sluice_plugin_entry is all that it exports"

# A stand-in for what starts the machine says what it was to do.
cp "$prefix/share/sluice/conformance/vm/run" "$prefix/vm-run"
printf '#!/usr/bin/python3\nimport os, sys\nprint(os.environ["SLUICE_VM_CACHE"], *sys.argv[1:])\nsys.exit(125)\n' \
  >"$prefix/share/sluice/conformance/vm/run"
(cd "$prefix" && "$kit" --plugin mine.so --vm --kernel 6.12 --vm-cache kept --only kill --json out/report.json) \
  >"$prefix/said" 2>&1
[ $? -eq 3 ] && ! grep -q -e '--vm' "$prefix/said" && grep -q \
  "^$prefix/kept --kernel 6.12 --results $prefix/out .*-- .*/kit.py .*--plugin mine.so --only kill --json" "$prefix/said"
check $? "with --vm it runs itself in a machine; where there is none, nothing could be run"
cp "$prefix/vm-run" "$prefix/share/sluice/conformance/vm/run"
"$kit" --plugin "$plugin" --kern 6.12 --vm >"$prefix/said" 2>&1
[ $? -eq 2 ]
check $? "a word that is half an option is wrong usage"

"$kit" --plugin "$plugin" --only file --json "$prefix/report" >"$prefix/said" 2>&1 && grep -q '"unsupported": 0' "$prefix/report"
check $? "the file of a plugin is judged by anybody, with a report"
"$kit" --plugin "$plugin" --only no-such-thing >"$prefix/said" 2>&1
[ $? -eq 2 ]
check $? "what matches nothing is wrong usage"

echo "1..$count"
[ "$failed" -eq 0 ]
