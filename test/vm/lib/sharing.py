# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Shares folders of the host with the guest: all of them read-only, some writable."""

import os
import shlex
import shutil
import socket
import subprocess

from . import qemu
from .failure import Failure

PLACES = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")


class Share:
    """One virtiofsd, in a mount namespace of its own in which `folder` has the files for the guest."""

    def __init__(self, tag, folder, mounts, cache_mode, log):
        self.tag = tag
        # An abstract socket leaves no file behind, and does not limit the length of the folder's path.
        self._name = f"sluice-vm-{os.getpid()}-{tag}"
        os.mkdir(folder)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + self._name)
            listener.listen(1)
            serve = [_program(), f"--fd={listener.fileno()}", "-o", f"source={folder}", "-o", f"cache={cache_mode}",
                     "-o", "log_level=warn"]
            script = "set -e\n" + "\n".join(mounts) + "\nexec " + shlex.join(serve)
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", script], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, pass_fds=[listener.fileno()], preexec_fn=qemu.separate)

    def device(self):
        return ["-chardev", f"socket,id={self.tag},path={self._name},abstract=on",
                "-device", f"vhost-user-fs-pci,queue-size=1024,chardev={self.tag},tag={self.tag}"]

    def close(self):
        """Must be called after the machine has ended; virtiofsd then exits by itself."""
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def everything(job, log):
    """All files of the host, read-only."""
    folder = os.path.join(job, "host")
    place = shlex.quote(folder)
    return Share("host", folder, [f"mount --rbind / {place}", f"mount -o remount,bind,ro {place}"], "always", log)


def results(job, folders, log):
    """The writable folders, each under its number."""
    place = os.path.join(job, "written")
    mounts = [f"mount -t tmpfs tmpfs {shlex.quote(place)}"]
    for number, folder in enumerate(folders):
        mounts += [f"mkdir {shlex.quote(f'{place}/{number}')}",
                   f"mount --bind {shlex.quote(folder)} {shlex.quote(f'{place}/{number}')}"]
    return Share("results", place, mounts, "auto", log)


def _program():
    for place in PLACES:
        if os.path.exists(place):
            return place
    found = shutil.which("virtiofsd")
    if not found:
        raise Failure("virtiofsd is missing; packaging/install-deps.sh test installs it")
    return found
