# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets of this process in the namespaces of the test network, for cases that check half-close, resets and datagrams
step by step. All are closed at the end of the case."""

import socket
import threading
import time

from . import addresses as a
from . import netns_http, objects, pace, probe

PATIENCE = 8  # seconds, stretched at each wait
FIRST_PORT = 14000  # and the next 2,767, none of which a daemon of the tests listens at, as it does at 10249, 10256 and 12001
END, RESET, SILENCE = "end", "reset", "silence"
_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


def connect(t, sender, front, patience=None, port=0):
    """A socket of that sender, connected to the front from that source port."""
    source = probe.source_ip(sender, front.ip, t.family)

    def make():
        made = _socket(t, front.protocol)
        made.settimeout(patience or pace.stretched(PATIENCE))
        if port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((source, port))
        made.connect((front.ip, front.port))
        return made

    return _kept(t, netns_http.made_in(t.topology.namespace(sender.place), make))


def bind(t, host, port, protocol, ip=""):
    """A socket that is bound to that port; raises OSError if the port is in use."""
    def make():
        made = _socket(t, protocol)
        try:
            made.bind((ip, port))
        except OSError:
            made.close()
            raise
        return made

    return _kept(t, netns_http.made_in(t.topology.namespace(host.place), make))


def listen(t, host, protocol=None):
    """A server on an unused port in the namespace of that host: (socket, port)."""
    port = FIRST_PORT + t.bench.allocator.number()
    made = bind(t, host, port, protocol or t.protocol)
    made.settimeout(pace.stretched(PATIENCE))
    if (protocol or t.protocol) == "tcp":
        made.listen()
    return made, port


def served_at(t, *hosts, **wanted):
    """A Service with these hosts as endpoints, and a server of the case on each: (Service, servers)."""
    servers, number = [], 0
    for host in hosts:
        listener, number = listen(t, host) if not number else (at_port(t, host, number), number)
        servers.append(listener)
    service = t.service([objects.ready(host) for host in hosts], ports=[("p80", 80, number)], **wanted)
    return service, servers


def at_port(t, host, number):
    """Like `listen`, on that port."""
    made = bind(t, host, number, t.protocol)
    made.settimeout(pace.stretched(PATIENCE))
    if t.protocol == "tcp":
        made.listen()
    return made


def conversation(t, service, server, sender=a.POD):
    """An open connection through the Service: (socket of the client, socket of the endpoint)."""
    client = connect(t, sender, service.cluster())
    return client, accept(t, server)


def accept(t, listener):
    listener.settimeout(pace.stretched(PATIENCE))
    conversation, _ = listener.accept()
    conversation.settimeout(pace.stretched(PATIENCE))
    return _kept(t, conversation)


def receive(one, patience=None):
    """The next data, or END, RESET, SILENCE."""
    one.settimeout(patience or pace.stretched(PATIENCE))
    try:
        return one.recv(1 << 16) or END
    except ConnectionError:
        return RESET
    except TimeoutError:
        return SILENCE


def receive_all(one):
    """All data until the connection ends, and how it ended."""
    everything = b""
    while isinstance(part := receive(one), bytes):
        everything += part
    return everything, part


def send_in_background(one, data, last):
    """Sends all data in a thread while the peer reads, and then calls `last`."""
    def work():
        one.sendall(data)
        last()

    threading.Thread(target=work, daemon=True).start()


def is_connected(one, other, patience=None):
    """Whether data still arrives in both directions between two sockets."""
    try:
        one.sendall(b"there")
        if receive(other, patience) != b"there":
            return False
        other.sendall(b"back")
    except OSError:
        return False
    return receive(one, patience) == b"back"


def are_served(t, clients, listener):
    """Whether the server accepts a connection from each of these clients, in any order, and data arrives in both directions."""
    for number, client in enumerate(clients):
        client.sendall(str(number).encode())
    served = set()
    for _ in clients:
        endpoint = accept(t, listener)
        data = receive(endpoint)
        if not isinstance(data, bytes):
            return False
        endpoint.sendall(data)
        number = int(data)
        if receive(clients[number]) != data:
            return False
        served.add(number)
    return len(served) == len(clients)


def seconds_until_over(one, patience=None):
    """The time until the connection ends, and how it ended."""
    began = time.monotonic()
    last = receive(one, patience or pace.stretched(20))
    return time.monotonic() - began, last


def _socket(t, protocol):
    made = socket.socket(socket.AF_INET if t.family == a.V4 else socket.AF_INET6, _KINDS[protocol])
    if t.family == a.V6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return made


def _kept(t, made):
    t.defer(made.close)
    return made
