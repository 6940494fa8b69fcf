# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_CXX20: the compiler must offer C++20 as the daemon uses it.
AC_DEFUN([SLUICE_CXX20], [
  AC_MSG_CHECKING([for C++20])
  sluice_saved_CXX=$CXX
  # Only for the test: the Makefile passes the language level itself.
  CXX="$CXX -std=c++20"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM(
    [[#include <concepts>
      #include <span>
      #include <compare>
      struct P { int a; auto operator<=>(const P&) const = default; };]],
    [[P p{.a = 1}; std::span<P> s(&p, 1); return s[0] < P{.a = 2} ? 0 : 1;]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$sluice_saved_CXX does not compile C++20; install g++ 12 or later (Debian: apt-get install g++)])])
  CXX=$sluice_saved_CXX
])
