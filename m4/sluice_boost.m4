# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_BOOST: Boost.DLL, Boost.Asio and Boost.Beast (headers), Boost.Program_options (library).
AC_DEFUN([SLUICE_BOOST], [
  # As in SLUICE_CXX20: what a compiler takes by default may be too old for these headers.
  sluice_saved_CXX=$CXX
  CXX="$CXX -std=c++20"
  AC_CHECK_HEADER([boost/dll/shared_library.hpp], [],
    [AC_MSG_ERROR([Boost.DLL not found; install it (Debian: apt-get install libboost-dev)])],
    [[#define BOOST_DLL_USE_STD_FS]])
  AC_CHECK_HEADER([boost/beast/version.hpp], [],
    [AC_MSG_ERROR([Boost.Beast not found; install it (Debian: apt-get install libboost-dev)])])
  AC_MSG_CHECKING([for Boost.Program_options])
  sluice_saved_LIBS=$LIBS
  LIBS="-lboost_program_options $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <boost/program_options/options_description.hpp>]],
    [[boost::program_options::options_description d("x"); return d.options().size() != 0;]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([Boost.Program_options not found; install it (Debian: apt-get install libboost-program-options-dev)])])
  LIBS=$sluice_saved_LIBS
  CXX=$sluice_saved_CXX
  AC_SUBST([BOOST_LIBS], ["-lboost_program_options"])
])
