# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A service manager with a file descriptor store, like systemd 252 for a unit with Type=notify and NotifyAccess=main.

    with FdHolder(directory) as holder:
        process = holder.popen(["sluiced", …])   # like subprocess.Popen
        holder.wait_notified("READY=1")
        holder.kill()                            # kill -9; the store is kept
        process = holder.popen(["sluiced", …])   # receives the store, see sd_listen_fds(3)
        holder.names()

Stand-alone, with the behaviour of `Restart=always`: python3 -m lib.fd_holder COMMAND…
"""

import array
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

FIRST = 3  # SD_LISTEN_FDS_START
LONGEST_NAME = 255
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
AT_ONCE = 253  # SCM_MAX_FD


class FdHolder:
    """Owns the socket and the store. Methods may be called from any thread."""

    def __init__(self, directory, limit=16384):
        self.limit = limit  # FileDescriptorStoreMax=
        self.path = os.path.join(directory, "notify")
        self.process = None
        self.notifications = []  # all lines that do not concern descriptors, in order
        self.warnings = []  # invalid messages, which systemd ignores with or without a warning
        self._held = []  # [name, descriptor, watched], in order
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._paused = False
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(self.path)
        self._ended, self._end = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def popen(self, argv, env=None, **options):
        """Starts the main process and passes the stored descriptors, as systemd does after a crash or for a restart."""
        with self._lock:
            self._drop_dead()
            passed = [(name, os.dup(fd)) for name, fd, _ in self._held]
        launcher = [sys.executable, "-I", "-S", os.path.abspath(__file__), "--launch",
                    json.dumps([fd for _, fd in passed])]
        environment = dict(os.environ if env is None else env)
        for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
            environment.pop(name, None)
        environment["NOTIFY_SOCKET"] = self.path
        if passed:
            environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in passed)
        try:
            with self._lock:  # the process may send a message at once
                self.process = subprocess.Popen([*launcher, *argv], env=environment,
                                                pass_fds=[fd for _, fd in passed], **options)
        finally:
            for _, fd in passed:
                os.close(fd)
        return self.process

    def kill(self):
        """Sends SIGKILL. The store is kept, because the unit will be restarted."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.settle()

    def terminate(self, patience=30):
        """Sends SIGTERM and returns the exit status. The store is kept, as with `systemctl restart`."""
        self.process.terminate()
        status = self.process.wait(_stretched(patience))
        self.settle()
        return status

    def forget(self):
        """Clears the store, as `systemctl stop` does once the process has ended."""
        with self._lock:
            for _, fd, _ in self._held:
                os.close(fd)
            self._held.clear()

    def names(self):
        """The names of all stored descriptors in order, with duplicates."""
        with self._lock:
            return [name for name, _, _ in self._held]

    def fileno(self, name):
        """A descriptor that is stored as `name`; the store still owns it."""
        with self._lock:
            return next(fd for held, fd, _ in self._held if held == name)

    def wait_notified(self, line, seconds=30, after=0):
        """Waits for this line, ignoring the first `after` lines; returns False if the timeout expires."""
        return self._wait(lambda: line in self.notifications[after:], seconds)

    def wait_kept(self, count, seconds=30):
        """Waits until the store has that many descriptors; returns False if the timeout expires."""
        return self._wait(lambda: len(self._held) == count, seconds)

    def pause(self, paused=True):
        """Simulates a busy manager, which reads no messages until pause(False)."""
        with self._lock:
            self._paused = paused

    def settle(self):
        """Returns once all sent messages have been read."""
        while not self._paused and select.select([self._socket], [], [], 0)[0]:
            time.sleep(0.001)  # poll interval
        with self._lock:
            pass

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._end)
        self._thread.join()
        self.forget()
        os.close(self._ended)
        self._socket.close()
        os.unlink(self.path)

    def _wait(self, condition, seconds):
        with self._changed:
            return self._changed.wait_for(condition, _stretched(seconds))

    def _serve(self):
        while True:
            ready = select.select([self._ended] if self._paused else [self._socket, self._ended], [], [], 0.02)[0]
            if self._ended in ready:
                return
            if self._socket in ready:
                with self._changed:
                    # pause() may have come after the select().
                    if not self._paused:
                        self._read()
                        self._changed.notify_all()
            else:
                with self._lock:
                    self._drop_dead()

    def _read(self):
        words, control, flags, _ = self._socket.recvmsg(
            8192, socket.CMSG_SPACE(AT_ONCE * 4) + socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_CMSG_CLOEXEC)
        fds, sender = array.array("i"), 0
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
            elif level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                sender = CREDENTIALS.unpack(data[:CREDENTIALS.size])[0]
        try:
            if flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC):
                self.warnings.append("truncated message")
            elif self.process is None or sender != self.process.pid:
                self.warnings.append(f"process {sender} is not the main one: {words!r}")
            else:
                self._take(words.decode(errors="replace").split("\n"), fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _take(self, lines, fds):
        """Removes the descriptors that were stored from `fds`."""
        name = next((line[7:] for line in lines if line.startswith("FDNAME=")), None)
        if name is not None and (len(name) > LONGEST_NAME or any(not " " <= c < "\x7f" or c == ":" for c in name)):
            self.warnings.append(f"not a name: {name!r}")
            name = None
        if "FDSTOREREMOVE=1" in lines:
            if name is None:
                self.warnings.append("FDSTOREREMOVE=1 without a name")
                return
            for entry in [entry for entry in self._held if entry[0] == name]:
                os.close(entry[1])
                self._held.remove(entry)
        elif "FDSTORE=1" in lines:
            while fds:
                self._keep(name or "stored", fds.pop(0), "FDPOLL=0" not in lines)
        self.notifications += [line for line in lines
                      if line and not line.startswith(("FDSTORE=", "FDSTOREREMOVE=", "FDNAME=", "FDPOLL="))]

    def _keep(self, name, fd, watched):
        if any(os.path.sameopenfile(fd, held) for _, held, _ in self._held if held >= 0):
            os.close(fd)  # a duplicate
            return
        if len(self._held) >= self.limit:
            self.warnings.append(f"no room for {name}")
            os.close(fd)
            return
        self._held.append([name, fd, watched])

    def _drop_dead(self):
        watched = [entry for entry in self._held if entry[2]]
        if not watched:
            return
        poller = select.poll()
        for _, fd, _ in watched:
            poller.register(fd, 0)  # errors and hang-ups are always reported
        dead = {fd for fd, _ in poller.poll(0)}
        for entry in watched:
            if entry[1] in dead:
                os.close(entry[1])
                self._held.remove(entry)


def _stretched(seconds):
    from . import pace  # pylint: disable=import-outside-toplevel  # not available in the launcher
    return pace.stretched(seconds)


def launch(fds, argv):
    """Executes the command with these descriptors, starting at number 3."""
    beyond = FIRST + len(fds)
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, max([beyond, *[fd + 1 for fd in fds]])) for fd in fds]
    for at, fd in enumerate(moved):
        os.dup2(fd, FIRST + at, inheritable=True)
    os.closerange(beyond, os.sysconf("SC_OPEN_MAX") if not moved else max(moved) + 1)
    if fds:
        os.environ["LISTEN_PID"] = str(os.getpid())
        os.environ["LISTEN_FDS"] = str(len(fds))
    os.execvp(argv[0], argv)


def main():
    if sys.argv[1:2] == ["--launch"]:
        launch(json.loads(sys.argv[2]), sys.argv[3:])
    import tempfile  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory() as directory, FdHolder(directory) as holder:
        try:
            while True:
                status = holder.popen(sys.argv[1:]).wait()
                holder.settle()
                print(f"fd_holder: ended with {status}; stored: {' '.join(holder.names()) or 'nothing'}", file=sys.stderr)
                time.sleep(0.5)  # fixed time: the delay before the next start, like RestartSec
        except KeyboardInterrupt:
            holder.process.terminate()
            holder.process.wait()


if __name__ == "__main__":
    main()
