# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# TAP on standard input → "P passed F failed S skipped" and the names of failures:
#   awk -v part=NAME -v status=EXIT-STATUS -f tap_count.awk
# prints "count P F S", "failed NAME" lines and, after each, "why TEXT" lines: what the
# part said of it, the beginning. What is not proven to have passed has
# failed: a part that dies, prints no plan, or runs fewer tests than it planned.

function fail(name) {
  failed++
  names[failed] = part ": " name
}

{ sub(/\r$/, "") }

/^1\.\.[0-9]+/ {
  planned = substr($1, 4) + 0
  plans++
  if (planned == 0) skipped_all = toupper($0) ~ /# *SKIP/
  next
}

/^Bail out!/ {
  bailed = 1
  fail($0)
  next
}

/^(ok|not ok)([ \t]|$)/ {
  ran++
  bad = /^not/
  name = $0
  sub(/^(not )?ok[ \t]*[0-9]*[ \t]*(-[ \t]*)?/, "", name)
  upper = toupper(name)
  if (match(upper, /[ \t]#[ \t]*SKIP/) || match(upper, /^#[ \t]*SKIP/)) {
    if (bad) fail(name)
    else skipped++
  } else if (bad) {
    fail(name == "" ? "test " ran : name)
    explained = failed
    next
  } else {
    passed++
  }
  explained = 0
  next
}

/^[ \t]*#/ && explained && lines[explained] < 20 {
  sub(/^[ \t]*# ?/, "")
  why[explained, ++lines[explained]] = substr($0, 1, 400)
}

END {
  if (!bailed) {
    if (plans == 0) fail("printed no plan" (status != 0 ? " and ended with " reason(status) : ""))
    else if (plans > 1) fail("printed " plans " plans")
    else if (ran != planned) fail("planned " planned " tests and ran " ran + 0)
    else if (planned == 0 && !skipped_all) fail("ran no test")
    else if (status != 0 && !failed) fail("ended with " reason(status) " although no test failed")
  }
  print "count", passed + 0, failed + 0, skipped + 0
  for (i = 1; i <= failed; i++) {
    print "failed", names[i]
    for (j = 1; j <= lines[i]; j++) print "why", why[i, j]
  }
}

function reason(code) {
  if (code == 124 || code == 137) return "its time limit (status " code ")"
  return "status " code
}
