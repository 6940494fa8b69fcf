# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Attempts of the members to connect, as the bridge sees them, also while no server answers."""

import socket
import struct
import threading
import time

from .fleet_network import BRIDGE, PORT

ETH_P_ALL, ETH_P_IP, TCP, SYN, ACK = 0x0003, 0x0800, 6, 0x02, 0x10


class Attempts:
    """A context that records (seconds since its start, address of the member) of each SYN to the API server."""

    def __init__(self):
        self.seen = []
        self._begun, self._ended = time.monotonic(), threading.Event()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.bind((BRIDGE, 0))
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._record, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _record(self):
        while not self._ended.is_set():
            try:
                frame = self._socket.recv(128)
            except TimeoutError:
                continue
            source = _attempt(frame)
            if source:
                self.seen.append((time.monotonic() - self._begun, source))


def _attempt(frame):
    """The source address of a SYN to the API server, or None."""
    if len(frame) < 54 or struct.unpack_from("!H", frame, 12)[0] != ETH_P_IP or frame[23] != TCP:
        return None
    header = 14 + (frame[14] & 15) * 4
    port, flags = struct.unpack_from("!H", frame, header + 2)[0], frame[header + 13]
    return socket.inet_ntoa(frame[26:30]) if port == PORT and flags & SYN and not flags & ACK else None


def busiest(seen, window):
    """The highest number of members that try within that many seconds."""
    seen = sorted(seen)
    most = first = 0
    for last, (at, _) in enumerate(seen):
        while at - seen[first][0] >= window:
            first += 1
        most = max(most, len({ip for _, ip in seen[first:last + 1]}))
    return most
