#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What Trial.expect_one (lib/cases.py) tolerates on a full machine: an answer may be late, none may be lost. And what clients that
answer many requests (lib/askers.py) do when one fails.

    asking_test.py NETECHO

TAP; no privileges: servers of this process on the loopback address.
"""

import contextlib
import socket
import sys
import threading
import time
import types

from lib import addresses as a, askers, pace, shell
from lib.cases import Trial
from lib.outcomes import kept

IP = a.LOOPBACK[a.V4]
LATE = 1.4 * pace.SLOWNESS  # seconds: longer than the SYN retransmission timeout, shorter than the patience
KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


class Topology:
    def __init__(self, netecho):
        self._askers = askers.Askers(lambda _place: askers.start(netecho))

    def ask(self, place, *words, timeout):
        return self._askers.ask(place, words, timeout)

    def remove(self):
        self._askers.end()


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


def problems(topology, protocol, serve, questions):
    bench = types.SimpleNamespace(topology=topology, profile=types.SimpleNamespace(relays=False))
    trial = Trial(bench, "asking", a.V4, protocol)
    with server(protocol, serve) as port:
        trial.expect_one(a.NODE, types.SimpleNamespace(protocol=protocol, ip=IP, port=port), kept(a.E1), questions)
    return trial.problems


def overflows():
    """The number of SYNs so far that met a full queue."""
    with open("/proc/net/netstat", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("ListenOverflows")])


def lost_syn(topology):
    """The first SYN meets a full queue; its retransmission does not."""
    begun, before = threading.Event(), overflows()

    def serve(one):
        begun.wait()
        pace.wait_until(lambda: overflows() > before, 10)
        accepts(0)(one)

    bench = types.SimpleNamespace(topology=topology, profile=types.SimpleNamespace(relays=False))
    trial = Trial(bench, "asking", a.V4, "tcp")
    with server("tcp", serve, backlog=0) as port, socket.create_connection((IP, port)):
        begun.set()
        trial.expect_one(a.NODE, types.SimpleNamespace(protocol="tcp", ip=IP, port=port), kept(a.E1), questions=1)
    return trial.problems


def raised(topology, *words, timeout=60):
    """The failure of a request without results."""
    try:
        return f"unexpected results: {topology.ask('a', *words, timeout=timeout)}"
    except shell.CommandFailed as error:
        return str(error)


def late_result(topology):
    """A request whose results come after the limit fails, and its results are not those of the next request."""
    found = []
    with server("tcp", accepts(None, 0)) as port:
        failure = raised(topology, "tcp", IP, str(port), "--timeout", "60000", timeout=0.01)
        if "no result within" not in failure:
            found.append(failure)
        lines = topology.ask("a", "tcp", IP, str(port), "--count", "2", timeout=20)
        if lines != [f"ok {a.E1.name} {IP}"] * 2:
            found.append(f"the next request: {lines}")
    return found


def no_request(topology):
    """A line that is not a request ends the client, and the next request has another one."""
    failure = raised(topology, "tcp", IP)
    found = [] if "exit 2" in failure else [failure]
    with server("tcp", accepts(0)) as port:
        lines = topology.ask("a", "tcp", IP, str(port), timeout=20)
    return found + ([] if lines == [f"ok {a.E1.name} {IP}"] else [f"the next request: {lines}"])


def main():
    topology = Topology(sys.argv[1])
    checks = [("tcp: answers at once", False, lambda: problems(topology, "tcp", accepts(0), 3)),
              ("tcp: a late answer is waited for", False, lambda: problems(topology, "tcp", accepts(LATE, 0), 2)),
              ("tcp: no answer is a failure", True, lambda: problems(topology, "tcp", accepts(0, None), 2)),
              ("tcp: a lost SYN is a failure, though the kernel sends it again in time", True, lambda: lost_syn(topology)),
              ("udp: a late answer is waited for", False, lambda: problems(topology, "udp", receives(LATE, 0), 2)),
              ("udp: one lost answer of three is a failure", True, lambda: problems(topology, "udp", receives(0, None, 0), 3)),
              ("clients: late results are not those of the next request", False, lambda: late_result(topology)),
              ("clients: what is no request is a failure, and the next one succeeds", False, lambda: no_request(topology))]
    failed = 0
    for number, (title, fails, check) in enumerate(checks, 1):
        found = check()
        wrong = bool(found) != fails or any("saw 'timeout'" not in one for one in found[:1])
        failed += wrong
        print(f"{'not ok' if wrong else 'ok'} {number} - {title}" + (f"\n#   {found or 'no failure is reported'}" if wrong else ""), flush=True)
    topology.remove()
    print(f"1..{len(checks)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
