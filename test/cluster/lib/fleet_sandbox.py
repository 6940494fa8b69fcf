# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Namespaces of this program, so that the kernel removes everything when it ends or is killed."""

import ctypes
import os
import signal
import sys
from pathlib import Path

from . import shell

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
WORK = Path("/mnt")  # hidden by a tmpfs inside the namespaces
_libc = ctypes.CDLL(None, use_errno=True)


def enter(size="4g"):
    """Continues in a child that is process 1 of new PID, mount and network namespaces; returns the work folder.

    The calling process waits for the child, forwards SIGTERM and SIGINT as SIGKILL, and exits with its status.
    """
    if _libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    child = os.fork()
    if child:
        _wait(child)
    die_with_parent()
    shell.run(["mount", "--make-rprivate", "/"])
    shell.run(["mount", "-t", "proc", "proc", "/proc"])
    Path("/run/netns").mkdir(exist_ok=True)
    shell.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"])
    shell.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(WORK)])
    return WORK


def die_with_parent():
    """The kernel ends this process when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(child):
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    sys.stdout.flush()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
