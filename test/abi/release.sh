#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Copies the headers of the ABI and their tests to the folder of their release. Run it to release a minor; see
# docs/abi.md.
source=$(cd "$(dirname "$0")/../.." && pwd)
number() { sed -n "s/.* $1 = \([0-9]*\);.*/\1/p" "$source/sdk/include/sluice/abi/types.hpp"; }
release=$(number kMajor).$(number kMinor)
to=$source/test/abi/released/$release
[ ! -e "$to" ] || { echo "$to exists already: what was released does not change" >&2; exit 1; }
mkdir -p "$to/include/sluice/abi" &&
  cp "$source"/sdk/include/sluice/abi/*.hpp "$to/include/sluice/abi/" &&
  cp "$source/test/abi/layout_test.cpp" "$source/test/abi/slots_test.cpp" "$to/" &&
  cd "$to" && find . -type f ! -name SHA256SUMS | sed 's,^\./,,' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS &&
  echo "kept as $release; add test/abi/released/$release to git, and its files to test/abi/subdir.am"
