# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""New HTTP connections to one address from each node, without pause. Run as a program, it is the client on a node:

  chart_traffic.py ADDRESS PORT COUNTS     until SIGTERM; writes counts to the file COUNTS, and all results at the end
"""

import http.client
import json
import os
import signal
import sys
import tempfile

PAUSE, TIMEOUT = 0.01, 5


class Traffic:
    def __init__(self, nodes, address, port):
        from . import pace  # pylint: disable=import-outside-toplevel  # the client needs no package

        self._pace = pace
        self._folder = tempfile.TemporaryDirectory()
        self._clients = {}
        for node in nodes:
            counts = os.path.join(self._folder.name, node.name)
            self._clients[node.name] = counts, node.popen(sys.executable, "-B", os.path.abspath(__file__), address, port, counts)

    def _count(self, name):
        try:
            with open(self._clients[name][0], encoding="ascii") as file:
                return json.load(file)[0]
        except (FileNotFoundError, ValueError):
            return 0

    def wait(self, more):
        """Until each client has made so many more connections."""
        from .failure import ClusterError  # pylint: disable=import-outside-toplevel

        wanted = {name: self._count(name) + more for name in self._clients}
        if not self._pace.wait_until(lambda: all(self._count(name) >= count for name, count in wanted.items()), 60):
            raise ClusterError(f"timeout: connections are {[self._count(name) for name in self._clients]}, not {wanted}")

    def end(self):
        """Node → connections, failed ones, and the last error."""
        out = {}
        for name, (counts, process) in self._clients.items():
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            with open(counts, encoding="ascii") as file:
                out[name] = tuple(json.load(file))
        self._folder.cleanup()
        return out


def connect(address, port):
    """An error, or nothing."""
    connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/hostname")
        answer = connection.getresponse()
        answer.read()
        return "" if answer.status == 200 else f"status {answer.status}"
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


def main(address, port, counts):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    count, failed, last = 0, 0, ""
    while not ended:
        error = connect(address, int(port))
        count, failed, last = count + 1, failed + bool(error), error or last
        with open(f"{counts}.new", "w", encoding="ascii") as file:
            json.dump([count, failed, last], file)
        os.replace(f"{counts}.new", counts)
        signal.sigtimedwait([], PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
