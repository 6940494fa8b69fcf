# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations step by step, for cases about single ends, resets and datagrams: sockets of this process, made in
the namespaces of the test network. All are closed when the case is over."""

import socket
import threading
import time

from . import addresses as a
from . import netns_http, objects, pace, probe

PATIENCE = 8  # seconds, stretched at each wait
FIRST_PORT = 10000
END, RESET, SILENCE = "end", "reset", "silence"
_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


def connect(t, sender, front, patience=None, port=0):
    """A socket of that sender, connected to the front; from that port of its own."""
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
    """A socket bound there; OSError when somebody has the port."""
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
    """A server on a port of its own in the namespace of that host: the socket, and the port."""
    port = FIRST_PORT + t.bench.allocator.number()
    made = bind(t, host, port, protocol or t.protocol)
    made.settimeout(pace.stretched(PATIENCE))
    if (protocol or t.protocol) == "tcp":
        made.listen()
    return made, port


def served_at(t, *hosts, **wanted):
    """A Service whose endpoints are these hosts, each with a server of the case's own: it, and the server of each."""
    servers, number = [], 0
    for host in hosts:
        listener, number = listen(t, host) if not number else (at_port(t, host, number), number)
        servers.append(listener)
    service = t.service([objects.ready(host) for host in hosts], ports=[("p80", 80, number)], **wanted)
    return service, servers


def at_port(t, host, number):
    """As `listen`, on that port."""
    made = bind(t, host, number, t.protocol)
    made.settimeout(pace.stretched(PATIENCE))
    if t.protocol == "tcp":
        made.listen()
    return made


def conversation(t, service, server, sender=a.POD):
    """An open connection through the Service: the client's end and the endpoint's."""
    client = connect(t, sender, service.cluster())
    return client, accept(t, server)


def accept(t, listener):
    listener.settimeout(pace.stretched(PATIENCE))
    conversation, _ = listener.accept()
    conversation.settimeout(pace.stretched(PATIENCE))
    return _kept(t, conversation)


def said(one, patience=None):
    """What comes next: bytes, or END, RESET, SILENCE."""
    one.settimeout(patience or pace.stretched(PATIENCE))
    try:
        return one.recv(1 << 16) or END
    except ConnectionError:
        return RESET
    except TimeoutError:
        return SILENCE


def said_in_all(one):
    """Everything up to the end, and which end it was."""
    everything = b""
    while isinstance(part := said(one), bytes):
        everything += part
    return everything, part


def say(one, data, last):
    """Says all of it while the other end listens, and then does what is last."""
    def work():
        one.sendall(data)
        last()

    threading.Thread(target=work, daemon=True).start()


def answers(one, other, patience=None):
    """Whether two ends still hear each other, both ways."""
    try:
        one.sendall(b"there")
        if said(other, patience) != b"there":
            return False
        other.sendall(b"back")
    except OSError:
        return False
    return said(one, patience) == b"back"


def seconds_until_over(one, patience=None):
    """How long it takes until the connection is over, and how it ended."""
    began = time.monotonic()
    last = said(one, patience or pace.stretched(20))
    return time.monotonic() - began, last


def _socket(t, protocol):
    made = socket.socket(socket.AF_INET if t.family == a.V4 else socket.AF_INET6, _KINDS[protocol])
    if t.family == a.V6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return made


def _kept(t, made):
    t.defer(made.close)
    return made
