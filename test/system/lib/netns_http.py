# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets and HTTP from this process into a network namespace.

A socket stays in the namespace of the thread that created it. So a short-lived thread enters the namespace and creates
the socket, and no process is needed per request.
"""

import ctypes
import http.client
import os
import socket
import threading

from . import pace

CLONE_NEWNET = 0x40000000
PATIENCE = 20  # seconds
_libc = ctypes.CDLL(None, use_errno=True)


def connect_in(namespace, address, timeout=None):
    """A connected TCP socket in that network namespace."""
    timeout = timeout or pace.stretched(PATIENCE)
    return made_in(namespace, lambda: socket.create_connection(address, timeout))


def enter(namespace):
    """Moves this thread to that network namespace: its name, or the path of a file such as /proc/PID/ns/net."""
    with open(os.path.join("/run/netns", namespace), "rb") as file:
        if _libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), namespace)


def made_in_thread(prepare, make):
    """The result of `make()` in a thread of its own, which `prepare()` puts into other namespaces."""
    result = []

    def work():
        try:
            prepare()
            result.append(make())
        except Exception as error:  # pylint: disable=broad-except  # raised again in the caller's thread
            result.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def made_in(namespace, make):
    """The result of the function in that network namespace: a socket, or a process."""
    return made_in_thread(lambda: enter(namespace), make)


class NamespaceConnection(http.client.HTTPConnection):
    """An HTTP(S) connection with a socket in a network namespace."""

    def __init__(self, namespace, host, port, tls=None):
        super().__init__(host, port, timeout=pace.stretched(PATIENCE))
        self._namespace = namespace
        self._tls = tls

    def connect(self):
        self.sock = connect_in(self._namespace, (self.host, self.port), self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self.host)
