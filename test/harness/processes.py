# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes, each in a process group of its own. Processes that lose their parent become children of this one, so
that none is left when it ends."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 30  # seconds from SIGTERM to SIGKILL
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked for the end of the run."""


class Processes:
    """Starts and ends children. One per program; use it as a context, which leaves no process behind."""

    def __init__(self):
        self._alive = set()
        self._interrupted = False
        self._wake, self._waker = os.pipe()
        for end in (self._wake, self._waker):
            os.set_blocking(end, False)

    def __enter__(self):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes wait()
        for number in SIGNALS:
            signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_):
        self.end_all()

    def _interrupt(self, *_):
        self._interrupted = True

    def start(self, command, out, err, environment=None, nice=0):
        """Starts it with output to these files; returns its process id, which is that of its group, too."""
        with open(out, "wb") as stdout, open(err, "wb") if err != out else open(os.devnull, "wb") as stderr:
            # pylint: disable=consider-using-with  # reap() waits for it
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                                     stderr=stderr if err != out else subprocess.STDOUT,
                                     env={**os.environ, **(environment or {})}, start_new_session=True)
        child.returncode = 0  # keeps Popen from waiting: wait4 also returns the processor time
        if nice:
            set_priority(child.pid, nice)
        self._alive.add(child.pid)
        return child.pid

    def wait(self, seconds):
        """Returns when a child may have ended or the time has passed; raises Interrupted after a signal."""
        select.select([self._wake], [], [], seconds)
        try:
            while os.read(self._wake, 4096):
                pass
        except BlockingIOError:
            pass
        if self._interrupted:
            raise Interrupted

    def reap(self):
        """Yields (process id, status as a shell reports it, seconds of processor time) of the children that have ended."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._alive:
                self._alive.remove(pid)
                send(pid, signal.SIGKILL)  # remaining processes in its group
                code = os.waitstatus_to_exitcode(status)
                yield pid, 128 - code if code < 0 else code, usage.ru_utime + usage.ru_stime

    def end_all(self):
        """Ends all children and their descendants: politely first, so that they clean up."""
        for pid in self._alive:
            send(pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self._alive and time.monotonic() < deadline:
            for _ in self.reap():
                pass
            select.select([self._wake], [], [], 0.05)
        for pid in self._alive:
            send(pid, signal.SIGKILL)
        while children():
            for pid in children():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for _ in self.reap():
                pass
            time.sleep(0.01)  # poll interval


def set_priority(leader, nice):
    """The priority of a session with one process group. Without the privilege for a negative value it stays the normal one."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, leader, nice)
    # With automatic groups (sched(7)) the kernel compares the values of processes within a session only.
    with contextlib.suppress(OSError), open(f"/proc/{leader}/autogroup", "w", encoding="ascii") as file:
        file.write(str(nice))


def send(group, number):
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def children():
    """Processes whose parent is this one; their own children become ours when they end."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parent = file.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == os.getpid():
            found.append(int(name))
    return found
