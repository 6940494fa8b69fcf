#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every shell script parses with the shell it names (TAP).
set -u
cd "$(dirname "$0")/../.." || exit 1

count=0
failed=0
result() {  # result STATUS NAME: the output to show is in $said
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $count - $2"
  else
    failed=$((failed + 1))
    echo "not ok $count - $2"
    printf '%s\n' "$said" | sed 's/^/#   /'
  fi
}

# The check itself must be able to fail.
broken=$(mktemp) || exit 1
trap 'rm -f "$broken"' EXIT
echo 'if true; then' >"$broken"
for shell in sh bash; do
  if $shell -n "$broken" 2>/dev/null; then said="it passed"; result 1 "$shell -n finds a broken script"
  else result 0 "$shell -n finds a broken script"; fi
done

find . \( -type d \( -name .git -o -name 'build*' -o -name 'sluice-[0-9]*' \) -o -path ./configure -o -path ./test/fixtures \) \
  -prune -o -type f -size -400k -print | LC_ALL=C sort >"$broken"
while read -r file; do
  first=
  read -r first <"$file" 2>/dev/null || true
  case $first in
    '#!'*bash*) shell=bash ;;
    '#!'*/sh | '#!'*'/sh '* | '#!'*dash*) shell='sh' ;;
    *) case $file in *.sh) shell='sh' ;; *) continue ;; esac ;;
  esac
  said=$($shell -n "$file" 2>&1)
  result $? "$shell -n ${file#./}"
done <"$broken"
echo "1..$count"
[ "$failed" -eq 0 ]
