# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client that uses source ports again: for connections that end, and later the same ones for others that it keeps."""

import contextlib
import socket

from . import netns_http, pace

TW_REUSE = "/proc/sys/net/ipv4/tcp_tw_reuse"
TW_REUSE_AFTER = 1.2  # seconds: the clock of TCP time stamps has to have moved by one


class Client:
    """At `sender`; its connections go to `front`, whose servers answer a line with one that begins with their name."""

    def __init__(self, t, sender, front):
        self._namespace = t.topology.namespace(sender.place)
        self._where = (front.ip, front.port)
        self.kept = {}  # port: connection
        # Or the client's own TIME_WAIT would hold each port for a minute.
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
        """One connection from each; what faults() says."""
        for port in ports:
            self.kept[port] = self._connect(port)
        return self.faults()

    def end(self):
        """Both sides end what is kept, unless it has ended already."""
        for one in self.kept.values():
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
                while one.recv(100):
                    pass
        self.close()

    def faults(self):
        """What is wrong with which of those that are kept, each asked once more."""
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
