#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every installed header compiles alone, without warnings, as C++17 and C++20, with g++
# and clang++; the ABI also without exceptions and RTTI.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
include=$SLUICE_SRCDIR/sdk/include

# compiles COMPILER… HEADER: the last argument is the header.
compiles() {
  for last; do :; done
  header=$last
  command=
  while [ $# -gt 1 ]; do
    command="$command $1"
    shift
  done
  echo "#include \"$header\"" | $command -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor \
    -Woverloaded-virtual -Werror -I"$include" -x c++ -
}

all=$(cd "$include" && find sluice -name '*.hpp' | LC_ALL=C sort)
for compiler in g++ clang++ "clang++ -stdlib=libc++"; do
  if ! echo '#include <string>' | $compiler -fsyntax-only -x c++ - 2>/dev/null; then
    skip "$compiler" "this compiler or its library is not installed"
    continue
  fi
  for level in 17 20; do
    for header in $all; do
      check "$header, $compiler, C++$level" compiles "$compiler" "-std=c++$level" "$header"
    done
  done
  check "ABI without exceptions and RTTI, $compiler" compiles "$compiler" -std=c++17 -fno-exceptions -fno-rtti \
    sluice/abi/abi.hpp
done
finish
