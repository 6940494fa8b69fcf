# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_WARNINGS: --enable-werror, as CI uses it. clang also checks that locks are held, and a missing lock is always an error.
AC_DEFUN([SLUICE_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])], [], [enable_werror=no])
  SLUICE_WARN_CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2"
  AC_MSG_CHECKING([whether $CXX checks locks])
  sluice_saved_CXXFLAGS=$CXXFLAGS
  # With -Werror, since clang only warns of an option that it does not know.
  CXXFLAGS="$CXXFLAGS -Werror -Wthread-safety -Werror=thread-safety"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
    [AC_MSG_RESULT([yes])
     SLUICE_WARN_CXXFLAGS="$SLUICE_WARN_CXXFLAGS -Wthread-safety -Werror=thread-safety"],
    [AC_MSG_RESULT([no])])
  CXXFLAGS=$sluice_saved_CXXFLAGS
  SLUICE_WARNING_SUMMARY=shown
  AS_IF([test "x$enable_werror" = xyes], [SLUICE_WARN_CXXFLAGS="$SLUICE_WARN_CXXFLAGS -Werror"; SLUICE_WARNING_SUMMARY=errors])
  AC_SUBST([SLUICE_WARN_CXXFLAGS])
])
