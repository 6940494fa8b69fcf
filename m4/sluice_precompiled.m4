# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0

# SLUICE_PRECOMPILED
# ------------------
# Reads the standard headers once instead of once for each file. For builds that are thrown
# away: a file that forgets an include compiles all the same.
AC_DEFUN([SLUICE_PRECOMPILED], [
  AC_ARG_ENABLE([precompiled],
    [AS_HELP_STRING([--enable-precompiled], [precompile standard headers, for quick builds of tests])],
    [], [enable_precompiled=no])
  AM_CONDITIONAL([PRECOMPILED], [test "x$enable_precompiled" != xno])
  SLUICE_PRECOMPILED_SUFFIX=gch
  AS_IF([$CXX --version 2>/dev/null | grep -q clang], [SLUICE_PRECOMPILED_SUFFIX=pch])
  AC_SUBST([SLUICE_PRECOMPILED_SUFFIX])
])
