# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes many new flows of UDP fast, and says who answered each: flow_client.py IP PORT, then on the standard input one `SOURCE PORT`
a line; on the standard output a line for each in the same order: the address of the server, or `-`. Started in the namespace of
the client; every source is an address of it, or routed to it as one."""

import select
import socket
import sys
import time

AT_ONCE = 100  # so many fit into the server's buffer
PATIENCE = 1.0  # for the answers to those that were sent together; then they are asked again, which is no new flow
TIMES = 60
FREEBIND_V4, FREEBIND_V6 = (socket.IPPROTO_IP, 15), (socket.IPPROTO_IPV6, 78)


def asks(family, source, port, to):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # An address that is only routed here: IPv6 asks for that.
    one.setsockopt(*(FREEBIND_V6 if family == socket.AF_INET6 else FREEBIND_V4), 1)
    one.bind((source, port))
    one.connect(to)
    one.send(b"?")
    return one


def answers(sockets):
    """The server's address for each of them."""
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
        sockets = [asks(family, source, port, to) for source, port in wanted[at:at + AT_ONCE]]
        sys.stdout.write("".join(f"{server}\n" for server in answers(sockets)))
        for one in sockets:
            one.close()


if __name__ == "__main__":
    main()
