# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_PKG(VARIABLE, MODULES, DEBIAN-PACKAGE): pkg-config, with a remedy in the error.
AC_DEFUN([SLUICE_PKG], [
  PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 not found; install it (Debian: apt-get install $3)])])
])
