#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests which responses lib/observed.py accepts, with servers of this process on the loopback address. TAP; no privileges."""

import contextlib
import socket
import sys
import threading

from lib import addresses as a, observed, pace
from lib.observed import NO_ANSWER, Answer

IP = a.LOOPBACK[a.V4]
SHORT = 0.5  # seconds: less than SLOW takes
CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
RESPONSES = [
    ("a length", "HTTP/1.1 200 OK\r\nA-b: C: d\r\nContent-Length: 2\r\n\r\nok", Answer(200, {"a-b": "C: d", "content-length": "2"}, "ok")),
    ("the end of the connection ends the body", "HTTP/1.0 503 No\r\n\r\nbody", Answer(503, {}, "body")),
    ("chunks", f"{CHUNKED}2\r\nok\r\n0\r\n\r\n", Answer(200, {"transfer-encoding": "chunked"}, "ok")),
    ("a redirect is not followed", "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", Answer(302, {"location": "/"}, "")),
    ("nothing", "", NO_ANSWER),
    ("half of the headers", "HTTP/1.1 200 OK\r\nContent-Le", NO_ANSWER),
    ("half of the body", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok", NO_ANSWER),
    ("half of a chunk", f"{CHUNKED}4\r\nok", NO_ANSWER),
    ("no last chunk", f"{CHUNKED}2\r\nok\r\n", NO_ANSWER),
    ("an invalid chunk", f"{CHUNKED}z\r\nok\r\n0\r\n\r\n", NO_ANSWER),
    ("an invalid length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", NO_ANSWER),
    ("an invalid header", "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\nok", NO_ANSWER),
    ("an invalid status", "HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nok", NO_ANSWER),
    ("no HTTP", "ok\n", NO_ANSWER),
]
SLOW = ["HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", *("x" * 20)]


@contextlib.contextmanager
def server(parts, pause=0.0):
    """The URL of a server that answers one request with these parts and a pause after each, and the lines that it received."""
    received = []
    with socket.create_server((IP, 0)) as one:
        end = threading.Event()

        def work():
            with contextlib.suppress(OSError), one.accept()[0] as connection, connection.makefile("r", newline="\r\n") as file:
                received.extend(line.strip() for line in iter(file.readline, "\r\n"))
                received.append(file.read(1 if "Content-Length: 1" in received else 0))
                for part in parts:
                    connection.sendall(part.encode())
                    if end.wait(pause):
                        break

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield observed.url(IP, one.getsockname()[1], "/a?b=c"), received
        finally:
            end.set()
            thread.join()


def response(text):
    with server([text]) as (url, _):
        return observed.exchange(url, limit=pace.stretched(10))


def in_time(parts):
    """Each part arrives soon after the one before, but all of them take longer than the limit."""
    with server(parts, pause=SHORT / 5) as (url, _):
        return observed.exchange(url, limit=SHORT)


def closed():
    with socket.create_server((IP, 0)) as one:
        port = one.getsockname()[1]
    return observed.exchange(observed.url(IP, port, "/"))


def request(*words):
    with server([RESPONSES[0][1]]) as (url, received):
        observed.exchange(url, *words, limit=pace.stretched(10))
    return [line for line in received if not line.startswith("Host: ")]


def main():
    checks = [(title, lambda text=text: response(text), wanted) for title, text, wanted in RESPONSES]
    checks += [("a closed port", closed, NO_ANSWER), ("too slow in total", lambda: in_time(SLOW), NO_ANSWER),
               ("a plain request", request, ["GET /a?b=c HTTP/1.1", "Accept: */*", ""]),
               ("a request with all parts", lambda: request("PUT", {"Accept": "a/b"}, "4"),
                ["PUT /a?b=c HTTP/1.1", "Accept: a/b", "Content-Length: 1", "4"])]
    failed = 0
    for number, (title, check, wanted) in enumerate(checks, 1):
        found = check()
        wrong = found != wanted
        failed += wrong
        print(f"{'not ok' if wrong else 'ok'} {number} - {title}" + (f"\n#   {found} instead of {wanted}" if wrong else ""), flush=True)
    print(f"1..{len(checks)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
