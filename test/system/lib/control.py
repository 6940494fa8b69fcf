# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon's control socket, spoken to as sluicectl speaks to it. Tests look at the status thousands of times, and a program
that is started for each look, perhaps with a sanitizer, takes most of their time."""

import json
import os
import socket

PATIENCE = 10  # seconds


def ask(state_dir, command):
    """What the daemon answers to that command; None when nobody answers, or it refuses."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asking:
        asking.settimeout(PATIENCE)
        try:
            asking.connect(os.path.join(state_dir, "control.sock"))
            asking.sendall(json.dumps({"command": command}).encode() + b"\n")
            answer = bytearray()
            while not answer.endswith(b"\n"):
                piece = asking.recv(65536)
                if not piece:
                    return None
                answer += piece
        except OSError:
            return None
    return json.loads(answer).get("result")
