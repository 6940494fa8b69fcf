# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects as files in the directory the daemon watches."""

import json
import os
import threading

from . import objects


class ManifestSource:
    name = "manifests"
    # A folder that is read while files come may show a late one and not an early one. What the next reading
    # shows began after that, so a second change that is seen proves everything before the first.
    passes = 2

    def __init__(self, directory):
        self.directory = os.path.join(directory, "manifests")
        self._staging = os.path.join(directory, "staging")
        self._serial = 0
        self._lock = threading.Lock()
        os.makedirs(self.directory, exist_ok=True)
        os.makedirs(self._staging, exist_ok=True)

    def daemon_flags(self):
        return ["--manifests", self.directory]

    def put(self, *made):
        for one in made:
            self.put_text(_file_name(objects.key(one)), json.dumps(one, indent=1))

    def put_text(self, file_name, text):
        """Writes elsewhere and renames: the daemon must never read half a file."""
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
        """Nothing runs for this source."""


def _file_name(key):
    kind, namespace, name = key
    return f"{kind.lower()}-{namespace}-{name}.json"
