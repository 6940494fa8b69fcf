# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects as files in the directory that the daemon watches."""

import json
import os
import threading

from . import objects


class ManifestSource:
    name = "manifests"
    # A directory scan that runs while files are written may return a later file and miss an earlier one. The next scan starts
    # after that, so a second visible change proves that everything before the first one was read.
    passes = 2

    def __init__(self, directory):
        self.directory = os.path.join(directory, "manifests")
        self._staging = os.path.join(directory, "staging")
        self._serial = 0
        self._lock = threading.Lock()
        os.makedirs(self.directory, exist_ok=True)
        os.makedirs(self._staging, exist_ok=True)

    @staticmethod
    def reads():
        """The number of lists that have begun: every scan is one, and `passes` accounts for it."""
        return 0

    def daemon_flags(self):
        return ["--manifests", self.directory]

    def put(self, *made):
        for one in made:
            self.put_text(_file_name(objects.key(one)), json.dumps(one))

    def put_text(self, file_name, text):
        """Writes to a temporary file and renames it, so that the daemon never reads a partial file."""
        with self._lock:
            self._serial += 1
            staged = os.path.join(self._staging, str(self._serial))
        with open(staged, "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(staged, os.path.join(self.directory, file_name))

    def delete(self, *made):
        for one in made:
            self.delete_file(_file_name(objects.key(one)))

    def delete_file(self, file_name):
        os.unlink(os.path.join(self.directory, file_name))

    def close(self):
        """This source has no process to stop."""


def _file_name(key):
    kind, namespace, name = key
    return f"{kind.lower()}-{namespace}-{name}.json"
