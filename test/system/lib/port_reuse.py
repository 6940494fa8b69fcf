# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client that reuses source ports: it closes connections and later opens new ones from the same ports."""

import contextlib
import socket

from . import netns_http, pace

TW_REUSE = "/proc/sys/net/ipv4/tcp_tw_reuse"
TW_REUSE_AFTER = 1.2  # seconds, until the TCP timestamp clock has advanced


class Client:
    """Connects from `sender` to `front`, whose servers answer each line with a line that starts with their name."""

    def __init__(self, t, sender, front):
        self._namespace = t.topology.namespace(sender.place)
        self._where = (front.ip, front.port)
        self.kept = {}  # port: connection
        # Without tcp_tw_reuse, TIME_WAIT would block each port of the client for a minute.
        before = t.topology.run(sender.place, "cat", TW_REUSE).stdout.strip()

        def set_reuse(value):
            t.topology.run(sender.place, "sh", "-c", f"echo {value} >{TW_REUSE}")

        set_reuse(1)
        t.defer(lambda: (self.close(), set_reuse(before)))

    def _connect(self, port):
        def make():
            one = socket.socket(socket.AF_INET6 if ":" in self._where[0] else socket.AF_INET, socket.SOCK_STREAM)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.settimeout(pace.stretched(2))
            one.bind(("", port))
            one.connect(self._where)
            return one
        return netns_http.made_in(self._namespace, make)

    def keep(self, ports):
        """Opens one connection from each port; returns the result of faults()."""
        for port in ports:
            self.kept[port] = self._connect(port)
        return self.faults()

    def end(self):
        """Closes all open connections on both sides."""
        for one in self.kept.values():
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
                while one.recv(100):
                    pass
        self.close()

    def faults(self):
        """Port → error of the open connections that do not answer a new request."""
        wrong = {}
        for port, one in self.kept.items():
            try:
                _ask(one)
            except OSError as error:
                wrong[port] = str(error)
        return wrong

    def close(self):
        for one in self.kept.values():
            one.close()
        self.kept = {}


def _ask(one):
    one.settimeout(pace.stretched(2))
    one.sendall(b"?\n")
    if not one.recv(100):
        raise OSError("closed by the other side")
