# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Long-running clients in network namespaces (netecho ask-each). Starting a process takes longer than most requests."""

import os
import select
import subprocess
import threading
import time

from . import pace, shell


class Askers:
    """Sends requests from places. Threads that send from one place at the same time use different processes."""

    def __init__(self, start):
        """`start(place)` starts a process of netecho ask-each with pipes."""
        self._start = start
        self._lock = threading.Lock()
        self._idle = {}  # place → processes
        self._all = []

    def ask(self, place, words, seconds):
        """The result lines of `netecho ask` with these arguments; raises CommandFailed after `seconds`, stretched."""
        process = self._take(place)
        try:
            lines = _exchange(process, words, pace.stretched(seconds))
        except BaseException:
            process.kill()  # a late answer must not become that of the next request
            raise
        with self._lock:
            self._idle[place].append(process)
        return lines

    def end(self):
        """Ends all processes."""
        for process in self._all:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self._all.clear()
        self._idle.clear()

    def _take(self, place):
        with self._lock:
            idle = self._idle.setdefault(place, [])
            if idle:
                return idle.pop()
        process = self._start(place)
        with self._lock:
            self._all.append(process)
        return process


def start(netecho):
    return shell.start([netecho, "ask-each"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _exchange(process, words, seconds):
    request = " ".join(words)
    try:
        os.write(process.stdin.fileno(), (request + "\n").encode())
    except BrokenPipeError:
        raise shell.CommandFailed(f"netecho ask {request}: the client ended before, status {process.wait()}") from None
    deadline = time.monotonic() + seconds
    output = process.stdout.fileno()
    readable = select.poll()
    readable.register(output, select.POLLIN)
    data = b""
    while not data.endswith(b"\n\n") and data != b"\n":
        left = deadline - time.monotonic()
        if left <= 0:
            raise shell.CommandFailed(f"netecho ask {request}: no result within {seconds:.0f} s")
        if readable.poll(left * 1000):
            part = os.read(output, 1 << 16)
            if not part:
                raise shell.CommandFailed(f"netecho ask {request}: exit {process.wait()}")
            data += part
    return data.decode().splitlines()[:-1]
