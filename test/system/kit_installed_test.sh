#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that the files of `make install-conformance` are complete, and work in their prefix (TAP).
set -u
build=${SLUICE_BUILDDIR:?}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
count=0
failed=0
check() {  # check STATUS TITLE: the output is in $prefix/output
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $count - $2"
  else
    failed=$((failed + 1))
    echo "not ok $count - $2"
    sed 's/^/#   /' "$prefix/output"
  fi
}

prefix=$(mktemp -d "${TMPDIR:-/tmp}/sluice-kit-XXXXXX") || exit 1
trap 'rm -rf "$prefix"' EXIT
# A script made for another prefix would be up to date.
rm -f "$build/test/system/sluice-conformance"
make --no-print-directory -s -C "$build" install-conformance prefix="$prefix" exec_prefix="$prefix" datarootdir="$prefix/share" \
  sbindir="$prefix/sbin" >"$prefix/output" 2>&1
check $? "the kit is installed"
rm -f "$build/test/system/sluice-conformance"
mkdir -p "$prefix/sbin"
ln -s "$build/core/sluiced" "$build/core/sluicectl" "$prefix/sbin/"
plugin=$build/sdk/examples/print/.libs/print.so
kit=$prefix/bin/sluice-conformance

[ -e "$prefix/share/man/man1/sluice-conformance.1" ]
check $? "its manual page is installed"
"$kit" --plugin "$plugin" --list >"$prefix/output" 2>&1
check $? "the installed kit lists its cases without the build tree"
cases=$(wc -l <"$prefix/output")
[ "$cases" -gt 100 ]
check $? "the list has more than a hundred cases ($cases)"
! grep -q "$build" "$kit"
check $? "the kit contains no path of the build tree"

"$kit" --plugin "$plugin" --declare /nowhere >"$prefix/output" 2>&1
[ $? -eq 2 ]
check $? "a missing declaration is a usage error"
echo 'unsupported 20' >"$prefix/mine"
"$kit" --plugin "$plugin" --declare "$prefix/mine" --list >"$prefix/output" 2>&1
[ $? -eq 2 ] && grep -q 'a reason is missing' "$prefix/output"
check $? "a declaration without a reason is a usage error"
# no_plugin FILE WHAT REASON: a failure in the text, JSON and JUnit reports, and no Python traceback.
no_plugin() {
  rm -f "$prefix/report.json" "$prefix/report.xml"
  "$kit" --plugin "$1" --only file --json "$prefix/report.json" --junit "$prefix/report.xml" >"$prefix/output" 2>&1
  [ $? -eq 1 ] && grep -q '^not ok 1 - file: the plugin can be loaded' "$prefix/output" &&
    ! grep -q Traceback "$prefix/output" && grep -q -e "^#   .*$3" "$prefix/output" &&
    python3 - "$prefix/report.json" "$prefix/report.xml" >>"$prefix/output" 2>&1 <<'END'
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
no_plugin "$build/test/plugins/.libs/no_symbol.so" "a library without a plugin" 'undefined symbol: sluice_plugin_entry'
no_plugin "$build/test/plugins/.libs/wrong_magic.so" "an invalid descriptor" 'magic check: '
no_plugin "$build/test/plugins/.libs/newer_major.so" "a plugin for a newer major" \
  'built for ABI major .*; install a newer sluiced'
no_plugin "$prefix/text.so" "a file that is not a library" 'not an ELF file'
no_plugin "$prefix/cut.so" "a truncated library" 'install the file again'
no_plugin "$prefix/folder.so" "a folder" 'is not a file: name the plugin itself'
no_plugin "$prefix/nothing.so" "a missing file" 'there is no file'

# faulty PLUGIN REQUIREMENT: a plugin that can be loaded breaks one requirement on files.
faulty() {
  "$kit" --plugin "$build/test/plugins/.libs/$1.so" --only file >"$prefix/output" 2>&1
  [ $? -eq 1 ] && [ "$(grep -c '^not ok' "$prefix/output")" = 1 ] && grep -q "^not ok .* - file: $2" "$prefix/output"
  check $? "a plugin that breaks it is detected: $2"
}
faulty wrong_id "the file is named after the id"
faulty stays_unique "sluice_plugin_entry is all that it exports"

# A stand-in for the program that starts the machine prints its arguments.
cp "$prefix/share/sluice/conformance/vm/run" "$prefix/vm-run"
printf '#!/usr/bin/python3\nimport os, sys\nprint(os.environ["SLUICE_VM_CACHE"], *sys.argv[1:])\nsys.exit(125)\n' \
  >"$prefix/share/sluice/conformance/vm/run"
(cd "$prefix" && "$kit" --plugin mine.so --vm --kernel 6.12 --vm-cache kept --only kill --json out/report.json) \
  >"$prefix/output" 2>&1
[ $? -eq 3 ] && ! grep -q -e '--vm' "$prefix/output" && grep -q \
  "^$prefix/kept --kernel 6.12 --results $prefix/out .*-- .*/kit.py .*--plugin mine.so --only kill --json" "$prefix/output"
check $? "--vm runs the kit in a virtual machine; without one the exit status is 3"
cp "$prefix/vm-run" "$prefix/share/sluice/conformance/vm/run"
"$kit" --plugin "$plugin" --kern 6.12 --vm >"$prefix/output" 2>&1
[ $? -eq 2 ]
check $? "an abbreviated option is a usage error"

"$kit" --plugin "$plugin" --only file --json "$prefix/report" >"$prefix/output" 2>&1 && grep -q '"unsupported": 0' "$prefix/report"
check $? "the file of a plugin is judged without root, with a report"
"$kit" --plugin "$plugin" --only no-such-thing >"$prefix/output" 2>&1
[ $? -eq 2 ]
check $? "a filter without matches is a usage error"

echo "1..$count"
[ "$failed" -eq 0 ]
