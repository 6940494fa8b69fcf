#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Forks API servers on request: imports are most of the CPU time of a start.

Each line of standard input is a JSON object with the path of a network namespace, that of a log file and the arguments of
apiserver.py. The answer is a line with the process ID. The program exits at the end of its input; its servers keep running.
"""

import ctypes
import json
import os
import sys

import apiserver

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def serve(namespace, log, arguments):
    """The exit status of a server in that namespace, whose output goes to the log file."""
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(file, number)
    if _libc.setns(os.open(namespace, os.O_RDONLY), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns", namespace)
    return apiserver.main(arguments)


def reap(servers):
    """Reaps those that have ended, so that their CPU time counts as that of children."""
    for pid in [*servers]:
        if os.waitpid(pid, os.WNOHANG)[0]:
            servers.remove(pid)


def main():
    servers = []
    for line in sys.stdin:
        reap(servers)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = serve(**json.loads(line))
            finally:
                sys.stderr.flush()
                os._exit(status)
        servers.append(pid)
        print(pid, flush=True)
    reap(servers)


if __name__ == "__main__":
    main()
