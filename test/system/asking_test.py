#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What Trial.expect_one (lib/cases.py) tolerates on a full machine: an answer may be late, none may be lost.

    asking_test.py NETECHO

TAP; no privileges: servers of this process on the loopback address.
"""

import contextlib
import socket
import subprocess
import sys
import threading
import time
import types

from lib import addresses as a, pace
from lib.cases import Trial
from lib.outcomes import kept

IP = a.LOOPBACK[a.V4]
LATE = 1.4 * pace.SLOWNESS  # seconds: longer than the SYN retransmission timeout, shorter than the patience
KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


class Topology:
    def __init__(self, netecho):
        self.netecho = netecho

    def run(self, _place, *words, timeout):
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=timeout)


def greeting(peer):
    return f"{a.E1.name} {peer[0]} {peer[1]} {IP} 1\n".encode()


@contextlib.contextmanager
def server(protocol, serve, backlog=8):
    """A port at which serve(socket) runs in a thread until the socket is closed."""
    with socket.socket(socket.AF_INET, KINDS[protocol]) as one:
        one.bind((IP, 0))
        if protocol == "tcp":
            one.listen(backlog)
        one.settimeout(0.2)
        end = threading.Event()

        def work():
            while not end.is_set():
                with contextlib.suppress(TimeoutError):
                    serve(one)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield one.getsockname()[1]
        finally:
            end.set()
            thread.join()


def accepts(*pauses):
    """Sends a greeting after these pauses, the last one for all later connections; None: never."""
    left, silent = list(pauses), []

    def serve(one):
        stream, peer = one.accept()
        pause = left.pop(0) if len(left) > 1 else left[0]
        if pause is None:
            silent.append(stream)
            return
        time.sleep(pause)  # fixed time: how late the answer is
        with stream:
            stream.sendall(greeting(peer))

    return serve


def receives(*pauses):
    left = list(pauses)

    def serve(one):
        _, peer = one.recvfrom(100)
        pause = left.pop(0) if len(left) > 1 else left[0]
        if pause is not None:
            time.sleep(pause)  # fixed time: how late the answer is
            one.sendto(greeting(peer), peer)

    return serve


def problems(netecho, protocol, serve, questions):
    bench = types.SimpleNamespace(topology=Topology(netecho), profile=types.SimpleNamespace(relays=False))
    trial = Trial(bench, "asking", a.V4, protocol)
    with server(protocol, serve) as port:
        trial.expect_one(a.NODE, types.SimpleNamespace(protocol=protocol, ip=IP, port=port), kept(a.E1), questions)
    return trial.problems


def overflows():
    """The number of SYNs so far that met a full queue."""
    with open("/proc/net/netstat", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("ListenOverflows")])


def lost_syn(netecho):
    """The first SYN meets a full queue; its retransmission does not."""
    begun, before = threading.Event(), overflows()

    def serve(one):
        begun.wait()
        pace.wait_until(lambda: overflows() > before, 10)
        accepts(0)(one)

    bench = types.SimpleNamespace(topology=Topology(netecho), profile=types.SimpleNamespace(relays=False))
    trial = Trial(bench, "asking", a.V4, "tcp")
    with server("tcp", serve, backlog=0) as port, socket.create_connection((IP, port)):
        begun.set()
        trial.expect_one(a.NODE, types.SimpleNamespace(protocol="tcp", ip=IP, port=port), kept(a.E1), questions=1)
    return trial.problems


def main():
    netecho = sys.argv[1]
    checks = [("tcp: answers at once", False, lambda: problems(netecho, "tcp", accepts(0), 3)),
              ("tcp: a late answer is waited for", False, lambda: problems(netecho, "tcp", accepts(LATE, 0), 2)),
              ("tcp: no answer is a failure", True, lambda: problems(netecho, "tcp", accepts(0, None), 2)),
              ("tcp: a lost SYN is a failure, though the kernel sends it again in time", True, lambda: lost_syn(netecho)),
              ("udp: a late answer is waited for", False, lambda: problems(netecho, "udp", receives(LATE, 0), 2)),
              ("udp: one lost answer of three is a failure", True, lambda: problems(netecho, "udp", receives(0, None, 0), 3))]
    failed = 0
    for number, (title, fails, check) in enumerate(checks, 1):
        found = check()
        wrong = bool(found) != fails or any("saw 'timeout'" not in one for one in found[:1])
        failed += wrong
        print(f"{'not ok' if wrong else 'ok'} {number} - {title}" + (f"\n#   {found or 'no failure is reported'}" if wrong else ""), flush=True)
    print(f"1..{len(checks)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
