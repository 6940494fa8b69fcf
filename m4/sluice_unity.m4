# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_UNITY: by default the .cpp files of a folder are compiled as one translation unit, which reads each header once
# and takes a third of the time. --disable-unity compiles each file by itself: after a change in one file only that file
# is compiled again. --enable-unity=wide compiles the core as two translation units: templates that its folders share are
# compiled twice instead of once per folder, which matters where a sanitizer makes their code large.
AC_DEFUN([SLUICE_UNITY], [
  AC_ARG_ENABLE([unity],
    [AS_HELP_STRING([--disable-unity], [compile each source file by itself, for work on single files])],
    [], [enable_unity=yes])
  AM_CONDITIONAL([UNITY], [test "x$enable_unity" != xno])
  AM_CONDITIONAL([WIDE_UNITY], [test "x$enable_unity" = xwide])
  SLUICE_UNITY_CXXFLAGS=
  SLUICE_UNITY_SUMMARY=no
  AS_IF([test "x$enable_unity" != xno], [
    SLUICE_UNITY_SUMMARY=yes
    # The compiler takes an included .cpp file for a header, in which types of unnamed namespaces would be suspicious.
    AC_MSG_CHECKING([whether $CXX accepts -Wno-subobject-linkage])
    sluice_saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -Werror -Wsubobject-linkage"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes]); SLUICE_UNITY_CXXFLAGS=-Wno-subobject-linkage],
      [AC_MSG_RESULT([no])])
    CXXFLAGS=$sluice_saved_CXXFLAGS])
  AC_SUBST([SLUICE_UNITY_CXXFLAGS])
])
