# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy in a network namespace. It supports only CONNECT and connects every tunnel to one address."""

import base64
import socket
import threading

from . import netns_http


class ConnectProxy:
    """Serves until `close`. `requested` lists the destinations that clients requested."""

    def __init__(self, namespace, address, target, user_info=None):
        self._namespace = namespace
        self._target = target
        self._wanted = user_info and "Basic " + base64.b64encode(user_info.encode()).decode()
        self._listener = netns_http.made_in(namespace, lambda: socket.create_server((address, 0)))
        self.port = self._listener.getsockname()[1]
        self._open = []
        self.requested = []
        self.refused = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            # close() alone does not wake the thread in accept(), and the socket would continue to listen.
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The socket is closed already.
            pass
        self._listener.close()
        for one in self._open:
            one.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(4096)
                if not piece:
                    return
                head += piece
            lines = head.decode("latin-1").split("\r\n")
            headers = {name.strip().lower(): value.strip()
                       for name, _, value in (line.partition(":") for line in lines[1:] if line)}
            if self._wanted and headers.get("proxy-authorization") != self._wanted:
                self.refused += 1
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            self.requested.append(lines[0].split(" ")[1])
            server = netns_http.connect_in(self._namespace, self._target)
            server.settimeout(None)
            self._open.append(server)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
        except OSError:
            # One side has closed its connection, which ends the tunnel.
            pass
        finally:
            client.close()


def _copy(source, destination):
    try:
        while piece := source.recv(65536):
            destination.sendall(piece)
        destination.shutdown(socket.SHUT_RDWR)
    except OSError:
        # One side has closed its connection.
        pass
