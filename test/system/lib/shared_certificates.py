# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Certificates that all API servers of this process have in common: openssl takes 0.1 s of CPU time to create them.

Each server has copies in its own folder, so a test that replaces one affects no other server. The token and the kubeconfigs
are not copied: each server creates its own.
"""

import os
import shutil
import tempfile
import threading

# server.names has the names in server.crt: a server with other names replaces that certificate.
SHARED = ("ca.key", "ca.crt", "other-ca.key", "other-ca.crt", "client.key", "client.crt", "server.key", "server.crt", "server.names")
_first = []  # the folder with the certificates of the first server
_lock = threading.Lock()


def start_with(folder, start):
    """Calls start(), which starts an API server with that folder: the first one creates the certificates, later ones find them."""
    with _lock:
        if not _first:
            start()
            kept = tempfile.TemporaryDirectory(prefix="sluice-pki-")  # only this user can open it; removed at exit
            _copy(folder, kept.name)
            _first.append(kept)
            return
    os.mkdir(folder)
    _copy(_first[0].name, folder)
    start()


def _copy(source, destination):
    for name in SHARED:
        shutil.copy(os.path.join(source, name), destination)
