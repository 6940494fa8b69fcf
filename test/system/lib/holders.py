# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptor holders that daemons have started, and a stand-in for one of another protocol version."""

import array
import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import threading

from . import pace

HEADER = struct.Struct("=IHHI")  # size, version, type, number; see core/lifecycle/holder_message.hpp
HELLO, GIVE, DESCRIPTOR, DONE, END = range(1, 6)
LARGEST = 1024


def path(state_dir):
    return os.path.join(state_dir, "holder.sock")


def running(state_dir):
    """The processes that hold descriptors for this state directory."""
    return [int(one) for one in os.listdir("/proc") if one.isdigit() and path(state_dir) in _words(one)]


def is_unlocked(state_dir):
    """Whether no daemon uses the state directory."""
    with open(os.path.join(state_dir, "lock"), "r+b") as file, contextlib.suppress(BlockingIOError, PermissionError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def is_running(process):
    return "--descriptor-holder" in _words(process)


def connected(daemon):
    """The holder that the status of the daemon names, or None."""
    return _kept(daemon).get("holder")


def wait_one(t, daemon):
    """The process of the only holder of this daemon."""
    t.wait_until(lambda: connected(daemon) and running(daemon.state_dir) == [connected(daemon)], "one descriptor holder runs")
    return connected(daemon)


def wait_stored(t, daemon):
    """Returns once the holder has everything."""
    def stored():
        kept = _kept(daemon)
        return kept.get("count") and kept.get("pending") == 0 and kept.get("store") == "descriptor holder"

    t.wait_until(stored, "all sockets are stored")


def wait_none(t, daemon, occasion, process=None):
    """`process` is a holder that ran before. The daemon need not run."""
    left = lambda: [*running(daemon.state_dir), *([process] if process and is_running(process) else [])]  # noqa: E731
    pace.wait_until(lambda: not left(), 20)
    t.require(not left(), f"descriptor holders run {occasion}: {left()}")


def kill(t, process):
    """Returns once the holder has ended and its sockets are closed. Before that, /proc shows no command line any more."""
    with open(os.pidfd_open(process), closefd=True) as ended:
        os.kill(process, signal.SIGKILL)
        t.require(select.select([ended], [], [], pace.stretched(20))[0], f"the descriptor holder {process} has not ended")


def properties(process):
    """Fields of /proc about this process; `open` lists the kinds of its open files."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        fields = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    with open(f"/proc/{process}/smaps_rollup", encoding="utf-8") as file:
        memory = {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
    links = [os.readlink(f"/proc/{process}/fd/{one}") for one in os.listdir(f"/proc/{process}/fd")]
    return {"session": os.getsid(process), "group": os.getpgid(process), "NoNewPrivs": int(fields["NoNewPrivs"]),
            "CapEff": int(fields["CapEff"], 16), "CapPrm": int(fields["CapPrm"], 16), "VmRSS": int(fields["VmRSS"].split()[0]),
            "private": memory["Private_Dirty"] + memory["Private_Clean"],
            "open": sorted({one.split(":")[0].lstrip("/") if one.startswith(("socket", "/memfd")) else one for one in links})}


class Other:
    """A holder of another version: it has what no version changes, and ignores everything else."""

    def __init__(self, state_dir, version):
        self._path = path(state_dir)
        self._version = version
        self._held = []  # (name, descriptor)
        self._thread = None
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._thread and not self.ended:
            with contextlib.suppress(OSError), _client(self._path) as client:
                _send(client, END)
        if self._thread:
            self._thread.join(pace.stretched(10))

    def take_over(self):
        """Takes everything from the running holder, takes its place, and ends it."""
        with _client(self._path) as earlier:
            _send(earlier, HELLO, number=60000)
            _receive(earlier)
            _send(earlier, GIVE)
            while (message := _receive(earlier))[1] != DONE:
                self._held.append((message[3], message[4]))
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(self._path + ".other")
            listener.listen()
            os.rename(self._path + ".other", self._path)
            _send(earlier, END)
        self._thread = threading.Thread(target=self._serve, args=(listener,), daemon=True)
        self._thread.start()

    def _serve(self, listener):
        while not self.ended:
            client, _ = listener.accept()
            with client:
                while not self.ended and (message := _receive(client)) is not None:
                    self._handle(client, message[1])
        listener.close()
        for _, fd in self._held:
            os.close(fd)

    def _handle(self, client, kind):
        if kind == HELLO:
            _send(client, HELLO, number=len(self._held), version=self._version)
        elif kind == GIVE:
            for name, fd in self._held:
                _send(client, DESCRIPTOR, name, fd=fd)
            _send(client, DONE, number=len(self._held))
        elif kind == END:
            self.ended = True


def _client(where):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.settimeout(pace.stretched(10))
    made.connect(where)
    return made


def _send(to, kind, name=b"", number=0, version=1, fd=None):
    control = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    to.sendmsg([HEADER.pack(HEADER.size + len(name), version, kind, number) + name], control)


def _receive(client):
    """(version, kind, number, name, descriptor or None); None at the end of the connection."""
    data, control, _, _ = client.recvmsg(LARGEST, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None
    fds = array.array("i")
    for _, _, passed in control:
        fds.frombytes(passed)
    size, version, kind, number = HEADER.unpack_from(data)
    return version, kind, number, data[HEADER.size:size], fds[0] if fds else None


def _words(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def _kept(daemon):
    return (daemon.status() or {}).get("kept_sockets") or {}
