#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Thousands of TCP clients that send nothing or half a request, or never read the response.

It is a separate program because of the limit of open files: `idle_clients.py KIND COUNT ADDRESS PORT`. It prints
"there" and the number of established connections, and keeps them open until its standard input ends.
"""

import resource
import socket
import sys

import pace

REQUESTS = {
    "silent": b"",
    "half": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ",
    "oversized": b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * 20_000,
    "malformed": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "unread": b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 8,
}


def main():
    kind, count, address, port = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    wanted = count + 100
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kept, refused = [], 0
    for _ in range(count):
        client = socket.socket(family, socket.SOCK_STREAM)
        if kind == "unread":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(pace.stretched(10))
        try:
            client.connect((address, port))
            client.sendall(REQUESTS[kind])
        except OSError:
            refused += 1
        kept.append(client)
    print("there", count - refused, flush=True)
    sys.stdin.read()


main()
