#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# What test/run.sh counts: passes, failures, skips, and every way a part can die (TAP).
set -u
cd "$(dirname "$0")/.." || exit 1

count=0
failed=0
# counts NAME STATUS EXPECTED TAP-TEXT: EXPECTED is "P F S" and, after it, the first failure's name.
counts() {
  count=$((count + 1))
  found=$(printf "$4" | awk -v part=p -v status="$2" -f tap_count.awk | sed -n '1s/^count //p; 2s/^failed p: //p' | paste -sd' ')
  if [ "$found" = "$3" ]; then
    echo "ok $count - $1"
  else
    failed=$((failed + 1))
    printf 'not ok %d - %s\n#   expected: %s\n#   found:    %s\n' "$count" "$1" "$3" "$found"
  fi
}

counts "passes" 0 "2 0 0" '1..2\nok 1 - a\nok 2 - b\n'
counts "a plan at the end" 0 "2 0 0" 'ok 1 - a\nok 2 - b\n1..2\n'
counts "a failure by its name" 1 "1 1 0 b c" '1..2\nok 1 - a\nnot ok 2 - b c\n#   why\n'
counts "a failure without a name" 1 "0 1 0 test 1" '1..1\nnot ok 1\n'
counts "skips" 0 "1 0 1" '1..2\nok 1 - a # SKIP no kernel\nok 2 - b\n'
counts "a whole part skipped" 0 "0 0 0" '1..0 # SKIP nothing to do\n'
counts "output between results" 0 "1 0 0" 'building\n# note\nok 1 - a\nokay\n1..1\n'
counts "no plan" 0 "1 1 0 printed no plan" 'ok 1 - a\n'
counts "nothing at all, dead" 139 "0 1 0 printed no plan and ended with status 139" ''
counts "a time limit" 124 "1 1 0 printed no plan and ended with its time limit (status 124)" 'ok 1 - a\n'
counts "fewer tests than planned" 0 "1 1 0 planned 3 tests and ran 1" '1..3\nok 1 - a\n'
counts "more tests than planned" 0 "2 1 0 planned 1 tests and ran 2" '1..1\nok 1 - a\nok 2 - b\n'
counts "two plans" 0 "1 1 0 printed 2 plans" '1..1\nok 1 - a\n1..1\n'
counts "an empty plan" 0 "0 1 0 ran no test" '1..0\n'
counts "a bad end after good tests" 1 "1 1 0 ended with status 1 although no test failed" '1..1\nok 1 - a\n'
counts "bailing out" 1 "1 1 0 Bail out! no root" '1..2\nok 1 - a\nBail out! no root\n'
count=$((count + 1))
found=$(printf '1..3\nnot ok 1 - a\n#   one\n# two\nok 2 - b\n# not of it\nnot ok 3 - c\n#   three\n' |
  awk -v part=p -v status=1 -f tap_count.awk | sed -n 's/^why //p' | paste -sd,)
if [ "$found" = "  one,two,  three" ]; then echo "ok $count - what a test says of its failure"
else
  failed=$((failed + 1))
  printf 'not ok %d - what a test says of its failure\n#   found: %s\n' "$count" "$found"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
