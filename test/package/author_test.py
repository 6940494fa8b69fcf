#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The machine of who writes a backend: a clean Debian with a compiler and the package sluice-dev, nothing else of ours.
A skeleton is made, built and tested there; then the conformance kit is installed with the daemon, judges it, and the daemon
runs it. Prints TAP. Needs root.

  author_test.py --builddir DIR --debs DIR [--keep]
"""

import argparse
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from container import CannotRun, System, make_root
from outcome import Tests, require, stretched, succeed
from package_test import SOURCE, Packages, ended, fetch, foreign, make_archive

SRC = Path(__file__).resolve().parents[2]
TOOLS = ("autoconf", "automake", "cmake", "g++", "libtool", "make", "pkg-config")
BACKEND = "com.example.dpu"
# Whoever this is, it is not root.
AUTHOR = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", "HOME=/srv/author")


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
    """Without systemd, and without network."""

    def command(self, *argv):
        return ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-ec", ENTER,
                "sh", str(self.root), *self.ENVIRONMENT, *argv]


class Author:
    """From the package to a backend that the daemon runs."""

    def __init__(self, machine):
        self.machine = machine

    def run(self, *argv):
        return succeed(self.machine.run(*argv, timeout=600))

    def as_author(self, folder, script):
        """What the commands say; the first that fails ends them."""
        return self.run(*AUTHOR, "sh", "-ec", f"cd {folder}\n{script}")

    def apt(self, *argv):
        return self.run("apt-get", "-y", "-o", "APT::Get::List-Cleanup=0", "-o", "Dpkg::Use-Pty=0", *argv)

    def ours(self):
        said = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", "sluice*")
        return {line.split()[-1] for line in said.splitlines() if line.startswith("ii")}

    def require_plugin(self, file):
        shown = self.run("nm", "-D", "--defined-only", file).split()
        require(shown[-1:] == ["sluice_plugin_entry"] and len(shown) == 3, f"{file} exports {shown}")

    def test_install(self):
        """apt installs sluice-dev, and nothing else of ours has to come with it; the conformance kit does unless it is declined"""
        self.apt("update", "-o", f"Dir::Etc::SourceList={SOURCE}", "-o", "Dir::Etc::SourceParts=-")
        require("Inst sluice-conformance " in self.apt("install", "--simulate", "sluice-dev"))
        self.apt("install", "--no-install-recommends", "sluice-dev")
        require(self.ours() == {"sluice-dev"}, self.ours())
        self.run("install", "-d", "-o", "1000", "-g", "1000", "/srv/author")

    def test_cmake(self):
        """a skeleton builds with CMake, and passes its tests"""
        self.as_author("/srv/author", f"sluice-plugin-new {BACKEND}")
        said = self.as_author(f"/srv/author/{BACKEND}",
                              "cmake -S . -B build\ncmake --build build\nctest --test-dir build --output-on-failure")
        require("100% tests passed" in said and "No tests were found" not in said, said)
        self.require_plugin(f"/srv/author/{BACKEND}/build/{BACKEND}.so")

    def test_autotools(self):
        """one for the Autotools does, too"""
        self.as_author("/srv/author", f"sluice-plugin-new --build autotools --directory other {BACKEND}")
        said = self.as_author("/srv/author/other", "autoreconf --install 2>&1\n./configure\nmake\nmake check")
        require("# FAIL:  0" in said and "# PASS:  0" not in said, said)
        self.require_plugin(f"/srv/author/other/.libs/{BACKEND}.so")

    def test_conformance(self):
        """the conformance kit passes what was built as its README says, and misses the packets that it brings nowhere"""
        self.apt("install", "--no-install-recommends", "sluice-conformance")
        lines = self.run("cat", f"/srv/author/{BACKEND}/README.md").splitlines()
        begin = next(number for number, line in enumerate(lines) if line.startswith("    sudo sluice-conformance "))
        command = "\n".join(lines[begin:begin + 2]).replace("sudo ", "")
        said = self.run("sh", "-ec", f"cd /srv/author/{BACKEND}\n{command} --strict")
        require("# 5 passed, 0 failed, 0 skipped" in said, said)
        done = self.machine.run("sh", "-ec", f"cd /srv/author/{BACKEND}\nsluice-conformance --plugin build/{BACKEND}.so "
                                "--only cases_clusterip.pod_to_cluster_ip --family v4 --protocol tcp", timeout=600)
        require(done.returncode == 1 and "pod does not reach" in done.stdout, done.stdout + done.stderr)

    def test_daemon(self):
        """installed, the daemon runs it where its build has put it, and it has read the Service of the example"""
        self.apt("install", "--no-install-recommends", "sluice")
        self.run("cmake", "--install", f"/srv/author/{BACKEND}/build")
        said = self.run("sh", "-ec", f"""cd /srv/author/{BACKEND}
            timeout --preserve-status {stretched(5):g} sluiced --proxy-mode {BACKEND} --manifests example.yaml \\
              --hostname-override node-1 --state-dir /tmp/try-dpu 2>&1
            cat /tmp/try-dpu/backends/{BACKEND}/ipv4/*""")
        require("(IPv4): generation" in said, said)
        require("10.96.0.80:80 to 10.1.0.11:8080 10.1.0.12:8080" in said, said)


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
