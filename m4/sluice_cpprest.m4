# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_CPPREST: cpprestsdk ships no pkg-config file on Debian.
AC_DEFUN([SLUICE_CPPREST], [
  AC_CHECK_HEADER([cpprest/http_client.h], [],
    [AC_MSG_ERROR([cpprestsdk not found; install it (Debian: apt-get install libcpprest-dev)])])
  AC_SUBST([CPPREST_LIBS], ["-lcpprest -lboost_system"])
])
