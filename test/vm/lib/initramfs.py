# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The initramfs of the machine: the modules that are needed to see the host's files, and the program that loads them."""

import hashlib
import lzma
import os
import shutil
import stat
import subprocess

from .failure import Failure
from .kernels import locked

# In the order in which they are loaded; what they need comes before them.
MODULES = ("virtio_pci", "virtio_console", "virtio-rng", "virtiofs", "overlay")
INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest", "init")


def get(kernel):
    """The file, rebuilt if any of its inputs has changed."""
    busybox = shutil.which("busybox")
    if not busybox or b"/lib64/ld-linux" in _content(busybox):
        raise Failure("a busybox without shared libraries is missing; packaging/install-deps.sh test installs it")
    init = _content(INIT)
    key = hashlib.sha256(init + _content(busybox) + " ".join(MODULES).encode()).hexdigest()[:16]
    path = os.path.join(kernel.folder, f"initramfs-{key}")
    with locked(kernel.folder):
        if not os.path.exists(path):
            _write(path + ".new", kernel, busybox, init)
            os.rename(path + ".new", path)
    return path


def _write(path, kernel, busybox, init):
    modules = _modules(kernel)
    with open(path, "wb") as file:
        archive = _Archive(file)
        for folder in ("bin", "modules", "host", "writes", "merged", "dev", "proc"):
            archive.add(folder, stat.S_IFDIR | 0o755)
        archive.add("bin/busybox", stat.S_IFREG | 0o755, _content(busybox))
        archive.add("init", stat.S_IFREG | 0o755, init)
        for name, module in modules.items():
            archive.add(f"modules/{name}", stat.S_IFREG | 0o644, _loadable(module))
        archive.add("modules/order", stat.S_IFREG | 0o644, "".join(f"{name}\n" for name in modules).encode())
        archive.end()


def _modules(kernel):
    """File names in the order of loading → where they are."""
    found = {}
    for module in MODULES:
        done = subprocess.run(["modprobe", "-d", kernel.folder, "-S", kernel.version, "--show-depends", module],
                              check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"kernel {kernel.version} cannot be used: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            if line.startswith("insmod "):
                module_path = line.split()[1]
                found[os.path.basename(module_path).split(".ko")[0] + ".ko"] = module_path
    return found


def _loadable(path):
    return lzma.decompress(_content(path)) if path.endswith(".xz") else _content(path)


def _content(path):
    with open(path, "rb") as file:
        return file.read()


class _Archive:
    """cpio, format newc."""

    def __init__(self, file):
        self._file = file
        self._inode = 0

    def add(self, name, mode, content=b""):
        self._inode += 1
        fields = [self._inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        self._padded(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        self._padded(content)

    def end(self):
        self.add("TRAILER!!!", 0)

    def _padded(self, data):
        self._file.write(data + b"\0" * (-len(data) % 4))
