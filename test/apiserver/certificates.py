# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Signing with a chosen validity, which `openssl x509` of this generation cannot."""

import os
import tempfile
import time

CONFIGURATION = """[ca]
default_ca = test
[test]
dir = {folder}
database = {folder}/index
new_certs_dir = {folder}
default_md = sha256
policy = any
rand_serial = yes
unique_subject = no
[any]
commonName = supplied
organizationName = optional
"""
TEN_YEARS = 3650 * 86400


def generalized_time(offset):
    """That many seconds from now, as `openssl ca` wants it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + offset))


def sign(openssl, request, authority, extensions, destination, valid_from=None, valid_until=None):
    """`valid_from` and `valid_until` are seconds from now, negative for the past.

    `authority` is the path of the CA's files without their ending.
    """
    with tempfile.TemporaryDirectory(prefix="apiserver-ca-") as folder:
        configuration = os.path.join(folder, "openssl.cnf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(folder=folder))
        with open(os.path.join(folder, "index"), "w", encoding="utf-8"):
            pass
        openssl("ca", "-batch", "-notext", "-preserveDN", "-config", configuration, "-in", request,
                "-cert", authority + ".crt", "-keyfile", authority + ".key", "-extfile", extensions,
                "-startdate", generalized_time(-3600 if valid_from is None else valid_from),
                "-enddate", generalized_time(TEN_YEARS if valid_until is None else valid_until),
                "-out", destination)
