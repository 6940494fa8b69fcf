#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every installed header compiles alone, without warnings, with the standard libraries of GCC and LLVM; all of them together
# as C++17 and C++20; the ABI also without exceptions and RTTI. What a header includes depends on the library and not on the
# compiler, so with GCC's library only g++ compiles each alone; and the headers of C++17 include less than those of C++20, so
# C++17 finds a forgotten one. The ABI rejects unsupported compilers and machines with an error.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
include=$SLUICE_SRCDIR/sdk/include

# compiles COMMAND HEADER…: these headers as one translation unit.
compiles() {
  command=$1
  shift
  printf '#include "%s"\n' "$@" | $command -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor \
    -Woverloaded-virtual -Werror -I"$include" -x c++ -
}

# says TEXT COMMAND…: the ABI does not compile because of this error.
says() {
  words=$1
  shift
  if echo '#include "sluice/abi/abi.hpp"' | "$@" -fsyntax-only -I"$include" -x c++ - >"$said" 2>&1; then
    echo "it compiles"
    return 1
  fi
  grep -q "error.*$words" "$said" || { cat "$said"; return 1; }
}
away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-headers-XXXXXX") || exit 99
trap 'rm -rf "$away"' EXIT
said=$away/said

all=$(cd "$include" && find sluice -name '*.hpp' | LC_ALL=C sort)
for compiler in g++ clang++ "clang++ -stdlib=libc++"; do
  if ! echo '#include <string>' | $compiler -fsyntax-only -x c++ - 2>/dev/null; then
    skip "$compiler" "this compiler or its library is not installed"
    continue
  fi
  for level in 17 20; do
    # shellcheck disable=SC2086
    check "all headers, $compiler, C++$level" compiles "$compiler -std=c++$level" $all
  done
  for header in $all; do
    [ "$compiler" != clang++ ] || break
    check "$header, $compiler, C++17" compiles "$compiler -std=c++17" "$header"
  done
  check "ABI without exceptions and RTTI, $compiler" compiles "$compiler -std=c++17 -fno-exceptions -fno-rtti" sluice/abi/abi.hpp
  # shellcheck disable=SC2086
  check "C++14 is rejected with an error, $compiler" says 'The ABI of Sluice takes C++17 or later' $compiler -std=c++14
done
# Only clang++ has other targets in one program. Fake the few required headers of the library for the other target.
if clang++ --version >/dev/null 2>&1; then
  mkdir "$away/library"
  echo '#include <stddef.h>
namespace std { using ::size_t; }' >"$away/library/cstddef"
  echo '#include <stdint.h>
namespace std { using ::uint8_t; using ::uint16_t; using ::int32_t; using ::uint32_t; using ::uint64_t; }' >"$away/library/cstdint"
  : >"$away/library/type_traits"
  check "32 bits are rejected with an error" says 'is for 64-bit machines' clang++ -std=c++17 --target=i686-linux-gnu \
    -ffreestanding -nostdinc++ -isystem "$away/library" -ferror-limit=0
else
  skip "32 bits are rejected with an error" "clang++ is not installed"
fi
finish
