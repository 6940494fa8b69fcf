# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# serial 1
#
# SLUICE_PLUGIN([VERSION]): configures a package that builds a backend of Sluice, with the SDK
# of at least that version. Call it after AC_PROG_CXX and LT_INIT. It fails if a requirement is
# missing, and defines for Makefile.am
#   SLUICE_SDK_CFLAGS           for AM_CPPFLAGS
#   SLUICE_PLUGIN_CXXFLAGS      for AM_CXXFLAGS: C++17 if it is not the default of the compiler,
#                               hidden symbols, no STB_GNU_UNIQUE symbols
#   SLUICE_PLUGIN_LDFLAGS       for NAME_la_LDFLAGS, after -module: the version script, no
#                               version in the name, no missing library
#   SLUICE_PLUGIN_MAP           the version script, for dependencies
#   SLUICE_PLUGIN_DLOPEN_LIBS   for a test that loads the plugin
#   sluiceplugindir             the folder from which the daemon loads plugins, for
#                               sluiceplugin_LTLIBRARIES
AC_DEFUN([SLUICE_PLUGIN], [
  AC_REQUIRE([AC_PROG_CXX])
  m4_ifdef([PKG_PROG_PKG_CONFIG], [], [m4_fatal([SLUICE_PLUGIN needs the macros of pkg-config (Debian: pkg-config)])])
  PKG_PROG_PKG_CONFIG([0.29])
  PKG_CHECK_MODULES([SLUICE_SDK], [sluice-sdk]m4_ifval([$1], [ >= $1]), [],
    [AC_MSG_ERROR([the Sluice SDK]m4_ifval([$1], [ $1])[ is missing: install it (Debian: sluice-dev), or name its
folder pkgconfig in PKG_CONFIG_PATH. $SLUICE_SDK_PKG_ERRORS])])

  AC_LANG_PUSH([C++])
  sluice_saved_CXXFLAGS=$CXXFLAGS
  SLUICE_PLUGIN_CXXFLAGS=
  AC_CACHE_CHECK([for the option of $CXX that gives C++17], [sluice_cv_cxx17], [
    sluice_cv_cxx17=unknown
    for sluice_option in "" -std=c++17 -std=c++1z; do
      CXXFLAGS="$sluice_saved_CXXFLAGS $sluice_option"
      AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <string_view>
#if __cplusplus < 201703L
#error C++17 is wanted
#endif
std::string_view text;
]])], [sluice_cv_cxx17=$sluice_option; break])
    done
    AS_IF([test "x$sluice_cv_cxx17" = x], [sluice_cv_cxx17="none needed"])
  ])
  AS_CASE([$sluice_cv_cxx17],
    [unknown], [AC_MSG_ERROR([a backend of Sluice needs C++17, which $CXX does not have])],
    [none*], [],
    [SLUICE_PLUGIN_CXXFLAGS=$sluice_cv_cxx17])
  for sluice_option in -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique; do
    # With -Werror, because clang only warns about unknown options.
    CXXFLAGS="$sluice_saved_CXXFLAGS -Werror $sluice_option"
    AC_MSG_CHECKING([whether $CXX has $sluice_option])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[]])],
      [AC_MSG_RESULT([yes]); SLUICE_PLUGIN_CXXFLAGS="$SLUICE_PLUGIN_CXXFLAGS $sluice_option"],
      [AC_MSG_RESULT([no])])
  done
  CXXFLAGS=$sluice_saved_CXXFLAGS

  sluice_saved_LIBS=$LIBS
  LIBS=
  AC_SEARCH_LIBS([dlopen], [dl])
  SLUICE_PLUGIN_DLOPEN_LIBS=$LIBS
  LIBS=$sluice_saved_LIBS
  AC_LANG_POP([C++])

  AC_MSG_CHECKING([for the version script of plugins])
  SLUICE_PLUGIN_MAP=`$PKG_CONFIG --variable=plugin_map sluice-sdk`
  AS_IF([test -f "$SLUICE_PLUGIN_MAP"], [AC_MSG_RESULT([$SLUICE_PLUGIN_MAP])],
    [AC_MSG_ERROR([sluice-sdk.pc names '$SLUICE_PLUGIN_MAP', which is not there: install the SDK again])])
  SLUICE_PLUGIN_LDFLAGS="-avoid-version -shared -Wl,-z,defs -Wl,--version-script=$SLUICE_PLUGIN_MAP"

  AC_ARG_WITH([sluiceplugindir],
    [AS_HELP_STRING([--with-sluiceplugindir=DIR], [folder from which sluiced loads plugins (default: that of the SDK)])],
    [sluiceplugindir=$withval], [sluiceplugindir=`$PKG_CONFIG --variable=plugindir sluice-sdk`])

  AC_SUBST([SLUICE_PLUGIN_CXXFLAGS])
  AC_SUBST([SLUICE_PLUGIN_LDFLAGS])
  AC_SUBST([SLUICE_PLUGIN_MAP])
  AC_SUBST([SLUICE_PLUGIN_DLOPEN_LIBS])
  AC_SUBST([sluiceplugindir])
])
