# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_SANITIZERS: --enable-sanitizers=address,undefined | thread, and --enable-fuzzing[=targets].
AC_DEFUN([SLUICE_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [compile with -fsanitize=LIST, e.g. address,undefined])],
    [], [enable_sanitizers=no])
  AC_ARG_ENABLE([fuzzing],
    [AS_HELP_STRING([--enable-fuzzing], [link the fuzz targets with libFuzzer (needs clang++); =targets: libFuzzer sees what an input reaches in the targets and in headers only, and the rest compiles a third faster])],
    [], [enable_fuzzing=no])
  SLUICE_SANITIZER_FLAGS=
  SLUICE_SANITIZER_CPPFLAGS=
  SLUICE_SANITIZER_SUMMARY=none
  # A plugin names every library it uses. The runtime of a sanitizer is the exception:
  # it comes with the program that loads the plugin.
  SLUICE_NO_UNDEFINED="-Wl,-z,defs"
  # Leaks are reported at the end, when a plugin that was unmapped has no names any more.
  SLUICE_KEEP_MAPPED=
  AS_IF([test "x$enable_sanitizers" != xno], [
    SLUICE_SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
    # The library checks indices and iterators of its own that no sanitizer sees.
    SLUICE_SANITIZER_CPPFLAGS=-D_GLIBCXX_ASSERTIONS
    SLUICE_SANITIZER_SUMMARY=$enable_sanitizers
    SLUICE_KEEP_MAPPED=-Wl,-z,nodelete
    SLUICE_NO_UNDEFINED=])

  SLUICE_FUZZ_CXXFLAGS=
  SLUICE_FUZZ_LDFLAGS=
  AS_IF([test "x$enable_fuzzing" != xno], [
    SLUICE_FUZZ_LDFLAGS=-fsanitize=fuzzer
    AC_MSG_CHECKING([for libFuzzer])
    sluice_saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $SLUICE_FUZZ_LDFLAGS"
    AC_LINK_IFELSE([AC_LANG_SOURCE(
      [[extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, decltype(sizeof(0))) { return 0; }]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([$CXX links no libFuzzer; pass CXX=clang++ (Debian: apt-get install clang libclang-rt-dev)])])
    CXXFLAGS=$sluice_saved_CXXFLAGS
    # What -fsanitize=fuzzer-no-link is made of; clang refuses a precompiled header that was made without that option itself.
    AS_IF([test "x$enable_fuzzing" = xtargets],
      [SLUICE_FUZZ_CXXFLAGS=-fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp],
      [SLUICE_SANITIZER_FLAGS="$SLUICE_SANITIZER_FLAGS -fsanitize=fuzzer-no-link"])
    SLUICE_NO_UNDEFINED=
    SLUICE_SANITIZER_SUMMARY="$SLUICE_SANITIZER_SUMMARY, fuzzing"])
  AM_CONDITIONAL([FUZZING], [test "x$enable_fuzzing" != xno])
  AC_SUBST([SLUICE_KEEP_MAPPED])
  AC_SUBST([SLUICE_NO_UNDEFINED])
  AC_SUBST([SLUICE_SANITIZER_FLAGS])
  AC_SUBST([SLUICE_SANITIZER_CPPFLAGS])
  AC_SUBST([SLUICE_FUZZ_CXXFLAGS])
  AC_SUBST([SLUICE_FUZZ_LDFLAGS])
])
