# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Forwards TCP connections, and keeps new ones open while the server restarts, as the load balancer of a control plane does.

Usage: holding_proxy.py PORT ADDRESS SERVER_PORT; it listens on 127.0.0.1.
"""

import socket
import sys
import threading
import time

RETRY_SECONDS = 0.1
HOLD_SECONDS = 60
CHUNK = 65536


def connect(server):
    """A connection to the server, or None if it does not come back."""
    until = time.monotonic() + HOLD_SECONDS
    while time.monotonic() < until:
        try:
            return socket.create_connection(server, 5)
        except OSError:
            time.sleep(RETRY_SECONDS)  # poll interval
    return None


def copy(source, target):
    """Copies until one side ends; closes both directions, so the client notices that the server has gone."""
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, server):
    with client:
        connection = connect(server)
        if connection:
            with connection:
                connection.settimeout(None)
                back = threading.Thread(target=copy, args=(connection, client), daemon=True)
                back.start()
                copy(client, connection)
                back.join()


def main():
    port, address, server_port = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=128)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, (address, int(server_port))), daemon=True).start()


if __name__ == "__main__":
    main()
