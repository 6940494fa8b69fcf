#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests the reference of the SDK: Doxygen has no warnings for the headers, and the manual pages have all names of the
# headers.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
sdk=$SLUICE_SRCDIR/sdk
man=$SLUICE_SRCDIR/docs/man

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-reference-XXXXXX") || exit 99
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
cd "$away" || exit 99

# doxygen_of FOLDER: runs the command of `make doxygen` for another tree.
doxygen_of() {
  SLUICE_DOXYGEN_SOURCE=$1 SLUICE_DOXYGEN_OUTPUT=$away/pages doxygen "$SLUICE_BUILDDIR/sdk/tools/Doxyfile"
}
# turns_red FILE SED-SCRIPT: Doxygen fails because of this change.
turns_red() {
  cp "away/sdk/$1" kept
  sed -i "$2" "away/sdk/$1"
  result=0
  if cmp -s kept "away/sdk/$1"; then
    echo "the change did not apply: adapt it to the file"
    result=1
  elif doxygen_of "$away/away"; then
    echo "Doxygen did not fail"
    result=1
  fi
  cp kept "away/sdk/$1"
  return $result
}
if command -v doxygen >/dev/null; then
  check "make doxygen has no warning" make -C "$SLUICE_BUILDDIR" doxygen
  pages=$SLUICE_BUILDDIR/sdk/doxygen/html
  mkdir -p away/sdk pages
  cp -r "$sdk/include" "$sdk/tools" away/sdk/
  chmod -R u+w away
  check "a copy of the headers has none either" doxygen_of "$away/away"
  check "an unknown command is an error" turns_red include/sluice/abi/backend.hpp 's/Must be idempotent/\\mustbe idempotent/'
  check "an unknown parameter is an error" turns_red include/sluice/abi/host.hpp 's|// Logs one line|// \\param colour none|'
  check "an unknown name is an error" turns_red tools/reference.md 's/#SLUICE_PLUGIN_ENTRY/#SLUICE_PLUGIN_EXIT/'
  # Doxygen does not report unresolved names without #.
  names=$(grep -o 'sluice::[a-z]*::[A-Za-z]*' "$sdk/tools/reference.md" | LC_ALL=C sort -u)
  for name in $names; do
    check "the first page links to $name" grep -q ">$name</a>" "$pages/index.html"
  done
  check "comments above a method are its text" grep -q 'Must be idempotent' "$pages/classsluice_1_1abi_1_1Backend.html"
  check "comments after a member are its text" grep -q 'set by the caller' "$pages/structsluice_1_1abi_1_1Error.html"
  says_no_licence() { ! grep -l SPDX-License-Identifier "$pages"/*.html | grep -v _source.html; }
  check "the licence is not in the pages" says_no_licence
else
  skip "make doxygen has no warning" "doxygen is not installed"
fi

# Manual pages
has_no_warning() {
  LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null | tee "$away/said"
  [ ! -s "$away/said" ]
}
pages_of() { (cd "$man" && ls); }
if command -v man >/dev/null; then
  printf '.TH A 3\n.SH NAME\na \\- \\(zz\n' >broken.3
  finds_a_warning() { ! has_no_warning "$away/broken.3"; }
  check "a broken page has a warning" finds_a_warning
  for page in $(pages_of); do check "$page has no warning" has_no_warning "$man/$page"; done
else
  skip "manual pages have no warning" "man is not installed"
fi
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$SLUICE_BUILDDIR/Makefile")
for page in $(pages_of); do check "$page is of this version" grep -q "^\.TH .*\"Sluice $version\"" "$man/$page"; done

# text PAGE: prints the page without markup for bold and hyphens.
text() { sed 's/\\-/-/g; s/\\f[A-Z]//g; s/"//g' "$man/$1"; }
names() {  # names PAGE WORD…: the page contains each word.
  page=$1
  shift
  [ $# -gt 0 ] || { echo "no words to search were found"; return 1; }
  result=0
  for word; do
    text "$page" | grep -qw -e "$word" || { echo "$page lacks $word"; result=1; }
  done
  return $result
}
# marked WORD…: a page of section 3 contains each word in bold.
marked() {
  [ $# -gt 10 ] || { echo "no words to search were found"; return 1; }
  for page in "$man"/*.3; do text "$(basename "$page")"; done | grep -E '^\.(B|BI|BR|RB) ' >"$away/marked"
  result=0
  for word; do
    grep -qw -e "$word" "$away/marked" || { echo "no page of section 3 has $word"; result=1; }
  done
  return $result
}
# The names that a plugin may use: types and methods of the ABI, types and functions of the SDK except its details. The
# calls of a backend have other names in the SDK, see below.
abi_names() {
  for header in "$sdk"/include/sluice/abi/*.hpp; do
    sed 's,//.*,,' "$header" | sed -nE 's/^(struct|class|enum|enum class) ([A-Z][A-Za-z]*).*[:{].*/\2/p'
    [ "${header##*/}" = backend.hpp ] || sed -nE 's/.*virtual .* \**([a-z_]+)\(.*/\1/p' "$header"
  done | sort -u
}
sdk_names() {
  sed '/^namespace detail/,/^}  *\/\/ namespace detail/d; s,//.*,,' "$sdk"/include/sluice/sdk/*.hpp |
    sed -nE 's/^class ([A-Z][A-Za-z]*).*/\1/p; s/^(inline )?[A-Za-z][A-Za-z0-9_:<>]* ([a-z_]+)\(.*/\2/p' |
    grep -vxE 'operator.*' | sort -u
}
# shellcheck disable=SC2046
{
  check "pages of section 3 name every type and method of the ABI" marked $(abi_names)
  check "they name every type and function of the SDK" marked $(sdk_names)
  check "sluice-sdk(3) names every header" names sluice-sdk.3 \
    $(cd "$sdk/include/sluice" && find . -name '*.hpp' | sed 's,^\./,,' | LC_ALL=C sort)
  check "sluice-backend(3) names every call" names sluice-backend.3 \
    $(sed -n 's/.*virtual .* \**\(do_[a-z]*\)(.*/\1/p' "$sdk/include/sluice/sdk/backend_base.hpp")
  check "sluice-backend(3) names every code" names sluice-backend.3 \
    $(sed -n '/^enum class Code/,/^}/s/^ *\(k[A-Za-z]*\) = .*/\1/p' "$sdk/include/sluice/abi/types.hpp")
  check "sluice-backend(3) names every interface of a backend" names sluice-backend.3 \
    $(sed -n 's/.*char \(k[A-Za-z]*\)\[\] = "sluice.backend\..*/\1/p' "$sdk"/include/sluice/abi/*.hpp)
  check "sluice-host(3) names every method" names sluice-host.3 \
    $(sed -n 's/.*virtual .* \**\([a-z_]*\)(.*/\1/p' "$sdk/include/sluice/abi/host.hpp")
  check "sluice-host(3) names every interface of the host" names sluice-host.3 \
    $(sed -n 's/.*char \(k[A-Za-z]*\)\[\] = "sluice.host\..*/\1/p' "$sdk"/include/sluice/abi/*.hpp)
  check "sluice-sdk(3) names the variables of pkg-config" names sluice-sdk.3 $(sed -n 's/^\([a-z_]*\)=.*/\1/p' "$sdk/sluice-sdk.pc.in" |
    grep -vx -e prefix -e includedir -e libdir -e datadir)
  check "sluice-sdk(3) names the variables of CMake" names sluice-sdk.3 $(grep -o 'SluiceSDK_[A-Z_]*' "$sdk/cmake/SluiceSDKConfig.cmake.in" | sort -u)
  check "sluice-sdk(3) names the variables of the macro" names sluice-sdk.3 sluiceplugindir SLUICE_SDK_CFLAGS \
    $(sed -n 's/^ *AC_SUBST(\[\(SLUICE[A-Z_]*\)\])/\1/p' "$sdk/m4/sluice.m4")
  check "sluice-plugin-new(1) names every option" names sluice-plugin-new.1 \
    $("$SLUICE_BUILDDIR/sdk/tools/sluice-plugin-new" --help | grep -o -e '--[a-z]*' | sort -u)
}
misses() { ! names sluice-sdk.3 abi/types.hpp abi/nothing.hpp; }
check "a header that no page names is reported" misses
# The last word is in the pages, but not in bold.
# shellcheck disable=SC2046
lacks() { ! marked $(abi_names) packets; }
check "a name that no page has is reported" lacks

# Header and manual page must have the same limits.
limits_agree() {
  tr '\n' ' ' <"$sdk/include/sluice/abi/backend.hpp" | sed 's/virtual Code /\n/g' |
    sed -n 's/.*Limit: \([0-9]*\) s\..*/\1/p' >header
  sed -n '/^\.B do_/,/^Limit/s/^Limit: \([0-9]*\) s\.$/\1/p' "$man/sluice-backend.3" >page
  [ "$(wc -l <header)" -ge 6 ] && head -6 header | diff - page
}
check "sluice-backend(3) has the limits of the header" limits_agree
# limits_of_headers, limits_of_daemon: print lines "call seconds".
limits_of_headers() {
  awk '
    match($0, /Limit: [0-9]+ s\./) { seconds = substr($0, RSTART + 7, RLENGTH - 10) }
    seconds && (match($0, /[a-z_]+\(/) && /virtual/ || match($0, /\(\*[a-z_]+\)/)) {
      call = substr($0, RSTART, RLENGTH); gsub(/[^a-z_]/, "", call)
      print call, seconds; seconds = ""
    }' "$1"/include/sluice/abi/*.hpp | LC_ALL=C sort
}
limits_of_daemon() {
  sed -n 's/.*Call::[a-z_]*{"\([a-z_]*\)", std::chrono::seconds(\([0-9]*\))};/\1 \2/p' \
    "$SLUICE_SRCDIR/core/plugin/backend_handle.cpp" | LC_ALL=C sort
}
daemon_agrees() {
  limits_of_headers "$1" >header
  limits_of_daemon >daemon
  [ "$(wc -l <header)" -ge 11 ] && diff header daemon
}
check "the daemon has the limits of the headers" daemon_agrees "$sdk"
other_limit() {
  mkdir -p limits/include/sluice
  cp -r "$sdk/include/sluice/abi" limits/include/sluice/
  chmod -R u+w limits
  sed -i 's/Limit: 60 s\./Limit: 61 s./' limits/include/sluice/abi/backend.hpp
  ! daemon_agrees limits
}
check "a different limit is reported" other_limit
finish
