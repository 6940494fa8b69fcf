# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_PROTOZERO: protozero, a library of headers without a file for pkg-config.
AC_DEFUN([SLUICE_PROTOZERO], [
  AC_CHECK_HEADER([protozero/pbf_reader.hpp], [],
    [AC_MSG_ERROR([protozero not found; install it (Debian: apt-get install libprotozero-dev)])])
])
