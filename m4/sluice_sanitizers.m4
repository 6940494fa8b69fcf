# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_SANITIZERS: --enable-sanitizers=address,undefined | thread.
AC_DEFUN([SLUICE_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [compile with -fsanitize=LIST, e.g. address,undefined])],
    [], [enable_sanitizers=no])
  SLUICE_SANITIZER_FLAGS=
  SLUICE_SANITIZER_SUMMARY=none
  # A plugin names every library it uses. The runtime of a sanitizer is the exception:
  # it comes with the program that loads the plugin.
  SLUICE_NO_UNDEFINED="-Wl,-z,defs"
  AS_IF([test "x$enable_sanitizers" != xno], [
    SLUICE_SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
    SLUICE_SANITIZER_SUMMARY=$enable_sanitizers
    SLUICE_NO_UNDEFINED=])
  AC_SUBST([SLUICE_NO_UNDEFINED])
  AC_SUBST([SLUICE_SANITIZER_FLAGS])
])
