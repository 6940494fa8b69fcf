# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A clean Debian in a folder with systemd booted in it: in its own namespaces and control group, without network, or as
process 1 of a virtual machine. Removed afterwards, without changes to the host."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from outcome import pace, stretched

SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d")
SUITE = "bookworm"

# Units that would change the shared kernel, or only cost time.
MASKED = ("systemd-sysctl.service", "kmod-static-nodes.service", "systemd-modules-load.service", "systemd-remount-fs.service",
          "systemd-update-utmp.service", "systemd-logind.service", "sys-kernel-debug.mount",
          "sys-kernel-tracing.mount", "sys-fs-fuse-connections.mount", "dev-hugepages.mount", "apt-daily.timer",
          "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer", "man-db.timer")

# Becomes the parent of the first process of the container. Gets the folder, the control group, the host name, an option of
# unshare, commands to run before and after the mounts, and words that begin the command line of process 1.
BOOT = r"""
set -e
echo $$ >"$2/cgroup.procs"
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  unshare --mount --pid --uts --ipc --cgroup $4 --fork --kill-child --propagation private sh -ec '
    root=$1
    eval "$3"
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$root/run"
    mount -t tmpfs tmpfs "$root/tmp"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom tty; do
      touch "$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    hostname "$2"
    eval "$4"
    exec chroot "$root" $5 /lib/systemd/systemd --show-status=no
  ' sh "$1" "$3" "$5" "$6" "$7"
"""


class CannotRun(Exception):
    """This machine cannot run the system; the message is the reason."""


def make_root(root, packages):
    """Creates a minimal Debian with these packages, with the mirror and settings of this machine's apt."""
    if not shutil.which("mmdebstrap"):
        raise CannotRun("mmdebstrap is missing")
    lists = [str(one) for one in (Path(SOURCES[0]), *sorted(Path(SOURCES[1]).glob("*")))
             if one.is_file() and one.suffix in (".list", ".sources") and one.stat().st_size]
    if not lists:
        raise CannotRun("this machine's apt has no sources")
    cached = 'mkdir -p "$1/var/cache/apt/archives" && find /var/cache/apt/archives -name "*.deb" ' \
             '-exec cp -alt "$1/var/cache/apt/archives" {} + 2>/dev/null || true'
    settings = [f"--aptopt={line}" for line in apt_settings()]
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", f"--setup-hook={cached}",
         "--skip=essential/unlink,download/empty,cleanup/apt", *settings, SUITE, str(root), *lists],
        capture_output=True, text=True, timeout=stretched(400))
    if done.returncode:
        raise CannotRun("no clean Debian could be made: " + (done.stderr.strip().splitlines() or ["?"])[-1])


def forget_other_packages(root):
    """Removes from the package lists of that Debian what is neither installed nor in its apt cache. The container has no network,
    so apt could not download it, and reading 60,000 entries takes most of the time of each apt command."""
    root = Path(root)
    archives = {file.name.partition("_")[0] for file in root.glob("var/cache/apt/archives/*.deb")}
    said = subprocess.run(["chroot", str(root), "dpkg-query", "--show", "--showformat", "${Package}\n"], capture_output=True,
                          text=True, check=True).stdout
    wanted = archives | set(said.split())
    lists = [file for file in root.glob("var/lib/apt/lists/*_Packages*")]
    for file in lists:
        text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", str(file)], capture_output=True, text=True, check=True).stdout
        kept = [entry for entry in text.split("\n\n") if entry.partition("\n")[0].removeprefix("Package: ") in wanted]
        file.unlink()
        name = file.name[:file.name.index("_Packages") + len("_Packages")]
        file.with_name(name).write_text("".join(f"{entry.strip()}\n\n" for entry in kept), encoding="utf-8")
    if not lists:
        raise CannotRun(f"apt has no package lists in {root}")


