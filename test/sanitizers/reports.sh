#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# TAP: one failure for each report that sanitizers left in a folder. Usage: reports.sh FOLDER
set -u
if [ ! -d "$1" ]; then
  echo "not ok 1 - reports of sanitizers: there is no folder $1"
  echo 1..1
  exit 1
fi

count=0
for report in "$1"/report.*; do
  [ -s "$report" ] || continue
  count=$((count + 1))
  summary=$(grep -m1 -E 'SUMMARY:|runtime error:|ERROR:|WARNING: ThreadSanitizer|FATAL:' "$report")
  echo "not ok $count - ${summary:-a report without a summary}, see $report"
done
if [ "$count" -eq 0 ]; then
  echo "ok 1 - no report of a sanitizer"
  echo 1..1
  exit 0
fi
echo "1..$count"
exit 1
