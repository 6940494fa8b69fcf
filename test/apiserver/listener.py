# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Accepts connections: TLS, its certificate, and faults before the first request."""

import asyncio
import socket
import ssl

from wire import Closed, Connection

MAX_HEADER = 64 * 1024
BACKLOG = 512


def tls_context(pki):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(pki.path("server.crt"), pki.path("server.key"))
    context.load_verify_locations(pki.path("ca.crt"))
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def open_sockets(host, port):
    """Opens a socket for each address of the host, all with the same port."""
    made = []
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if made:
            address = (address[0], made[0].getsockname()[1], *address[2:])
        sock.bind(address)
        sock.listen(BACKLOG)
        sock.setblocking(False)
        made.append(sock)
    return made


class Listener:
    """Hands every connection to the API server, unless a fault keeps it."""

    def __init__(self, api, sockets, pki):
        self.api = api
        self.sockets = sockets
        self.pki = pki
        self.context = tls_context(pki) if pki else None
        self.tasks = set()
        self.held = set()
        self.accepting = []

    def start(self):
        self.accepting = [asyncio.create_task(self.accept_all(sock)) for sock in self.sockets]

    @property
    def port(self):
        return self.sockets[0].getsockname()[1]

    def renew_certificate(self):
        """Loads the certificate in the folder, for new connections."""
        self.context = tls_context(self.pki)

    async def accept_all(self, listening):
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listening)
            except OSError:
                # The client has disconnected, or the process is briefly out of descriptors.
                await asyncio.sleep(0.01)  # poll interval
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = asyncio.create_task(self.handle(sock))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def handle(self, sock):
        fault = self.api.faults.take_connection()
        try:
            if fault is not None:
                await self.hold(sock, fault)
                return
            connection = await self.open(sock)
        except OSError:
            # The handshake failed, or the client disconnected while it was held.
            return
        try:
            await self.api.serve(connection)
        except (Closed, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            connection.abort()
        finally:
            await connection.close()

    async def hold(self, sock, fault):
        task = asyncio.create_task(fault.hold(sock))
        self.held.add(task)
        task.add_done_callback(self.held.discard)
        await asyncio.gather(task, return_exceptions=True)

    def release_held(self):
        """Closes the connections that faults keep from being served."""
        for task in self.held:
            task.cancel()

    async def open(self, sock):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_HEADER)
        transport, protocol = await loop.connect_accepted_socket(
            lambda: asyncio.StreamReaderProtocol(reader), sock, ssl=self.context)
        return Connection(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def stop(self):
        for task in self.accepting + list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.accepting, *self.tasks, return_exceptions=True)
        for sock in self.sockets:
            sock.close()
