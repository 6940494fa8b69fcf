#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that sluice-plugin-new rejects invalid arguments without writing files, and the files that it creates.
. "$(dirname "$0")/scratch.sh"
with_sdk
cd "$away" || exit 99
mkdir work
cd work || exit 99

# refuses STATUS TEXT ARGUMENT…: exits with this status, prints one line with this text, and creates no file.
refuses() {
  wanted=$1
  words=$2
  shift 2
  sluice-plugin-new "$@" >"$away/out" 2>"$away/err"
  status=$?
  cat "$away/err"
  [ "$status" = "$wanted" ] || { echo "status $status"; return 1; }
  [ ! -s "$away/out" ] || { echo "said on standard output:"; cat "$away/out"; return 1; }
  [ "$(wc -l <"$away/err")" = 1 ] || { echo "not one line"; return 1; }
  grep -q -F -e "$words" "$away/err" || { echo "without: $words"; return 1; }
  [ -z "$(ls -A)" ] || { echo "made:"; ls -A; return 1; }
}
bad="cannot be the name of a backend"
for name in "" Dpu 1dpu .dpu dpu. com..dpu dpu- com.-dpu my_dpu "my dpu" ../dpu a/b 'a&b' 'a,b' "a'b" 'a"b' "a
b" dpü 'dpu*' "$(printf 'a%.0s' $(seq 65))"; do
  check "the name '$(printf '%s' "$name" | tr '\n' '|')' is rejected" refuses 1 "$bad" "$name"
done
for name in iptables ipvs nftables userspace auto; do
  check "the name '$name' is Sluice's own" refuses 1 "mode of Sluice itself" "$name"
done
for name in all clean help install package test; do
  check "the name '$name' is a word of make" refuses 1 "word of make" "$name"
done
check "no name" refuses 2 "NAME of the backend is missing"
check "two names" refuses 2 "are two" dpu npu
check "an unknown option" refuses 2 "unknown option '--colour'" --colour dpu
check "another build" refuses 2 "for c++, which has: cmake autotools" --build meson dpu
check "a build of another language" refuses 2 "for rust, which has: make" --language rust --build cmake dpu
check "another language" refuses 2 "c, c++ or rust" --language go dpu
check "an option without its value" refuses 2 "--directory wants a value" dpu --directory
check "an empty value" refuses 2 "--directory wants a value" dpu --directory=
check "an invalid licence" refuses 2 "no SPDX identifier" --license 'my own' dpu
check "a holder of two lines" refuses 2 "one line" --copyright "A
B" dpu
check "a folder whose parent is missing" refuses 1 "No such file" --directory "$away/none/dpu" dpu

# keeps: existing files are not changed. In a separate folder.
keeps() {
  before=$(find "$away/there" -printf '%P %y %l %s\n' | LC_ALL=C sort)
  sluice-plugin-new --directory "$away/there/dpu" dpu >"$away/out" 2>"$away/err" && { echo "it was made"; return 1; }
  grep -q "exists already" "$away/err" || { cat "$away/err"; return 1; }
  [ "$(find "$away/there" -printf '%P %y %l %s\n' | LC_ALL=C sort)" = "$before" ]
}
mkdir -p "$away/there/dpu"
check "an empty folder stays empty" keeps
echo mine >"$away/there/dpu/backend.cpp"
check "a folder with a backend is not changed" keeps
rm -r "$away/there/dpu"
echo mine >"$away/there/dpu"
check "a file is not changed" keeps
rm "$away/there/dpu"
ln -s nowhere "$away/there/dpu"
check "a dangling link is not changed" keeps

# A partial skeleton is removed: here a template of the SDK is missing.
template=$prefix/share/sluice/skeleton/cmake/CMakeLists.txt.in
broken() { ! sluice-plugin-new dpu && [ -z "$(ls -A)" ]; }
mv "$template" "$away/template"
ln -s nowhere "$template"
check "a partial skeleton is removed" broken
mv "$away/template" "$template"

SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
made() { sluice-plugin-new "$@" || return 1; ! grep -rn '@[A-Za-z_]*@' "$away/work"; }
# begin_with FOLDER FILE LINE…: the first lines of the file.
begins_with() {
  file=$1
  shift
  printf '%s\n' "$@" | diff - "$file" | grep '^<' && { head -4 "$file"; return 1; }
  return 0
}
for words in "c++ cmake" "c++ autotools" "c make" "rust make"; do
  language=${words% *}
  build=${words#* }
  case $language in c++) backend=backend.cpp ;; c) backend=backend.c ;; rust) backend=backend.rs ;; esac
  check "every placeholder is replaced, $words" made --language "$language" --build "$build" --copyright 'A & B, Inc. \1' --license MIT a-b.c2
  check "licence and copyright holder are in the first lines, $words" begins_with "a-b.c2/$backend" \
    '// Copyright 2023 A & B, Inc. \1' '// SPDX-License-Identifier: MIT'
  for file in a-b.c2/*.c a-b.c2/*.cpp a-b.c2/*.h a-b.c2/*.hpp a-b.c2/*.rs a-b.c2/CMakeLists.txt a-b.c2/configure.ac a-b.c2/Makefile a-b.c2/Makefile.am; do
    [ ! -e "$file" ] || check "$file names them" grep -q 'SPDX-License-Identifier: MIT' "$file"
  done
  rm -r a-b.c2
  check "without a licence, $words" made --language="$language" --build="$build" --license=none --directory=-x a
  check "no file names a licence, $words" sh -c '! grep -rniE "spdx|copyright|licen[cs]e" ./-x'
  rm -r ./-x
done
check "sluice-plugin-new --version" sh -c "sluice-plugin-new --version | grep -qx 'sluice-plugin-new [0-9.]*'"
helps() {
  sluice-plugin-new --help >"$away/out" || return 1
  for option in --build --directory --license --copyright --version --help; do
    grep -q -e "$option" "$away/out" || { echo "without $option"; return 1; }
  done
}
check "sluice-plugin-new --help names every option" helps
finish
