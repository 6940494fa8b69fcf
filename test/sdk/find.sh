#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests how projects find the SDK with pkg-config, CMake and aclocal, also after it was moved, and the errors if it is
# missing or too old.
. "$(dirname "$0")/scratch.sh"
cd "$away" || exit 99
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$SLUICE_BUILDDIR/Makefile")
series=${version%.*}
types=$SLUICE_SRCDIR/sdk/include/sluice/abi/types.hpp
major=$(sed -n 's/.* kMajor = \([0-9]*\);.*/\1/p' "$types")
minor=$(sed -n 's/.* kMinor = \([0-9]*\);.*/\1/p' "$types")

is() { [ "$1" = "$2" ] || { echo "found:  $1"; echo "wanted: $2"; return 1; }; }
says() {  # says TEXT COMMAND…: the command fails and prints the text.
  words=$1
  shift
  if "$@" >"$away/said" 2>&1; then echo "it did not fail"; return 1; fi
  grep -q -F -e "$words" "$away/said" || { cat "$away/said"; return 1; }
}

# pkg-config
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
check "the pkg-config file is valid" pkg-config --validate sluice-sdk
check "its version is that of the release" is "$(pkg-config --modversion sluice-sdk)" "$version"
libdir=$(dirname "$(dirname "$pc")")
libdir=${libdir#"$away/root"}
moved() { pkg-config --define-variable=prefix="$prefix" "$@" sluice-sdk; }
check "cflags has the folder of the headers" test -f "$(moved --cflags-only-I | sed 's/^-I//; s/ *$//')/sluice/abi/abi.hpp"
check "there are no libraries to link" is "$(moved --libs | tr -d ' ')" ""
check "plugindir is the plugin folder of the daemon" is "$(pkg-config --variable=plugindir sluice-sdk)" "$libdir/sluice/plugins"
check "plugin_map exists" test -f "$(moved --variable=plugin_map)"
check "abi_major is that of the headers" is "$(pkg-config --variable=abi_major sluice-sdk)" "$major"
check "abi_minor is that of the headers" is "$(pkg-config --variable=abi_minor sluice-sdk)" "$minor"
unset PKG_CONFIG_PATH

# CMake. The project prints what it found. Without a language, configuring needs no compiler.
find_with() {  # find_with PREFIX FIND_PACKAGE-ARGUMENTS
  mkdir -p "$away/cmake"
  cat >"$away/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(finder LANGUAGES NONE)
find_package(SluiceSDK $2)
message("include \${SluiceSDK_INCLUDE_DIR}")
message("plugins \${SluiceSDK_PLUGIN_DIR}")
message("map \${SluiceSDK_PLUGIN_MAP}")
message("abi \${SluiceSDK_ABI_MAJOR}.\${SluiceSDK_ABI_MINOR}")
message("version \${SluiceSDK_VERSION}")
END
  rm -rf "$away/cmake/build"
  cmake -S "$away/cmake" -B "$away/cmake/build" -DCMAKE_PREFIX_PATH="$1"
}
finds() { find_with "$1" "$2" >"$away/said" 2>&1 || { cat "$away/said"; return 1; }; }
found() { sed -n "s/^$1 //p" "$away/said"; }
if have cmake; then
  check "CMake finds it" finds "$prefix" "REQUIRED"
  check "with its headers" test -f "$(found include)/sluice/abi/abi.hpp"
  check "with the folder of plugins" is "$(found plugins)" "$away/root$libdir/sluice/plugins"
  check "with the version script" test -f "$(found map)"
  check "with the numbers of the ABI" is "$(found abi)" "$major.$minor"
  check "with its version" is "$(found version)" "$version"
  check "CMake finds $series" finds "$prefix" "$series REQUIRED"
  check "CMake finds exactly $version" finds "$prefix" "$version EXACT REQUIRED"
  check "CMake finds any" finds "$prefix" "0 REQUIRED"
  check "a newer version is requested" says "considered but not accepted" find_with "$prefix" "${version%%.*}.99 REQUIRED"
  check "another major is requested" says "considered but not accepted" find_with "$prefix" "99 REQUIRED"
  # As if /lib is a link to /usr/lib: the files next to the link are not the installed ones.
  mkdir "$away/linked"
  ln -s "$prefix/lib" "$away/linked/lib"
  check "CMake finds it through a link" finds "$away/linked" "REQUIRED"
  check "and its headers, too" test -f "$(found include)/sluice/abi/abi.hpp"
  cat >"$away/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(finder LANGUAGES CXX)
find_package(SluiceSDK REQUIRED)
find_package(SluiceSDK REQUIRED)
sluice_add_plugin(empty)
END
  rm -rf "$away/cmake/build"
  check "a plugin without sources" says "sluice_add_plugin(empty): no sources" \
    cmake -S "$away/cmake" -B "$away/cmake/build" -DCMAKE_PREFIX_PATH="$prefix"
  # The link options of a plugin. `shared` would be an STB_GNU_UNIQUE symbol and prevent unmapping.
  cat >"$away/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(finder LANGUAGES CXX)
find_package(SluiceSDK REQUIRED)
sluice_add_plugin(whole whole.cpp)
sluice_add_plugin(lacking lacking.cpp)
END
  cat >"$away/cmake/whole.cpp" <<'END'
#include "sluice/sdk/sdk.hpp"
static_assert(__cplusplus >= 201703L);
[[gnu::visibility("default")]] inline int shared = 1;
[[gnu::visibility("default")]] int* address() { return &shared; }
extern "C" [[gnu::visibility("default")]] const int sluice_plugin_entry;
constexpr int sluice_plugin_entry = 1;
END
  printf 'int missing();\nint call() { return missing(); }\n' >"$away/cmake/lacking.cpp"
  rm -rf "$away/cmake/build"
  check "two plugins" cmake -S "$away/cmake" -B "$away/cmake/build" -DCMAKE_PREFIX_PATH="$prefix"
  check "one is built" cmake --build "$away/cmake/build" --target whole
  exports() { nm -D --defined-only "$1" | awk '{ print $NF }'; }
  check "by its name, and exports only the symbol of the version script" is "$(exports "$away/cmake/build/whole.so")" \
    sluice_plugin_entry
  object=$away/cmake/build/CMakeFiles/whole.dir/whole.cpp.o
  check "its object has the variable" sh -c "nm '$object' | grep -q ' [uVBDd] shared'"
  check "which is not STB_GNU_UNIQUE" sh -c "! readelf -sW '$object' | grep UNIQUE"
  check "one that lacks a library is not" says "undefined reference to" cmake --build "$away/cmake/build" --target lacking
else
  skip "CMake finds it" "cmake is not installed"
fi

# aclocal and the macro
mkdir "$away/auto"
cd "$away/auto" || exit 99
write_configure() {
  cat >configure.ac <<END
AC_INIT([finder], [1])
AC_CONFIG_AUX_DIR([aux])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CXX
SLUICE_PLUGIN$1
AC_CONFIG_FILES([Makefile found])
AC_OUTPUT
END
}
printf 'cflags @SLUICE_SDK_CFLAGS@\ncxxflags @SLUICE_PLUGIN_CXXFLAGS@\nldflags @SLUICE_PLUGIN_LDFLAGS@\nplugins @sluiceplugindir@\n' >found.in
: >Makefile.am
configure_made() { autoreconf --install >"$away/said" 2>&1 || { cat "$away/said"; return 1; }; }
ran() {  # ran ARGUMENT…: runs configure, which creates `found`.
  rm -f found
  ./configure -q "$@" >"$away/said" 2>&1 || { cat "$away/said"; return 1; }
  mv found "$away/said"
}
write_configure ''
"$prefix/bin/sluice-plugin-new" --build autotools --directory "$away/lost" lost >/dev/null
if [ -e "$(aclocal --print-ac-dir)/sluice.m4" ]; then
  skip "without the SDK autoreconf of a skeleton says what is missing" "an SDK is installed in the system"
else
  check "without the SDK autoreconf of a skeleton says what is missing" says "the macros of the Sluice SDK are missing" \
    autoreconf --install "$away/lost"
fi
ACLOCAL_PATH=$prefix/share/aclocal
export ACLOCAL_PATH
check "aclocal finds the macro" configure_made
PKG_CONFIG_LIBDIR=$away/nowhere
export PKG_CONFIG_LIBDIR
check "configure says what is missing" says "the Sluice SDK is missing: install it (Debian: sluice-dev)" ./configure -q
unset PKG_CONFIG_LIBDIR
with_sdk
check "configure finds the SDK" ran
check "its headers" is "$(found cflags | tr -d ' ')" "-I$prefix/include"
check "the folder of plugins" is "$(found plugins)" "$away/root$libdir/sluice/plugins"
check "the version script" test -f "$(found ldflags | sed 's/.*--version-script=//')"
check "-z defs" sh -c "grep -q '^ldflags.*-Wl,-z,defs' '$away/said'"
case $($CXX --version) in
  *clang*) ;;
  *) check "no unique symbols" sh -c "grep -q '^cxxflags.*-fno-gnu-unique' '$away/said'" ;;
esac
check "another folder for plugins" ran --with-sluiceplugindir=/somewhere
check "is used" is "$(found plugins)" /somewhere
if echo 'int a;' | clang++ -fsyntax-only -x c++ - 2>/dev/null; then
  CXX=clang++
  check "configure with clang" ran
  has_17() {
    # shellcheck disable=SC2046
    echo 'static_assert(__cplusplus >= 201703L, "");' | clang++ $(found cxxflags) -fsyntax-only -x c++ -
  }
  check "selects C++17 if it is not the default" has_17
else
  skip "configure with clang" "clang++ is not installed"
fi
write_configure '([99])'
check "the macro accepts a version" configure_made
check "a version that is not installed is rejected" says "the Sluice SDK 99 is missing" ./configure -q
finish
