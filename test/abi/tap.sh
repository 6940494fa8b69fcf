# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# TAP for shell tests; read with `.`. A check is a command whose output is printed on failure.
tap_count=0
tap_failed=0

# check NAME COMMAND…
check() {
  tap_name=$1
  shift
  tap_count=$((tap_count + 1))
  if tap_output=$("$@" 2>&1); then
    echo "ok $tap_count - $tap_name"
  else
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $tap_name"
    printf '%s\n' "$tap_output" | sed 's/^/# /'
  fi
}

# skip NAME REASON
skip() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
  echo "1..$tap_count"
  [ "$tap_failed" -eq 0 ] && [ "$tap_count" -gt 0 ]
}
