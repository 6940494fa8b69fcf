# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts processes in namespaces. The started process is a child of this one, so its id and signals are the real ones."""

import ctypes
import os
import subprocess

from . import netns_http

MS_REC, MS_PRIVATE = 0x4000, 0x40000
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x04000000, 0x20000000, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _enter(path, kind):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.setns(descriptor, kind), path)
    finally:
        os.close(descriptor)


def _popen(argv, in_thread, in_child, options):
    """Starts a program. A thread of its own enters the PID namespace, because that applies to later children of the thread."""
    return netns_http.made_in_thread(in_thread, lambda: subprocess.Popen(
        argv, preexec_fn=in_child, start_new_session=True, **{"stdin": subprocess.DEVNULL, **options}))


def start_first(argv, network, **options):
    """Starts process 1 of new PID, mount and UTS namespaces in the network namespace at that path.

    When it ends, the kernel ends all processes of the PID namespace, and removes the mounts.
    """
    def in_child():
        _enter(network, CLONE_NEWNET)
        _checked(_libc.unshare(CLONE_NEWNS | CLONE_NEWUTS), "unshare")
        _checked(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
        _checked(_libc.mount(b"proc", b"/proc", b"proc", 0, None), "/proc")

    return _popen(argv, lambda: _checked(_libc.unshare(CLONE_NEWPID), "unshare"), in_child, options)


def start_beside(pid, argv, **options):
    """Starts a program in the network, mount, UTS and PID namespaces of that process."""
    def in_child():
        folder = f"/proc/{pid}/ns"
        _enter(f"{folder}/net", CLONE_NEWNET)
        _enter(f"{folder}/uts", CLONE_NEWUTS)
        _enter(f"{folder}/mnt", CLONE_NEWNS)

    return _popen(argv, lambda: _enter(f"/proc/{pid}/ns/pid", CLONE_NEWPID), in_child, options)
