# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens many new UDP flows fast and prints the server of each: flow_client.py IP PORT. Standard input has lines `SOURCE PORT`;
standard output has the address of the server, or `-`, for each line in the same order. Runs in the namespace of the client;
every source is a local address of it, or routed to it."""

import select
import socket
import sys
import time

AT_ONCE = 100  # requests that fit into the receive buffer of the server
PATIENCE = 1.0  # seconds to wait for the answers to a batch before requests are repeated on the same flows
TIMES = 60
FREEBIND_V4, FREEBIND_V6 = (socket.IPPROTO_IP, 15), (socket.IPPROTO_IPV6, 78)


def send_request(family, source, port, to):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # IPv6 needs FREEBIND for an address that is only routed to this namespace.
    one.setsockopt(*(FREEBIND_V6 if family == socket.AF_INET6 else FREEBIND_V4), 1)
    one.bind((source, port))
    one.connect(to)
    one.send(b"?")
    return one


def answers(sockets):
    """The address of the server for each socket."""
    found = ["-"] * len(sockets)
    places = {one.fileno(): at for at, one in enumerate(sockets)}
    for _ in range(TIMES):
        poll = select.poll()
        for number in places:
            poll.register(number, select.POLLIN)
        deadline = time.monotonic() + PATIENCE
        while places and (left := deadline - time.monotonic()) > 0:
            for number, _ in poll.poll(left * 1000):
                poll.unregister(number)
                at = places.pop(number)
                try:
                    # NAME PEER-IP PEER-PORT LOCAL-IP LOCAL-PORT
                    found[at] = sockets[at].recv(500).split()[3].decode()
                except OSError:  # refused
                    pass
        if not places:
            break
        for at in places.values():
            sockets[at].send(b"?")
    return found


def main():
    to = (sys.argv[1], int(sys.argv[2]))
    family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
    wanted = [(words[0], int(words[1])) for words in map(str.split, sys.stdin)]
    for at in range(0, len(wanted), AT_ONCE):
        sockets = [send_request(family, source, port, to) for source, port in wanted[at:at + AT_ONCE]]
        sys.stdout.write("".join(f"{server}\n" for server in answers(sockets)))
        for one in sockets:
            one.close()


if __name__ == "__main__":
    main()
