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

programs=unit_tests
case $folder in
  core/model | core/model/*) tests=store ;;
  core/*) tests=${folder#core/} ;;
  plugins/common | plugins/common/*) programs='' tests=${folder#plugins/} ;;
  plugins/*) programs=${folder#plugins/} programs=${programs%%/*}_tests tests=${folder#plugins/} ;;
  lib | lib/*) tests=$folder ;;
  names) tests=cleanup ;;
  sdk | sdk/*) tests=sdk ;;
  *) echo "folder.sh: FOLDER is '$folder'; name lib or names, or a folder below core/, plugins/ or sdk/" >&2; exit 2 ;;
esac
while [ ! -d "$src/test/unit/$tests" ] && [ "$tests" != "${tests%/*}" ]; do tests=${tests%/*}; done
[ -d "$src/test/unit/$tests" ] || { echo "folder.sh: no unit tests for $folder: test/unit/$tests does not exist" >&2; exit 2; }
# Tests of plugins/common are in the programs of the backends.
if [ -z "$programs" ]; then
  for one in iptables ipvs nftables userspace; do
    if grep -q "test/unit/$tests/.*_test\.cpp" "$src/test/unit/$one/subdir.am"; then programs="$programs ${one}_tests"; fi
  done
fi

# Each test file has a namespace of its own name.
names=$(find "$src/test/unit/$tests" -name '*_test.cpp' | sed 's,.*/\(.*\)\.cpp$,::\1::,')
export SLUICE_SRCDIR="$src" SLUICE_TEST_DATA="$src/test" SLUICE_BUILDDIR="$PWD"
for program in $programs; do
  "$@" "test/unit/$program"
  # shellcheck disable=SC2086
  "test/unit/$program" $names
done
