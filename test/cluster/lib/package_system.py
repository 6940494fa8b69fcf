# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A Debian with systemd in a container on a node: with the network and the xtables lock of the node, and namespaces of its own for
everything else. Packages are installed in it; what they write stays when the container starts again, except below /run."""

import os
import shutil
import subprocess
from pathlib import Path

from . import pace, package_root, shell
from .failure import ClusterError
from .package_root import container

START_PATIENCE = 120
STOP_PATIENCE = 60
PACKAGES = "srv/packages"
POWER_OFF = "-RTMIN+4"
# Mounts the Debian of the node over the common one. Gets no arguments, because it is a part of other commands.
OVERLAY = 'mount -t overlay -o "lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work" overlay "{folder}/root"'
# Only settings of the network can be changed, and the tools that write rules share one lock.
RESTRICT = """
mount -o remount,bind,ro "$root/sys"
for place in bus fs irq sys sysrq-trigger; do
  [ -e "$root/proc/$place" ] || continue
  mount --bind "$root/proc/$place" "$root/proc/$place"
  mount -o remount,bind,ro "$root/proc/$place"
done
mount --bind /proc/sys/net "$root/proc/sys/net"
touch "$root/run/xtables.lock"
mount --bind /run/xtables.lock "$root/run/xtables.lock"
"""
# Those of the unit, without the right to load modules, and what systemd, journald and systemd-tmpfiles need.
CAPABILITIES = ("net_admin", "net_raw", "net_bind_service", "sys_resource", "dac_read_search",
                "sys_admin", "sys_chroot", "setpcap", "dac_override", "chown")
CHROOT = """
{overlay}
mount -t proc proc "{folder}/root/proc"
exec chroot "{folder}/root" "$@"
"""


def unavailable():
    """Why this machine cannot run such a system, or None."""
    try:
        container.remove_group(container.make_group(f"sluice-probe-{os.getpid()}"))
    except container.CannotRun as error:
        return str(error)
    return None if shutil.which("mmdebstrap") else "mmdebstrap is missing; packaging/install-deps.sh cluster installs it"


class PackageSystem(container.Namespaces):
    """`process` is the processes.Process that boots it. The host finds the root only while the system runs, see path()."""

    def __init__(self, node, process):
        self._folder = node.folder / "package"
        super().__init__(self._folder / "root")
        self._node, self._process = node, process

    @property
    def boot(self):
        return self._process.pid

    @property
    def first_process(self):
        """Its process 1, as the host numbers it, or None. It is not remembered, because the system can start again."""
        try:
            return self._find_first() if self.boot else None
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            return None

    # Files.

    def create(self, lower, packages):
        """Makes an empty system of the common Debian `lower`, with these files below /srv."""
        self.remove()
        for name in ("upper/etc", f"upper/{PACKAGES}", "work", "root"):
            (self._folder / name).mkdir(parents=True)
        (self._folder / "lower").symlink_to(lower)
        (self._folder / "upper/etc/hostname").write_text(f"{self._node.name}\n", encoding="ascii")
        self.provide(packages)

    def provide(self, packages):
        for file in packages:
            shutil.copy(file, self.path(f"/{PACKAGES}"))

    @property
    def exists(self):
        return self._folder.exists()

    def path(self, name):
        """Where the host finds that file. One of the common Debian is found only while the system runs."""
        first = self.first_process
        return Path(f"/proc/{first}/root" if first else self._folder / "upper") / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        """Replaces a file atomically."""
        file = self.path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.new")
        new.write_text(text, encoding="utf-8")
        new.chmod(mode)
        new.replace(file)

    def remove(self):
        """Deletes it. It must not run."""
        shutil.rmtree(self._folder, ignore_errors=True)

    # Without systemd.

    def _overlay(self):
        return OVERLAY.format(lower=(self._folder / "lower").readlink(), folder=self._folder)

    def chroot(self, *argv):
        """Runs a program in it while systemd does not run; returns its output."""
        script = CHROOT.format(overlay=self._overlay(), folder=self._folder)
        return self._node.run("unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", *self.ENVIRONMENT, *argv,
                              timeout=300).stdout

    def install(self):
        """Installs the packages, without starting anything. A configuration that is there is kept."""
        self.chroot("sh", "-c", f"dpkg --force-confold --install /{PACKAGES}/*.deb")

    # With systemd.

    def _make_group(self):
        try:
            return container.make_group(self._node.namespace)  # down finds it by the prefix of the cluster
        except container.CannotRun as error:
            raise ClusterError(f"{self._node.name}: {error}") from None

    def boot_command(self):
        """The command line, for a process in the namespaces of the node."""
        bounding = ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)])
        return container.boot_command(self._folder / "root", self._make_group(), self._node.name, network="", before=self._overlay(),
                                      after=RESTRICT, begin=f"setpriv --bounding-set={bounding}")

    def start(self):
        """Boots it, and returns once systemd is up."""
        self._node.place.start(self._process.name, self.boot_command())
        self.wait_up()

    def wait_up(self):
        try:
            self.wait_until_up(START_PATIENCE)
        except container.CannotRun as error:
            raise ClusterError(f"{self._node.name}: {error}; last lines of {self._process.log}:\n{self._process.tail()}") from None

    def reachable(self):
        if not self.boot:
            raise container.CannotRun("the container ended")
        return self.first_process is not None

    def command(self, *argv):
        self._first = self.first_process
        if not self._first:
            raise ClusterError(f"{self._node.name}: systemd does not run")
        return super().command(*argv)

    def succeed(self, *argv, timeout=120):
        """The output of a program in it; raises shell.CommandFailed."""
        return self.said(*argv, timeout=timeout)[0]

    def said(self, *argv, timeout=120):
        """Standard output and standard error of a program in it; raises shell.CommandFailed."""
        done = self.run(*argv, timeout=timeout)
        if done.returncode:
            raise shell.CommandFailed(f"{self._node.name}: {' '.join(argv)}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def stop(self):
        """Ends it in order, or kills it after a timeout."""
        first = self.first_process
        if first:
            subprocess.run(["kill", POWER_OFF, first], check=False)
            pace.wait_until(lambda: not self.boot, STOP_PATIENCE)
        self.kill()

    def kill(self):
        """All of its processes, as when the node loses power; its files stay."""
        self._process.kill()
        container.remove_group(self._make_group())
