# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_TESTS: CppUnit for `make check`; without it the daemon still builds.
AC_DEFUN([SLUICE_TESTS], [
  PKG_CHECK_MODULES([CPPUNIT], [cppunit >= 1.14], [sluice_have_cppunit=yes], [sluice_have_cppunit=no])
  AM_CONDITIONAL([HAVE_CPPUNIT], [test "x$sluice_have_cppunit" = xyes])
  AS_IF([test "x$sluice_have_cppunit" = xyes], [SLUICE_TEST_SUMMARY=yes],
    [SLUICE_TEST_SUMMARY="no: CppUnit is missing (Debian: apt-get install libcppunit-dev)"
     AC_MSG_WARN([CppUnit not found: make check will fail (Debian: apt-get install libcppunit-dev)])])
])
