# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_TESTS: CppUnit for `make check`; without it the daemon still builds.
#
# SLUICE_STATIC_LIBSTDCXX: linker flags for programs that tests start thousands of times. With a shared libstdc++, the dynamic
# linker takes more than half of the time of a start. Empty where only the shared library is installed (Fedora without
# libstdc++-static), and in builds with sanitizers.
AC_DEFUN([SLUICE_TESTS], [
  PKG_CHECK_MODULES([CPPUNIT], [cppunit >= 1.14], [sluice_have_cppunit=yes], [sluice_have_cppunit=no])
  AM_CONDITIONAL([HAVE_CPPUNIT], [test "x$sluice_have_cppunit" = xyes])
  AS_IF([test "x$sluice_have_cppunit" = xyes], [SLUICE_TEST_SUMMARY=yes],
    [SLUICE_TEST_SUMMARY="no: CppUnit is missing (Debian: apt-get install libcppunit-dev)"
     AC_MSG_WARN([CppUnit not found: make check will fail (Debian: apt-get install libcppunit-dev)])])

  SLUICE_STATIC_LIBSTDCXX=
  AS_IF([test "x$enable_sanitizers" = xno], [
    AC_MSG_CHECKING([for a static libstdc++])
    sluice_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -static-libstdc++ -static-libgcc"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string>]], [[std::string text("a"); return text.size() == 1 ? 0 : 1;]])],
      [AC_MSG_RESULT([yes])
       SLUICE_STATIC_LIBSTDCXX="-XCClinker -static-libstdc++ -XCClinker -static-libgcc"],
      [AC_MSG_RESULT([no])])
    LDFLAGS=$sluice_saved_LDFLAGS])
  AC_SUBST([SLUICE_STATIC_LIBSTDCXX])
])
