# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_WARNINGS: --enable-werror, as CI uses it.
AC_DEFUN([SLUICE_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])], [], [enable_werror=no])
  SLUICE_WARN_CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2"
  SLUICE_WARNING_SUMMARY=shown
  AS_IF([test "x$enable_werror" = xyes], [SLUICE_WARN_CXXFLAGS="$SLUICE_WARN_CXXFLAGS -Werror"; SLUICE_WARNING_SUMMARY=errors])
  AC_SUBST([SLUICE_WARN_CXXFLAGS])
])
