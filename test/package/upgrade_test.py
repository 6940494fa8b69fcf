#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Upgrade to the packages and back, in each mode, while connections are made and one is held: on a kernel of Debian's
that was booted with the systemd of a clean Debian, in a virtual machine (test/vm/README.md). Prints TAP.

  upgrade_test.py --builddir DIR --debs DIR [--old FILE] [--mode MODE]… [--kernel VERSION]

--old takes the package from before backends had their own; without it one is made of the files of the new ones.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from container import CannotRun, ProcessOne, mask
from machine import MANIFEST, SERVICE_IP, exchange, manifest
from outcome import Tests, pace, require, stretched
from package_test import BACKENDS, OLD_VERSION, Installed, Packages, ended, furnish, prepare

SRC = Path(__file__).resolve().parents[2]
# Of the whole machine, which may be emulated.
LIMIT = 14400


class Moved(Installed):
    """Upgrades with apt from the single package to the split packages, and downgrades."""

    def __init__(self, container, mode):
        super().__init__(container)
        self.mode = mode

    def version(self):
        return self.run("dpkg-query", "-W", "-f", "${Version}", "sluice")

    def kept(self, what):
        """Runs `what` while connections are made, which must succeed, and while one is held, which must continue. In userspace
        mode the daemon relays it: there it ends with the process, and so may a connection that is being made."""
        command = self.container.command("netecho", "hold", "tcp", SERVICE_IP, "80", "--timeout", f"{stretched(5000):.0f}")
        held = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            require(held.stdout.readline().startswith("established"), "no connection to hold")
            self.hammered(what, most_failures=2 if self.mode == "userspace" else 0)
            time.sleep(0.5 * pace.SLOWNESS)  # fixed time: the held connection sends requests, and must not end
            require(self.mode == "userspace" or held.poll() is None, held.stdout.read() if held.poll() is not None else "")
        finally:
            held.kill()
            held.wait()
        self.wait_active()
        self.require_served()
        require(self.status()["mode"] == self.mode, self.status()["mode"])
        require("the operator was here" in self.path("/etc/sluice/config.yaml").read_text(encoding="utf-8"))

    def test_served(self):
        """the package from before the split serves in this mode"""
        if self.version() != OLD_VERSION:
            self.apt("install", "--allow-downgrades", f"sluice={OLD_VERSION}")
        config = self.path("/etc/sluice/config.yaml")
        text = config.read_text(encoding="utf-8")
        if "the operator was here" not in text:
            text += "# the operator was here\n"
        exchange(config, re.sub(r"^mode: .*$", f"mode: {self.mode}", text, flags=re.MULTILINE))
        done = self.container.run("systemctl", "restart", "sluiced.service")
        require(done.returncode == 0, f"{done.stderr}{self.journal()[-4000:]}")
        self.require_served()

    def test_upgrade(self):
        """apt full-upgrade installs the packages of backends, no connection fails, and the held connection continues"""
        self.kept(lambda: self.apt("full-upgrade"))
        require({"sluice", *(f"sluice-backend-{one}" for one in BACKENDS)} <= self.installed(), self.installed())
        require(self.version() != OLD_VERSION)
        self.run("dpkg", "--audit")

    def test_downgrade(self):
        """in a downgrade no connection fails, and the held connection continues"""
        self.kept(lambda: self.apt("install", "--allow-downgrades", f"sluice={OLD_VERSION}"))
        require(not {name for name in self.installed() if "backend" in name}, self.installed())
        require(self.version() == OLD_VERSION)
        self.require_whole()


class Begun(Installed):
    """Runs once, before all modes."""

    def test_boot(self):
        """systemd is process 1 of this machine, and has finished booting"""
        require(Path("/proc/1/comm").read_text(encoding="ascii").strip() == "systemd")
        failed = self.run("systemctl", "list-units", "--failed", "--plain", "--no-legend")
        require(not failed, failed)

    def test_install(self):
        """the package from before the split is installed, and started"""
        self.update()
        # Ipvs mode has modules loaded. apt brings what is recommended only where an earlier version did not recommend it.
        self.apt("install", "--no-install-recommends", f"sluice={OLD_VERSION}", "kmod")
        self.wait_active()
        self.make_pod()
        self.path(MANIFEST).write_text(manifest(), encoding="ascii")
        self.require_served()


def inside(root, modes):
    tests = Tests()
    machine = ProcessOne(root)
    machine.wait_until_up()
    tests.run(Begun(machine))
    for mode in modes:
        tests.run(Moved(machine, mode), about=mode)
    return tests.finish()


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    parser.add_argument("--debs", type=Path)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--mode", action="append", choices=BACKENDS)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--root", help=argparse.SUPPRESS)  # for the part in the virtual machine
    options = parser.parse_args()
    modes = options.mode or list(BACKENDS)
    build = options.builddir.resolve()
    if options.root:
        return inside(options.root, modes)

    work = build / "package-test"
    work.mkdir(exist_ok=True)
    root = work / "upgraded"
    packages = Packages(work, build, options.debs and options.debs.resolve())
    try:
        prepare(root, packages)
        mask(root)
        furnish(root, packages, build, options.old and options.old.resolve())
        again = ["/usr/bin/python3", os.path.abspath(__file__), "--builddir", str(build), "--root", str(root)]
        done = subprocess.run([str(SRC / "test/vm/run"), "--builddir", str(build), "--kernel", options.kernel,
                               "--limit", str(LIMIT), "--systemd", str(root), "--", *again,
                               *(word for mode in modes for word in ("--mode", mode))], check=False)
        return done.returncode
    except CannotRun as why:
        tests = Tests()
        for mode in modes:
            tests.run(Moved.__new__(Moved), skip=str(why).replace("\n", " "), about=mode)
        return tests.finish()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
