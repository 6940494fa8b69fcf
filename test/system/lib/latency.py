# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How long a change of a Service takes until a client meets it: connections of this process from inside the test network, by one
thread that stays there, so that asking costs no process."""

import queue
import socket
import threading
import time

from . import netns_http, pace

POLL_SECONDS = 0.003
PATIENCE = 20  # seconds, stretched


class Client:
    """Connects from the namespace of that host; close() ends its thread."""

    def __init__(self, t, sender):
        self._calls, self._results = queue.Queue(), queue.Queue()
        namespace = t.topology.namespace(sender.place)
        self._thread = threading.Thread(target=self._work, args=(namespace,), daemon=True)
        self._thread.start()
        t.defer(self.close)

    def seconds_until(self, front, server, since):
        """From that instant of the monotonic clock until a new connection to the front meets that server; None if it never does."""
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
            if met(front) == server.name:
                return time.monotonic() - since
            time.sleep(POLL_SECONDS)  # poll interval
        return None


def met(front):
    """The name of the server that answers one connection; empty when none does."""
    try:
        with socket.create_connection((front.ip, front.port), 2) as connection:
            return connection.recv(200).partition(b" ")[0].decode()
    except OSError:
        return ""
