#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the plugin guide on the machine of a backend author: a clean Debian with a compiler and the package
sluice-dev, nothing else of ours. An unprivileged user creates, builds and tests a skeleton; after the installation of the
daemon and the conformance kit, the daemon runs it and the kit tests it. Prints TAP. Needs root.

  author_test.py --builddir DIR --debs DIR [--keep]
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from container import CannotRun, System, make_root
from machine import SOURCE
from outcome import Tests, require, succeed
from package_test import Packages, ended, fetch, foreign, make_archive

SRC = Path(__file__).resolve().parents[2]
TOOLS = ("autoconf", "automake", "cmake", "g++", "libtool", "make", "pkg-config", "rustc", "sudo")
BACKEND = "com.example.dpu"
HOME = "/srv/author"


ENTER = """
root=$1
shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
exec chroot "$root" "$@"
"""


class Chroot(System):
    """A system without systemd and network."""

    def command(self, *argv):
        return ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-ec", ENTER,
                "sh", str(self.root), *self.ENVIRONMENT, *argv]


class Author:
    """Tests from the package to a backend that the daemon runs."""

    def __init__(self, machine):
        self.machine = machine

    def run(self, *argv):
        return succeed(self.machine.run(*argv, timeout=600))

    def as_author(self, script):
        """Returns the output of the commands; stops at the first failure."""
        return self.run("runuser", "--login", "author", "--command", f"set -e\nexec 2>&1\n{script}")

    @staticmethod
    def block(number):
        """Returns a block of commands of the tutorial."""
        guide = (SRC / "docs/plugin/write-a-backend.md").read_text(encoding="utf-8")
        return re.findall(r"^```sh\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)[number - 1]

    def walk(self, number, *, begins):
        """Runs the block, which must begin so, in the working directory where the block before ended."""
        block = self.block(number)
        require(block.startswith(begins), f"block {number} of the guide begins otherwise: {block}")
        return self.as_author(f"cd \"$(cat .walked 2>/dev/null || pwd)\"\n{block}pwd >{HOME}/.walked")

    def apt(self, *argv):
        return self.run("apt-get", "-y", "-o", "APT::Get::List-Cleanup=0", "-o", "Dpkg::Use-Pty=0", *argv)

    def ours(self):
        said = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", "sluice*")
        return {line.split()[-1] for line in said.splitlines() if line.startswith("ii")}

    def require_plugin(self, file):
        shown = self.run("nm", "-D", "--defined-only", file).split()
        require(shown[-1:] == ["sluice_plugin_entry"] and len(shown) == 3, f"{file} exports {shown}")

    def test_install(self):
        """apt installs sluice-dev without other packages of ours; by default it recommends the conformance kit"""
        self.apt("update", "-o", f"Dir::Etc::SourceList={SOURCE}", "-o", "Dir::Etc::SourceParts=-")
        require("Inst sluice-conformance " in self.apt("install", "--simulate", "sluice-dev"))
        self.apt("install", "--no-install-recommends", "sluice-dev")
        require(self.ours() == {"sluice-dev"}, self.ours())
        self.run("useradd", "--create-home", "--home-dir", HOME, "--shell", "/bin/sh", "author")
        self.run("sh", "-c", "echo 'author ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/author")

    def test_cmake(self):
        """the first commands of the guide create a backend that builds with CMake and passes its tests"""
        said = self.walk(1, begins="sluice-plugin-new")
        require("100% tests passed" in said and "No tests were found" not in said, said)
        self.require_plugin(f"{HOME}/{BACKEND}/build/{BACKEND}.so")

    def test_autopkgtest(self):
        """the autopkgtest of sluice-dev passes"""
        shutil.copy(SRC / "packaging/debian/tests/author", self.machine.root / "srv/author-of-debian")
        self.as_author("export AUTOPKGTEST_TMP=$(mktemp -d)\n/srv/author-of-debian")

    def test_daemon(self):
        """the daemon runs the backend from its build folder, reads the Service of the example, and cleans up"""
        self.apt("install", "--no-install-recommends", "sluice", "sluice-conformance")
        said = self.walk(2, begins="sudo cmake --install")
        require("(IPv4): generation" in said, said)
        require("10.96.0.80:80 to 10.1.0.11:8080 10.1.0.12:8080" in said, said)
        self.walk(3, begins="sudo unshare --net sluiced --cleanup")
        left = self.run("find", "/tmp/try-dpu", "-path", "*/ipv4/*")
        require(not left, left)

    def test_conformance(self):
        """the conformance kit passes the commands of the guide, and finds that the skeleton does not deliver packets"""
        said = self.walk(4, begins="sudo sluice-conformance")
        require("# 5 passed, 0 failed, 0 skipped" in said, said)
        readme = self.run("cat", f"{HOME}/{BACKEND}/README.md").replace("\\\n", "").split()
        command = self.block(4).split()
        require(any(readme[at:at + len(command)] == command for at in range(len(readme))), readme)
        done = self.machine.run("sh", "-ec", f"cd {HOME}/{BACKEND}\nsluice-conformance --plugin build/{BACKEND}.so "
                                "--only cases_clusterip.pod_to_cluster_ip --family v4 --protocol tcp", timeout=600)
        require(done.returncode == 1 and "pod does not reach" in done.stdout, done.stdout + done.stderr)

    def test_autotools(self):
        """a skeleton for the Autotools builds and passes, too"""
        said = self.walk(5, begins="cd ..")
        require("# FAIL:  0" in said and "# PASS:  0" not in said, said)
        self.require_plugin(f"{HOME}/dpu-autotools/.libs/{BACKEND}.so")

    def test_c(self):
        """a skeleton in C builds, passes its tests and those of the kit"""
        self.bind(6, "c")

    def test_rust(self):
        """a skeleton in Rust builds, passes its tests and those of the kit"""
        self.bind(7, "rust")

    def bind(self, number, language):
        said = self.walk(number, begins="cd ..")
        require("1..25" in said and "not ok" not in said, said)
        require("# 5 passed, 0 failed, 0 skipped" in said, said)
        self.require_plugin(f"{HOME}/dpu-{language}/{BACKEND}.so")


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    parser.add_argument("--debs", required=True, type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    build = options.builddir.resolve()
    work = build / "package-test"
    work.mkdir(exist_ok=True)
    packages = Packages(work, build, options.debs.resolve())
    root = work / "author"
    tests = Tests()
    try:
        if not (SRC / "sdk/tools/sluice-plugin-new.in").exists():
            raise CannotRun("these sources have no sluice-plugin-new")
        shutil.rmtree(root, ignore_errors=True)
        make_root(root, TOOLS)
        fetch(root, foreign(packages, "Depends"))
        make_archive(root, packages)
        tests.run(Author(Chroot(root)))
    except CannotRun as why:
        tests.run(Author.__new__(Author), skip=str(why).replace("\n", " "))
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