def apt_settings():
    """The apt settings of this machine for its mirror."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    wanted = ("Acquire::http::", "Acquire::https::", "Acquire::Check-Valid-Until", "Acquire::Check-Date")
    return [line for line in dump.splitlines() if line.startswith(wanted) and not line.endswith('"";')]


def mask(root):
    for unit in MASKED:
        link = Path(root) / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")


class System:
    """A running systemd in `root`. run() runs programs in it."""

    ENVIRONMENT = ("env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                   "LC_ALL=C.UTF-8")

    def __init__(self, root):
        self.root = Path(root)

    def command(self, *argv):
        raise NotImplementedError

    def reachable(self):
        """Whether programs can run in it; raises CannotRun if it has failed to start."""
        return True

    def wait_until_up(self, seconds=120):
        """Waits until systemd has finished booting; raises CannotRun if it does not."""
        state = ""

        def is_up():
            nonlocal state
            if self.reachable():
                state = self.run("systemctl", "is-system-running").stdout.strip()
            return state in ("running", "degraded")

        if not pace.wait_until(is_up, seconds, every=0.2):
            raise CannotRun(f"systemd does not come up here, it is '{state}'")

    def run(self, *argv, timeout=120, stdin=None):
        """Runs a program in the system; does not raise for its exit status."""
        return subprocess.run(self.command(*argv), capture_output=True, text=True, timeout=stretched(timeout), input=stdin)

    def start(self, *argv):
        """Starts a program that runs until the system ends."""
        return subprocess.Popen(self.command(*argv), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)


class ProcessOne(System):
    """systemd as process 1 of this virtual machine, see test/vm/run --systemd."""

    def command(self, *argv):
        return ["chroot", str(self.root), *self.ENVIRONMENT, *argv]


def boot_command(root, group, name, network="--net", before="", after="", begin=""):
    """The command line that boots the Debian; without `network` it stays in the network namespace of the caller."""
    return ["sh", "-c", BOOT, "sh", str(root), str(group), name, network, before, after, begin]


def make_group(name):
    """Creates a control group for a container, unless it exists."""
    for base in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if Path(base, "cgroup.procs").exists() and Path(base, "cgroup.controllers").exists():
            group = Path(base, name)
            try:
                group.mkdir(exist_ok=True)
            except OSError as error:
                raise CannotRun(f"no control group can be made: {error}") from error
            return group
    raise CannotRun("there is no control group version 2")


def remove_group(group):
    """Removes the control group of a container whose processes were killed."""
    def is_gone():
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            remove_empty(folder)
        remove_empty(group)
        return not group.exists()

    pace.wait_until(is_gone, 20, every=0.1)


class Namespaces(System):
    """systemd in namespaces, which a process created with boot_command()."""

    _first = None

    @property
    def boot(self):
        """The id of that process."""
        raise NotImplementedError

    @property
    def first_process(self):
        """The PID of its process 1 in this namespace, once it is up."""
        return self._first

    def reachable(self):
        self._first = self._first or self._find_first()
        return self._first is not None

    def _find_first(self):
        children = Path(f"/proc/{self.boot}/task/{self.boot}/children").read_text(encoding="ascii").split()
        if children and Path(f"/proc/{children[0]}/comm").read_text(encoding="ascii").strip() == "systemd":
            return children[0]
        return None

    def command(self, *argv):
        return ["nsenter", "--target", self._first, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--root",
                "--wd", *self.ENVIRONMENT, *argv]


class Container(Namespaces):
    """Without network; stop() kills all its processes."""

    def __init__(self, root):
        super().__init__(root)
        self._group = make_group(f"sluice-package-{os.getpid()}")
        mask(root)
        self._boot = subprocess.Popen(boot_command(self.root, self._group, "sluice-package-test"), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    @property
    def boot(self):
        return self._boot.pid

    def reachable(self):
        if self._boot.poll() is not None:
            raise CannotRun("systemd does not start here: " + self._boot.stderr.read().decode().strip())
        return super().reachable()

    def stop(self):
        if self._boot.poll() is None:
            self._boot.send_signal(signal.SIGKILL)  # kills its process 1, too, and thus all others
        self._boot.wait()
        remove_group(self._group)


def remove_empty(folder):
    try:
        folder.rmdir()
    except OSError:
        pass  # a process in it has not ended yet
