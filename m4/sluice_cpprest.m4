# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_CPPREST: cpprestsdk ships no pkg-config file on Debian.
AC_DEFUN([SLUICE_CPPREST], [
  # Compiling it takes five seconds, which reading it does not.
  AC_MSG_CHECKING([for cpprest/http_client.h])
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cpprest/http_client.h>]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([cpprestsdk not found; install it (Debian: apt-get install libcpprest-dev)])])
  AC_SUBST([CPPREST_LIBS], ["-lcpprest -lboost_system"])
])
