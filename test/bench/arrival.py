# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Detects that a change has arrived: by packets, or by the output of the example backend `print`."""

import os
import time

from cluster import SERVICE_PORT
from network import POD_PORT, answering_endpoint
from patience import stretched

PAUSE_SECONDS = 0.0005


class Packets:
    """New connections to the Service, until one of the endpoints expected has answered."""

    def prepare(self):
        """No state is needed: earlier answers are not among the expected endpoints."""

    def wait(self, cluster_ip, expected, patience, pause=PAUSE_SECONDS):
        """The arrival on the monotonic clock, or None."""
        end = time.monotonic() + stretched(patience)
        while answering_endpoint(cluster_ip, SERVICE_PORT) not in expected:
            if time.monotonic() > end:
                return None
            time.sleep(pause)  # poll interval
        return time.monotonic()


class PrintedLines:
    """Lines of the file that the backend `print` appends to."""

    def __init__(self, path):
        self._path = path
        self._seen = 0

    def prepare(self):
        self._seen = self._size()

    def wait(self, cluster_ip, expected, patience):
        """The time when a new line names the Service and one of the endpoints expected, or None."""
        names = [f'"{endpoint}:{POD_PORT}"'.encode() for endpoint in expected]
        return self.wait_for_line(lambda line: f'"{cluster_ip}:{SERVICE_PORT}"'.encode() in line
                                  and any(name in line for name in names), patience)

    def wait_for_line(self, is_it, patience):
        end = time.monotonic() + stretched(patience)
        while time.monotonic() < end:
            if self._size() > self._seen:
                if any(map(is_it, self._new_lines())):
                    return time.monotonic()
            time.sleep(PAUSE_SECONDS)  # poll interval
        return None

    def _size(self):
        return os.path.getsize(self._path) if os.path.exists(self._path) else 0

    def _new_lines(self):
        with open(self._path, "rb") as file:
            file.seek(self._seen)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._seen += whole
        return text[:whole].splitlines()
