# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One virtual machine from its start to its end."""

import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

# Both folders are packages named lib, so pace is imported as a module of its own. The folder comes last in the path because
# it has modules with names of the standard library.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "system", "lib"))

import pace  # noqa: E402

from . import qemu, resident, sharing  # noqa: E402
from .failure import LIMIT_STATUS, STATUS  # noqa: E402
from .trouble import TROUBLE  # noqa: E402

GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest")
# For the guest's environment: how many times slower the guest is.
SLOWNESS = {"tcg": "8", "kvm": "1"}
# Digests by SSSE3 and AVX2 take an emulated processor three times as long as those without, and each daemon computes those of all
# backends. For the guest's environment, too.
CIPHERS = {"tcg": {"OPENSSL_ia32cap": "~0x20000000000:~0x20"}, "kvm": {}}
# Messages of virtiofsd at the end of its machine.
FAREWELLS = re.compile(r"fv_remove_watch|virtio_loop")
# Usually three; more on a busy machine.
BOOT_SECONDS = 300
# For the list of processes after the limit.
EXPLAIN_SECONDS = 20


class Machine:
    def __init__(self, cache, kernel, image, accelerator, wanted):
        self._kernel, self._image, self._accelerator, self._wanted = kernel, image, accelerator, wanted
        self._cache = cache
        _remove_leftovers(cache)
        self._job = tempfile.mkdtemp(prefix=f"run-{os.getpid()}-", dir=cache)
        self._ended = []
        self._ports = {}
        self._open = {}
        self._control_data = b""
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in reversed(self._ended):
            end()
        _remove(self._job)

    def run(self, command, directory):
        """The status to end with."""
        self._write_job(command, directory)
        self._start()
        status = self._watch()
        self._process.kill()
        self._process.wait()
        while self._open and self._forward(0):
            pass
        return self._judged(status)

    # Files for the guest.

    def _write_job(self, command, directory):
        results = [os.path.abspath(folder) for folder in self._wanted.results]
        for folder in results:
            os.makedirs(folder, exist_ok=True)
        # Compiled Python modules are lost with the guest, but make later programs in it faster.
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = {"SLUICE_TEST_SLOWNESS": SLOWNESS[self._accelerator], **CIPHERS[self._accelerator], **outside,
                       "SLUICE_VM": self._kernel.version}
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()
                          if re.fullmatch(r"[A-Za-z_]\w*", name))
        one = " 2>&1" if _same_file(1, 2) else ""
        self._put("command", f"{exports}cd {shlex.quote(directory)} || exit 125\nexec {shlex.join(command)}{one}\n")
        self._put("results", "".join(f"{folder}\n" for folder in results))
        self._put("modules", self._kernel.modules + "\n")
        copied = resident.files(self._wanted.builddir, self._kernel.modules) if self._wanted.resident else ([], [])
        for name, paths in zip(("resident", "resident-links"), copied):
            self._put(name, "".join(f"{path}\n" for path in paths))
        self._put("tap", self._wanted.tap or "")
        self._put("system", os.path.abspath(self._wanted.systemd) if self._wanted.systemd else "")
        shutil.copy(os.path.join(GUEST, "session"), self._job)

    def _put(self, name, content):
        with open(os.path.join(self._job, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)

    # The processes.

    def _start(self):
        with open(os.path.join(self._job, "log"), "wb") as log:
            shares = []
            for make in (lambda: sharing.everything(self._job, log),
                         lambda: sharing.results(self._job, [os.path.abspath(f) for f in self._wanted.results], log)):
                shares.append(make())
                self._ended.append(shares[-1].close)
            less = "" if self._wanted.tap or self._wanted.systemd else qemu.WITHOUT_MEMORY_GROUPS
            words = qemu.command(self._accelerator, self._wanted.cpus, self._wanted.memory, self._kernel, self._image,
                                 f"{less}sluice.job={self._job}")
            words += ["-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
                      "-chardev", f"file,id=console,path={self._console}", "-serial", "chardev:console"]
            for share in shares:
                words += share.device()
            if self._wanted.tap:
                words += qemu.network(self._wanted.tap)
            theirs = []
            for name in ("out", "err", "control"):
                self._ports[name], other = socket.socketpair()
                theirs.append(other)
                words += ["-chardev", f"socket,id={name},fd={other.fileno()}",
                          "-device", f"virtserialport,chardev={name},name={name}"]
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             pass_fds=[other.fileno() for other in theirs],
                                             preexec_fn=qemu.separate)
            for other in theirs:
                other.close()
        self._open = dict(self._ports)
        self._ended.append(self._end)

    def _end(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for port in self._ports.values():
            port.close()

    @property
    def _console(self):
        return os.path.join(self._job, "console")

    # Waiting and the result.

    def _watch(self):
        """The command's status; None if the machine ended by itself; otherwise the limit that passed."""
        begun, limit, late = time.monotonic(), BOOT_SECONDS, _NO_START
        while (left := begun + pace.stretched(limit) - time.monotonic()) > 0:
            busy = self._forward(min(left, 1))
            if late is _NO_START and b"begun\n" in self._control_data:
                begun, limit, late = time.monotonic(), self._wanted.limit, _TOO_LATE
            ended = re.search(rb"status (\d+)\n", self._control_data)
            if ended:
                return int(ended.group(1))
            if not busy and self._process.poll() is not None:
                return None
        if late is _NO_START:
            return late
        # The guest prints its processes and what they wait for to the console.
        self._send(b"explain\n")
        explained = time.monotonic() + pace.stretched(EXPLAIN_SECONDS)
        while b"explained" not in self._control_data and (left := explained - time.monotonic()) > 0 and self._open:
            self._forward(min(left, 1))
        return late

    def _send(self, data):
        try:
            self._ports["control"].sendall(data)
        except OSError:
            pass  # it has ended

    def _forward(self, seconds):
        """Forwards output of the guest within that time; returns whether there was any."""
        if not self._open:
            time.sleep(seconds)  # poll interval
            return False
        ready, _, _ = select.select(list(self._open.values()), [], [], max(seconds, 0))
        for name, port in list(self._open.items()):
            if port not in ready:
                continue
            try:
                data = port.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                del self._open[name]
            elif name == "control":
                self._control_data += data
            else:
                _write(_OURS[name], data)
        return bool(ready)

    def _judged(self, status):
        """The command's status if the kernel had no trouble; otherwise prints one line with the reason."""
        console = self._said_on_console()
        trouble = next((line for line in console if TROUBLE.search(line)), None)
        if status is _TOO_LATE:
            wrong, status = f"the limit of {self._wanted.limit:g} s passed; the machine was ended", LIMIT_STATUS
        elif status is _NO_START:
            wrong, status = f"the machine was not up after {BOOT_SECONDS} s", STATUS
        elif status is None:
            why = trouble or "its kernel does not say why"
            wrong, status = f"the machine ended before the command did: {why}", STATUS
        elif trouble:
            wrong, status = f"the kernel is not well: {trouble} (the command ended with status {status})", STATUS
        else:
            wrong = None
        kept = self._wanted.console or (wrong and os.path.join(self._cache, f"console-{os.getpid()}.log"))
        if kept:
            with open(kept, "w", encoding="utf-8") as file:
                file.write(self._log() + "".join(f"{line}\n" for line in console))
        if wrong:
            print(f"test/vm/run: {wrong}; the console is in {kept}", file=sys.stderr)
        return status

    def _said_on_console(self):
        try:
            with open(self._console, encoding="utf-8", errors="replace") as file:
                return [line.rstrip() for line in file]
        except FileNotFoundError:
            return []

    def _log(self):
        """The output of qemu and virtiofsd."""
        with open(os.path.join(self._job, "log"), encoding="utf-8", errors="replace") as file:
            return "".join(f"host: {line}" for line in file if not FAREWELLS.search(line))


_OURS = {"out": 1, "err": 2}
_TOO_LATE, _NO_START = -1, -2


def _remove_leftovers(cache):
    """Removes folders of runs that were killed. Their file shares ended with them."""
    for name in os.listdir(cache):
        found = re.match(r"run-(\d+)-", name)
        if found and not os.path.exists(f"/proc/{found.group(1)}"):
            _remove(os.path.join(cache, name))


def _remove(job):
    """What was shared is elsewhere seen below these two; were it here, nothing of it may go."""
    for name in ("host", "written"):
        try:
            os.rmdir(os.path.join(job, name))
        except FileNotFoundError:
            pass
        except OSError:
            return
    shutil.rmtree(job, ignore_errors=True)


def _write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def _same_file(one, other):
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False
