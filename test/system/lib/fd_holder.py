# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A service manager with a file descriptor store, as systemd 252 is one to a unit of Type=notify, NotifyAccess=main.

    with FdHolder(directory) as holder:
        process = holder.popen(["sluiced", …])   # like subprocess.Popen
        holder.wait_said("READY=1")
        holder.kill()                            # kill -9; what is kept stays kept
        process = holder.popen(["sluiced", …])   # gets it, as sd_listen_fds(3) says
        holder.names()

By hand, as `Restart=always` would: python3 -m lib.fd_holder COMMAND…
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
AT_ONCE = 253  # descriptors in one message


class FdHolder:
    """Owns the socket and the store. Its methods may be called by any thread."""

    def __init__(self, directory, limit=16384):
        self.limit = limit  # FileDescriptorStoreMax=
        self.path = os.path.join(directory, "notify")
        self.process = None
        self.said = []  # every line that is not about descriptors, in order
        self.complaints = []  # what systemd would warn of, or leave undone without a word
        self._held = []  # [name, descriptor, watched], in order
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
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
        """Starts the process that may speak to us, with what is kept. As systemd does after a crash or for a restart."""
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
            with self._lock:  # it may speak at once
                self.process = subprocess.Popen([*launcher, *argv], env=environment,
                                                pass_fds=[fd for _, fd in passed], **options)
        finally:
            for _, fd in passed:
                os.close(fd)
        return self.process

    def kill(self):
        """kill -9. What was kept stays kept, as the unit is going to be started again."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.settle()

    def terminate(self, patience=30):
        """SIGTERM and its exit status; what is kept stays kept, as with `systemctl restart`."""
        self.process.terminate()
        status = self.process.wait(_stretched(patience))
        self.settle()
        return status

    def forget(self):
        """What `systemctl stop` does to the store, once the process has ended."""
        with self._lock:
            for _, fd, _ in self._held:
                os.close(fd)
            self._held.clear()

    def names(self):
        """Of what is kept, in order; with one name twice where it is kept twice."""
        with self._lock:
            return [name for name, _, _ in self._held]

    def fileno(self, name):
        """A descriptor kept as `name`; it stays ours."""
        with self._lock:
            return next(fd for held, fd, _ in self._held if held == name)

    def wait_said(self, line, seconds=30, after=0):
        """Until this line was said, not counting the first `after` of all; False when it was not in time."""
        return self._wait(lambda: line in self.said[after:], seconds)

    def wait_kept(self, count, seconds=30):
        """Until so many descriptors are kept; False when they are not in time."""
        return self._wait(lambda: len(self._held) == count, seconds)

    def pause(self, paused=True):
        """A manager that is busy: reads nothing until pause(False)."""
        with self._lock:
            self._paused = paused

    def settle(self):
        """Everything that was sent is read."""
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

    def _wait(self, true, seconds):
        with self._news:
            return self._news.wait_for(true, _stretched(seconds))

    def _serve(self):
        while True:
            ready = select.select([self._ended] if self._paused else [self._socket, self._ended], [], [], 0.02)[0]
            if self._ended in ready:
                return
            if self._socket in ready:
                with self._news:
                    # pause() may have come after the select().
                    if not self._paused:
                        self._read()
                        self._news.notify_all()
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
                self.complaints.append("a message came cut short")
            elif self.process is None or sender != self.process.pid:
                self.complaints.append(f"process {sender} is not the main one: {words!r}")
            else:
                self._take(words.decode(errors="replace").split("\n"), fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _take(self, lines, fds):
        """Leaves `fds` with those that were not kept."""
        name = next((line[7:] for line in lines if line.startswith("FDNAME=")), None)
        if name is not None and (len(name) > LONGEST_NAME or any(not " " <= c < "\x7f" or c == ":" for c in name)):
            self.complaints.append(f"not a name: {name!r}")
            name = None
        if "FDSTOREREMOVE=1" in lines:
            if name is None:
                self.complaints.append("FDSTOREREMOVE=1 without a name")
                return
            for entry in [entry for entry in self._held if entry[0] == name]:
                os.close(entry[1])
                self._held.remove(entry)
        elif "FDSTORE=1" in lines:
            while fds:
                self._keep(name or "stored", fds.pop(0), "FDPOLL=0" not in lines)
        self.said += [line for line in lines
                      if line and not line.startswith(("FDSTORE=", "FDSTOREREMOVE=", "FDNAME=", "FDPOLL="))]

    def _keep(self, name, fd, watched):
        if any(os.path.sameopenfile(fd, held) for _, held, _ in self._held if held >= 0):
            os.close(fd)  # has it already
            return
        if len(self._held) >= self.limit:
            self.complaints.append(f"no room for {name}")
            os.close(fd)
            return
        self._held.append([name, fd, watched])

    def _drop_dead(self):
        watched = [entry for entry in self._held if entry[2]]
        if not watched:
            return
        poller = select.poll()
        for _, fd, _ in watched:
            poller.register(fd, 0)  # errors and hang-ups come in any case
        dead = {fd for fd, _ in poller.poll(0)}
        for entry in watched:
            if entry[1] in dead:
                os.close(entry[1])
                self._held.remove(entry)


def _stretched(seconds):
    from . import pace  # pylint: disable=import-outside-toplevel  # which is not there for the launcher
    return pace.stretched(seconds)


def launch(fds, argv):
    """Becomes the command, with these descriptors from the third on."""
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
                print(f"fd_holder: ended with {status}; kept: {' '.join(holder.names()) or 'nothing'}", file=sys.stderr)
                time.sleep(0.5)  # fixed time: the pause before the next start, as with RestartSec
        except KeyboardInterrupt:
            holder.process.terminate()
            holder.process.wait()


if __name__ == "__main__":
    main()
