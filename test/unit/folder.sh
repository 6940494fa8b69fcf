#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds and runs the unit tests of one folder of the sources; `make check-folder FOLDER=core/store` calls it.
# Usage: folder.sh FOLDER MAKE-COMMAND…
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1%/}
shift

case $folder in
  core/model | core/model/*) program=unit_tests tests=store ;;
  core/*) program=unit_tests tests=${folder#core/} ;;
  plugins/common | plugins/common/*) program=iptables_tests tests=iptables ;;
  plugins/*) program=${folder#plugins/} program=${program%%/*}_tests tests=${folder#plugins/} ;;
  lib | lib/*) program=unit_tests tests=lib ;;
  names) program=unit_tests tests=cleanup ;;
  sdk | sdk/*) program=unit_tests tests=sdk ;;
  *) echo "folder.sh: FOLDER is '$folder'; name lib or names, or a folder below core/, plugins/ or sdk/" >&2; exit 2 ;;
esac
tests=${tests%%/*}
[ -d "$src/test/unit/$tests" ] || { echo "folder.sh: no unit tests for $folder: test/unit/$tests does not exist" >&2; exit 2; }

# Each test file has a namespace of its own name.
names=
for file in "$src/test/unit/$tests"/*_test.cpp; do
  name=${file##*/}
  names="$names ::${name%.cpp}::"
done
"$@" "test/unit/$program"
export SLUICE_SRCDIR="$src" SLUICE_TEST_DATA="$src/test" SLUICE_BUILDDIR="$PWD"
# shellcheck disable=SC2086
exec "test/unit/$program" $names
