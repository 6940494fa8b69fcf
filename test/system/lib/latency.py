# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the time from a change of a Service until a client reaches the new endpoint. One thread of this process stays in the
namespace of the client, so that no process is started per connection."""

import queue
import socket
import threading
import time

from . import netns_http, pace

POLL_SECONDS = 0.003
PATIENCE = 20  # seconds, stretched


class Client:
    """Connects from the namespace of that host; close() stops its thread."""

    def __init__(self, t, sender):
        self._calls, self._results = queue.Queue(), queue.Queue()
        namespace = t.topology.namespace(sender.place)
        self._thread = threading.Thread(target=self._work, args=(namespace,), daemon=True)
        self._thread.start()
        t.defer(self.close)

    def seconds_until(self, front, server, since):
        """Time from `since` (monotonic) until that server answers a new connection to the front; None if the timeout expires."""
        self._calls.put((front, server, since))
        result = self._results.get()
        if isinstance(result, Exception):
            raise result
        return result

    def close(self):
        self._calls.put(None)
        self._thread.join()

    def _work(self, namespace):
        try:
            netns_http.enter(namespace)
        except OSError as error:
            self._results.put(error)
            return
        while (call := self._calls.get()) is not None:
            self._results.put(self._wait(*call))

    @staticmethod
    def _wait(front, server, since):
        give_up = time.monotonic() + pace.stretched(PATIENCE)
        while time.monotonic() < give_up:
            if server_at(front) == server.name:
                return time.monotonic() - since
            time.sleep(POLL_SECONDS)  # poll interval
        return None


def server_at(front):
    """The name of the server that answers one connection; empty if there is none."""
    try:
        with socket.create_connection((front.ip, front.port), 2) as connection:
            return connection.recv(200).partition(b" ")[0].decode()
    except OSError:
        return ""
