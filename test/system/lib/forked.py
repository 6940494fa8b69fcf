# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""API servers that one process forks (test/apiserver/forks.py), with the methods of subprocess.Popen that the tests use."""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading

from . import shell

_lock = threading.Lock()
_forker = []  # the process, once it has started


class Server:
    """A running API server. Its exit status is unknown, because it is a child of another process."""

    def __init__(self, program, namespace, log, arguments):
        request = {"namespace": os.path.join("/run/netns", namespace), "log": log, "arguments": arguments}
        with _lock:
            if not _forker:
                _forker.append(shell.start([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                atexit.register(_forker[0].communicate)  # it exits at the end of its input
            print(json.dumps(request), file=_forker[0].stdin, flush=True)
            # It does not reap the server before the next request, so nothing else has its process ID.
            self._file = os.pidfd_open(int(_forker[0].stdout.readline()))

    def __del__(self):
        os.close(self._file)

    def poll(self):
        """None while the process is running."""
        return self._ended(0)

    def wait(self):
        return self._ended(None)

    def terminate(self):
        self._signal(signal.SIGTERM)

    def kill(self):
        self._signal(signal.SIGKILL)

    def _signal(self, number):
        try:
            signal.pidfd_send_signal(self._file, number)
        except ProcessLookupError:
            pass  # it has ended

    def _ended(self, milliseconds):
        readable = select.poll()
        readable.register(self._file, select.POLLIN)
        return 0 if readable.poll(milliseconds) else None
