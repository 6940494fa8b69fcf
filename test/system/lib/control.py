# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client of the control socket of the daemon. Tests read the status thousands of times; a sluicectl process for each read,
possibly with a sanitizer, would take most of their time."""

import json
import os
import socket

from . import pace

PATIENCE = 10  # seconds


def ask(state_dir, command, **members):
    """The result of that command, or None if the daemon does not answer or returns an error. `members`: of the request."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asking:
        asking.settimeout(pace.stretched(PATIENCE))
        try:
            asking.connect(os.path.join(state_dir, "control.sock"))
            asking.sendall(json.dumps({"command": command, **members}).encode() + b"\n")
            answer = bytearray()
            while not answer.endswith(b"\n"):
                piece = asking.recv(65536)
                if not piece:
                    return None
                answer += piece
        except OSError:
            return None
    return json.loads(answer).get("result")
