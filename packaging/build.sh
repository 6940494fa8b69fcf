#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds in a separate folder. Usage: build.sh BUILDDIR [configure options…]
# Prints the number of compiled files and the elapsed time: on a terminal in one line, elsewhere in a line every ten
# seconds. SLUICE_JOBS=N limits parallel jobs, and SLUICE_MAKE_VARIABLES are arguments for make, such as
# conformanceexec_PROGRAMS=. Other output of make, such as warnings and errors, is passed on.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
begin=$(date +%s)

if [ ! -x "$src/configure" ] || [ ! "$src/configure" -nt "$src/configure.ac" ]; then
  log=$(mktemp)
  "$src/autogen.sh" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
  rm -f "$log"
fi
mkdir -p "$build"
cd "$build"
if [ ! -f config.status ]; then
  if command -v ccache >/dev/null 2>&1 && [ -z "${CXX:-}" ]; then export CXX='ccache g++'; fi
  # By a relative name, so that the output does not depend on the location of the clone.
  "$(realpath --relative-to=. "$src")/configure" --quiet "$@" >configure.out 2>&1 || { cat configure.out >&2; exit 1; }
fi

jobs=${SLUICE_JOBS:-$(nproc)}
# The dry run lists the files to compile, after it has updated Makefile and dependencies.
# shellcheck disable=SC2086
total=$(make --no-print-directory -n ${SLUICE_MAKE_VARIABLES:-} 2>/dev/null | grep -c '^echo "  CXX   ' || true)
terminal=no
[ ! -t 1 ] || terminal=yes

# Reads the output of make, which names a file when its compilation starts, so that the last `jobs` files are unfinished.
show_progress() {
  started=0
  printed=0
  while IFS= read -r line; do
    case $line in
      "  CXX   "*) started=$((started + 1)) ;;
      "  CXXLD "* | "  GEN  "* | *" all-am") ;;
      *)
        [ "$terminal" = no ] || printf '\r\033[K'
        printf '%s\n' "$line"
        continue
        ;;
    esac
    seconds=$(($(date +%s) - begin))
    finished=$((started > jobs ? started - jobs : 0))
    if [ "$terminal" = yes ]; then printf '\r\033[Kcompiled %d of %d files, %d s' "$finished" "$total" "$seconds"
    elif [ $((seconds - printed)) -ge 10 ]; then
      printf 'compiled %d of %d files, %d s\n' "$finished" "$total" "$seconds"
      printed=$seconds
    fi
  done
  [ "$terminal" = no ] || printf '\r\033[K'
}

rm -f make.status
# shellcheck disable=SC2086
{ make --no-print-directory -j "$jobs" ${SLUICE_MAKE_VARIABLES:-} 2>&1 && status=0 || status=$?; echo "$status" >make.status; } | show_progress
status=$(cat make.status)
rm -f make.status
[ "$status" -ne 0 ] || [ "$total" -eq 0 ] || echo "compiled $total files, $(($(date +%s) - begin)) s"
exit "$status"
