# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A TCP reset that belongs to no connection, which conntrack classifies as INVALID."""

import secrets
import socket
import struct

from . import addresses as a
from . import netns_http, pace

RESET = 0x04
DESTINATION_PORT = 9  # no listener


def arrives(topology, sender, receiver, patience=1.0):
    """Whether a stray reset from one host reaches the other (IPv4)."""
    source_port = 20000 + secrets.randbelow(40000)
    listening = _raw(topology, receiver)
    sending = _raw(topology, sender)
    try:
        segment = _segment(sender.ip(a.V4), receiver.ip(a.V4), source_port)
        sending.bind((sender.ip(a.V4), 0))
        sending.sendto(segment, (receiver.ip(a.V4), 0))
        listening.setblocking(False)

        def received():
            try:
                while True:
                    packet = listening.recv(2048)
                    header = (packet[0] & 0x0F) * 4
                    if packet[header:header + 4] == segment[:4]:
                        return True
            except BlockingIOError:
                return False

        return pace.wait_until(received, patience)
    finally:
        listening.close()
        sending.close()


def _raw(topology, host):
    return netns_http.made_in(topology.namespace(host.place),
                              lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))


def _segment(source, destination, source_port):
    made = struct.pack("!HHIIBBHHH", source_port, DESTINATION_PORT, 1, 0, 5 << 4, RESET, 0, 0, 0)
    pseudo = socket.inet_aton(source) + socket.inet_aton(destination) + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(made))
    # A wrong checksum alone would make the segment INVALID.
    return made[:16] + struct.pack("!H", _checksum(pseudo + made)) + made[18:]


def _checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
