#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the Debian packages: build, installation with apt in a clean Debian with its own systemd, use, upgrade, removal and
purge. Prints TAP; tests that this machine cannot run are skipped with the reason. Needs root.
contents.py checks the content of the packages (licences, bill of materials).

  package_test.py --builddir DIR [--debs DIR] [--keep]

DIR is a build tree. --debs takes packages that are built already; --keep does not delete the Debian.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from container import CannotRun, Container, forget_other_packages, make_root
from contents import EVERY, NAMES, Contents
from machine import MANIFEST, SOURCE, UNIT, Machine, exchange, manifest, without_counters
from outcome import Tests, call, require, stretched, wait_for
from replacement import Replacement
from sandbox import require_explained, require_quoted

SRC = Path(__file__).resolve().parents[2]
BACKENDS = ("iptables", "ipvs", "nftables", "userspace")
# The single package before the split, see old_package().
OLD_VERSION = "0.1.0-1"
# Only in its configuration.
OLD_LINE = "# as it was before the split\n"


class Packages:
    """Tests of the package files, without an installation."""

    def __init__(self, work, build, debs):
        self.work = work
        self.build = build
        self.folder = debs or work / "debs"
        self.given = debs is not None

    def file(self, name):
        found = sorted(self.folder.glob(f"{name}_*.deb"))
        require(len(found) == 1, f"packages named {name} in {self.folder}: {found}")
        return found[0]

    def test_build(self):
        """packages are built from the tarball"""
        if not self.given:
            call(str(SRC / "packaging/debian/build.sh"), str(self.folder), str(self.build), timeout=1500)
        for name in (*EVERY, "sluice-dbgsym"):
            self.file(name)

    def test_build_depends(self):
        """Build-Depends has every library that install-deps.sh installs"""
        script = (SRC / "packaging/install-deps.sh").read_text(encoding="utf-8")
        wanted = re.search(r'^BUILD="([^"]*)"', script, re.MULTILINE).group(1).split()
        named = re.findall(r"[a-z0-9][a-z0-9.+-]+", (SRC / "packaging/debian/control").read_text(encoding="utf-8"))
        missing = [name for name in wanted if name.endswith("-dev") and name not in named]
        require(not missing, f"not in Build-Depends: {missing}")

    def test_lintian(self):
        """lintian finds nothing in the packages, and each override has a reason"""
        changes, = self.folder.glob("sluice_*.changes")
        # Adjacent strings in a binary, without a space between them, look like misspelt words.
        call("lintian", "--pedantic", "--display-info", "--fail-on", "error,warning,info,pedantic", "--allow-root",
             "--suppress-tags", "spelling-error-in-binary", str(changes), timeout=300)
        for overrides in (SRC / "packaging/debian").glob("*.lintian-overrides"):
            lines = [line for line in overrides.read_text(encoding="utf-8").splitlines() if line]
            bare = [line for before, line in zip(["", *lines], lines) if not line.startswith("#") and not before.startswith("#")]
            require(not bare, f"{overrides.name}: without a reason before it: {bare}")

    def test_example_builds(self):
        """the example of the SDK package builds without other packages of ours"""
        root = self.work / "sdk"
        call("dpkg-deb", "-x", str(self.file("sluice-dev")), str(root))
        example = self.work / "print"
        shutil.rmtree(example, ignore_errors=True)
        shutil.copytree(root / "usr/share/doc/sluice-dev/examples/print", example)
        config = next(root.glob("usr/lib/*/pkgconfig"))
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(config), PKG_CONFIG_SYSROOT_DIR=str(root))
        # pkg-config does not prefix variables with the system root.
        plugin_map = root / "usr/share/sluice/plugin.map"
        version = call("pkg-config", "--modversion", "sluice-sdk", env=environment).strip()
        require(version in self.file("sluice-dev").name, version)
        flags = call("pkg-config", "--cflags", "sluice-sdk", env=environment).split()
        call("g++", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Werror", *flags, "-Wl,-z,defs",
             f"-Wl,--version-script={plugin_map}", "-o", str(example / "print.so"), str(example / "print.cpp"))


class Installed(Machine):
    """Tests in a clean Debian with systemd: apt installs the packages and starts the service."""

    def require_whole(self):
        """Files that moved from one package to another exist."""
        missing = [name for name in self.run("dpkg", "-L", "sluice").splitlines() if not os.path.lexists(self.path(name))]
        require(not missing, missing)
        there = {name.stem for name in self.container.root.glob("usr/lib/*/sluice/plugins/*.so")}
        require(there == set(BACKENDS), there)

    def require_kept(self, with_line):
        """The operator's configuration is active, and that of the package is beside it."""
        require("the operator was here" in self.path("/etc/sluice/config.yaml").read_text(encoding="utf-8"))
        brought = self.path("/etc/sluice/config.yaml.dpkg-dist").read_text(encoding="utf-8")
        require((OLD_LINE in brought) == with_line, brought)

    def would_install(self, *names):
        said = self.apt("install", "--simulate", *names)
        return {line.split()[1] for line in said.splitlines() if line.startswith("Inst ")}

    def test_apt_alternatives(self):
        """any one backend is enough, and by default apt installs all"""
        self.update()
        ours = lambda found: {name for name in found if name.startswith("sluice")}
        lean = "--no-install-recommends"
        found = ours(self.would_install(lean, "sluice"))
        require(found == {"sluice", "sluice-backend-iptables"}, found)
        for backend in BACKENDS:
            found = self.would_install(lean, "sluice", f"sluice-backend-{backend}")
            require(ours(found) == {"sluice", f"sluice-backend-{backend}"}, found)
            require(("iptables" in found) == (backend != "nftables"), found)
        found = ours(self.would_install("sluice"))
        require(found == {"sluice", *(f"sluice-backend-{one}" for one in BACKENDS)}, found)
        # Authors of backends get the conformance kit by default.
        require("sluice-conformance" in self.would_install("sluice-dev"))

    def test_apt_install(self):
        """apt installs the packages with their dependencies, and starts and enables the service"""
        self.apt("install", "--no-install-recommends", *NAMES)
        require(self.installed() == set(NAMES), self.installed())
        self.wait_active()
        require(self.run("systemctl", "is-enabled", UNIT).strip() == "enabled")

    def test_files(self):
        """installed files exist and belong to their packages, and man finds the pages"""
        listed = self.run("dpkg", "-L", "sluice").splitlines()
        for name in ("/usr/sbin/sluiced", "/usr/sbin/sluicectl", "/etc/sluice/config.yaml", "/etc/sluice/manifests",
                     "/lib/systemd/system/sluiced.service", "/usr/share/doc/sluice/copyright",
                     "/usr/share/doc/sluice/examples/config.yaml", "/usr/share/doc/sluice/examples/alerts.yaml",
                     "/usr/share/doc/sluice/runbooks/README.md"):
            require(name in listed, f"not in sluice: {name}")
            require(self.path(name).exists(), name)
        for backend in BACKENDS:
            of_backend = self.run("dpkg", "-L", f"sluice-backend-{backend}").splitlines()
            plugins = [name for name in of_backend if name.endswith(".so")]
            require(len(plugins) == 1 and plugins[0].endswith(f"/sluice/plugins/{backend}.so"), plugins)
        require(not any(name.endswith(".so") for name in listed), listed)
        for name in ("install.md", "abi.md", "decisions", "reference/flags.md"):
            require(any(self.path("/usr/share/doc/sluice").glob(f"{name}*")), name)
        for page in ("sluiced", "sluicectl", "sluiced.conf"):
            self.run("man", "-w", page)
        require(self.run("sluiced", "--version").startswith("sluiced "))

    def test_check(self):
        """the installed configuration and the example are usable"""
        self.run("sluiced", "--check", "--config", "/etc/sluice/config.yaml")
        status = self.container.run("sluiced", "--check", "--config", "/usr/share/doc/sluice/examples/config.yaml")
        require("configuration is" in status.stdout, status.stdout + status.stderr)

    def test_conformance(self):
        """the conformance kit tests a backend with only the dependencies of its package"""
        self.run("man", "-w", "sluice-conformance")
        plugin, = (name for name in self.run("dpkg", "-L", "sluice-backend-nftables").splitlines() if name.endswith(".so"))
        said = self.run("sluice-conformance", "--plugin", plugin, "--short", "--strict", "--only", "file", "--only", "contract",
                        "--only", "cases_clusterip.pod_to_cluster_ip")
        require(" 0 failed, 0 skipped" in said and ": a pod reaches all endpoints" in said, said)

    def test_unit_verify(self):
        """systemd-analyze finds nothing wrong with the unit"""
        done = self.container.run("systemd-analyze", "verify", UNIT)
        require(done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr)

    def security(self, *options):
        return self.run("systemd-analyze", "security", "--offline=true", "--no-pager", *options, UNIT)

    def test_unit_security(self):
        """the sandbox of the unit has the documented score, and a reason for each option not used"""
        unit = self.path("/lib/systemd/system/sluiced.service").read_text(encoding="utf-8")
        require_explained(unit, json.loads(self.security("--json=short")))
        require_quoted(page("security.md"), "the unit, for all four modes", self.security())

    def test_status(self):
        """the unit has type notify, a status text and a watchdog"""
        require(self.unit("Type") == "notify", self.unit("Type"))
        require(self.unit("NotifyAccess") == "main")
        require(self.unit("WatchdogUSec") not in ("0", "infinity"))
        wait_for(lambda: "generation" in self.unit("StatusText"), lambda: "a generation in: " + self.unit("StatusText"))

    def test_served(self):
        """a Service in a manifest is served by the running service"""
        self.make_pod()
        self.path(MANIFEST).write_text(manifest(), encoding="ascii")
        self.require_served()
        status = json.loads(self.run("sluicectl", "status", "--wait", "-o", "json"))
        require(all(family["synced"] for family in status["families"]), status)

    def test_reload(self):
        """systemctl reload applies the configuration, or rejects it as a whole and fails; the daemon keeps running"""
        before = self.unit("MainPID")
        config = self.path("/etc/sluice/config.yaml")
        text = config.read_text(encoding="utf-8")
        try:
            self.run("systemctl", "reload", UNIT)
            wait_for(lambda: "nothing has changed" in self.journal(), "a reload without a change in the journal")
            exchange(config, replaced(text, "mode: iptables", "mode: iptables\niptables: {masqueradeBit: 20}"))
            self.run("systemctl", "reload", UNIT)
            wait_for(lambda: "0x100000/0x100000" in self.rules(), lambda: "the other mark in:\n" + self.rules())
            rules = without_counters(self.rules())
            exchange(config, replaced(text, "[primary]", "[nowhere]"))
            done = self.container.run("systemctl", "reload", UNIT)
            require(done.returncode != 0, "a wrong configuration, and systemctl reload succeeds")
            wait_for(lambda: refusal_of("nowhere", self.journal()), lambda: "the refusal in:\n" + self.journal())
            require(without_counters(self.rules()) == rules, self.rules())
            require(self.unit("ActiveState") == "active" and self.unit("ReloadResult") != "success", self.unit("ReloadResult"))
        finally:
            exchange(config, text)
        self.run("systemctl", "reload", UNIT)
        wait_for(lambda: "0x100000/0x100000" not in self.rules(), lambda: "the mark as before in:\n" + self.rules())
        require(self.unit("MainPID") == before and self.unit("ActiveState") == "active")
        self.require_served()

    def test_killed(self):
        """a killed or hanging daemon is restarted and adopts its rules"""
        drop_in = self.path("/etc/systemd/system/sluiced.service.d/test.conf")
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text(f"[Service]\nRestartSec=100ms\nWatchdogSec={stretched(6):g}s\n", encoding="ascii")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "restart", UNIT)
        for name, seconds in (("KILL", 60), ("STOP", 60)):
            before = self.unit("MainPID")
            self.run("kill", f"-{name}", before)
            wait_for(lambda before=before: self.unit("MainPID") not in (before, "0"), f"another process after {name}", seconds)
            self.wait_active()
            self.require_served()
        require(int(self.unit("NRestarts")) >= 2, self.unit("NRestarts"))
        drop_in.unlink()
        drop_in.parent.rmdir()
        self.run("systemctl", "daemon-reload")

    def test_no_server(self):
        """without an API server the service starts, waits for it, and keeps the rules"""
        config = self.path("/etc/sluice/config.yaml")
        text = config.read_text(encoding="utf-8")
        before = without_counters(self.rules())
        self.path("/etc/sluice/kubeconfig").write_text(kubeconfig(), encoding="ascii")
        exchange(config, text.split("---")[0] + "clientConnection: {kubeconfig: /etc/sluice/kubeconfig}\n")
        self.run("systemctl", "restart", UNIT)
        require(self.unit("ActiveState") == "active", self.unit("ActiveState"))
        wait_for(lambda: self.unit("StatusText").startswith("waiting for the API server"),
                 lambda: "waiting in: " + self.unit("StatusText"))
        require(without_counters(self.rules()) == before, "other rules than before")
        exchange(config, text)
        self.run("systemctl", "restart", UNIT)
        self.wait_active()
        self.require_served()

    def test_one_backend(self):
        """with one backend the service continues; another mode is an error, and works after its package is installed"""
        others = [f"sluice-backend-{one}" for one in BACKENDS if one != "iptables"]
        config = self.path("/etc/sluice/config.yaml")
        text = config.read_text(encoding="utf-8")
        try:
            self.hammered(lambda: self.apt("purge", *others))
            require(self.installed() == set(NAMES) - set(others), self.installed())
            exchange(config, replaced(text, "mode: iptables", "mode: nftables"))
            for argv in (("sluiced", "--check", "--config", "/etc/sluice/config.yaml"), ("sluicectl", "reload")):
                done = self.container.run(*argv)
                said = done.stdout + done.stderr
                require(done.returncode != 0, f"{argv} succeeds without the backend\n{said}")
                require("nftables" in said and "not installed" in said and "iptables" in said, said)
            self.require_served()
            # The installation of the package makes the daemon use the backend.
            self.hammered(lambda: self.apt("install", "sluice-backend-nftables"))
            wait_for(lambda: self.status()["mode"] == "nftables", lambda: f"nftables mode in {self.status()}")
            self.require_served()
            wait_for(lambda: "KUBE-SERVICES" not in self.rules(), lambda: "iptables mode gone from:\n" + self.rules())
        finally:
            # Later tests need every backend, even if this test fails.
            exchange(config, text)
            self.apt("install", "--no-install-recommends", *others)
        self.run("systemctl", "reload", UNIT)
        wait_for(lambda: self.status()["mode"] == "iptables", lambda: f"iptables mode in {self.status()}")
        self.require_served()

    def test_sandbox(self):
        """nftables mode works with the tighter sandbox of the examples, which has the documented score"""
        config = self.path("/etc/sluice/config.yaml")
        text = config.read_text(encoding="utf-8")
        drop_in = self.path("/etc/systemd/system/sluiced.service.d/nftables.conf")
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        exchange(config, replaced(text, "mode: iptables", "mode: nftables"))
        self.run("systemctl", "reload", UNIT)
        try:
            shutil.copy(self.path("/usr/share/doc/sluice/examples/nftables.conf"), drop_in)
            self.run("systemctl", "daemon-reload")
            require_quoted(page("security.md"), "with `examples/nftables.conf`", self.security())
            self.run("systemctl", "restart", UNIT)
            self.wait_active()
            wait_for(lambda: all(family["synced"] for family in self.status()["families"]), lambda: f"a sync: {self.status()}")
            self.require_served()
        finally:
            drop_in.unlink()
            drop_in.parent.rmdir()
            self.run("systemctl", "daemon-reload")
            self.run("systemctl", "restart", UNIT)
            exchange(config, text)
        self.run("systemctl", "reload", UNIT)
        self.require_served()

    def test_exchange(self):
        """a reinstallation keeps the configuration and restarts the daemon, which writes no rules; no connection fails"""
        config = self.path("/etc/sluice/config.yaml")
        exchange(config, config.read_text(encoding="utf-8") + "# the operator was here\n")
        before = self.unit("MainPID")
        self.hammered(lambda: self.apt("install", "--reinstall", *NAMES))
        self.wait_active()
        require(self.unit("MainPID") != before, "the same process")
        require("the operator was here" in config.read_text(encoding="utf-8"))
        self.require_served()
        families = self.status()["families"]
        require(all(family["last_apply"]["kernel_writes"] == 0 for family in families), families)

    def test_exchange_backend(self):
        """reinstalling the active backend makes the same process load the new file"""
        before = self.unit("MainPID")
        self.apt("install", "--reinstall", "sluice-backend-iptables")
        wait_for(lambda: self.journal().rstrip().splitlines()[-1:] and "reload (" in self.journal(), "a reload in the journal")
        require(self.unit("MainPID") == before, "another process")
        self.require_served()

    def test_downgrade(self):
        """a downgrade to the single package fails no connection and keeps the configuration"""
        self.hammered(lambda: self.apt("install", "--allow-downgrades", f"sluice={OLD_VERSION}"))
        require(not {name for name in self.installed() if "backend" in name}, self.installed())
        require(self.run("dpkg-query", "-W", "-f", "${Version}", "sluice") == OLD_VERSION)
        self.wait_active()
        self.require_served()
        self.require_kept(with_line=True)
        self.require_whole()

    def test_upgrade(self):
        """an upgrade from the single package installs the split packages and fails no connection"""
        self.hammered(lambda: self.apt("full-upgrade"))
        require({"sluice", *(f"sluice-backend-{one}" for one in BACKENDS)} <= self.installed(), self.installed())
        require(self.run("dpkg-query", "-W", "-f", "${Version}", "sluice") != OLD_VERSION)
        self.wait_active()
        self.require_served()
        self.require_kept(with_line=False)
        self.run("dpkg", "--audit")

    def test_autopkgtest(self):
        """the autopkgtest passes: the service in a network namespace, with connections"""
        source = self.path("/srv/source")
        for name in ("packaging/demo", "packaging/debian/tests"):
            shutil.copytree(SRC / name, source / name)
        self.run("sh", "-c", "cd /srv/source && packaging/debian/tests/demo --netecho /usr/local/bin/netecho", timeout=200)
        self.wait_active()
        self.require_served()

    def test_unconfigured(self):
        """on a cluster node an installation without configuration is not started"""
        exchange(self.path("/etc/sluice/config.yaml"), self.path("/usr/share/sluice/config.yaml").read_text(encoding="utf-8"))
        aside = self.path("/srv/web.yaml")
        shutil.move(self.path(MANIFEST), aside)
        self.path("/var/lib/kubelet").mkdir()
        self.run("systemctl", "stop", UNIT)
        before = self.rules()
        self.container.run("systemctl", "start", UNIT)
        wait_for(lambda: "is not started, because" in self.journal(), "the reason in the journal")
        require(self.unit("ActiveState") == "inactive", self.unit("ActiveState"))
        require("KUBE-SERVICES" in self.rules() and without_counters(before) == without_counters(self.rules()))
        # A manifest counts as configuration.
        shutil.move(aside, self.path(MANIFEST))
        self.run("systemctl", "start", UNIT)
        self.wait_active()
        self.path("/var/lib/kubelet").rmdir()
        self.require_served()

    def test_remove(self):
        """a removal keeps the rules and the configuration"""
        before = without_counters(self.rules())
        self.apt("remove", *self.installed() - {"sluice-dev"})
        require(self.container.run("pidof", "sluiced").returncode != 0, "a process is left")
        require(without_counters(self.rules()) == before, "other rules than before")
        require(self.path("/etc/sluice/config.yaml").exists() and self.path(MANIFEST).exists())
        require("5 ok pod" in self.answers(), self.answers())

    def test_purge_beside(self):
        """a purge while kube-proxy runs keeps the rules, which kube-proxy uses by then"""
        shutil.copy(self.path("/usr/bin/sleep"), self.path("/usr/local/bin/kube-proxy"))
        self.container.start("kube-proxy", "3600")
        wait_for(lambda: self.container.run("pidof", "kube-proxy").returncode == 0, "a process named kube-proxy")
        before = without_counters(self.rules())
        self.run("dpkg", "-P", "sluice")
        require(without_counters(self.rules()) == before, "other rules than before")
        require("5 ok pod" in self.answers(), self.answers())
        self.run("sh", "-c", "kill $(pidof kube-proxy)")
        self.path("/usr/local/bin/kube-proxy").unlink()

    def test_beside_rules(self):
        """installed beside active rules of another proxy, the service is not started and the rules stay"""
        before = without_counters(self.rules())
        self.apt("install", "--no-install-recommends", "sluice")
        require(self.unit("ActiveState") == "inactive", self.unit("ActiveState"))
        require("KUBE-SERVICES" in self.rules() and without_counters(self.rules()) == before, "other rules than before")

    def test_purge(self):
        """a purge removes all rules and files"""
        self.path(MANIFEST).write_text(manifest(), encoding="ascii")
        self.run("systemctl", "start", UNIT)
        self.wait_active()
        wait_for(lambda: "generation" in self.unit("StatusText"), lambda: "a generation in: " + self.unit("StatusText"))
        # Removed before the daemon, so that the clean-up finds no backend, only the ownership ledger.
        self.run("dpkg", "--purge", "--force-depends", "sluice-backend-iptables")
        self.apt("purge", *self.known())
        require(not self.known(), self.known())
        for command in ("iptables-save", "ip6tables-save"):
            left = [line for line in self.run(command).splitlines() if "KUBE-" in line and "KUBE-FIREWALL" not in line]
            require(not left, left)
        self.run("test", "!", "-e", "/run/sluice")
        # Except files of the tests, and the cache of man, which systemd-analyze fills.
        left = self.run("find", "/", "-xdev", "-name", "*sluice*", "-not", "-path", "/srv/*", "-not", "-path",
                        "/var/cache/man/*").splitlines()
        require(not left, left)


def page(name):
    return (SRC / "docs" / name).read_text(encoding="utf-8")


def replaced(text, one, other):
    require(one in text, f"no {one} in:\n{text}")
    return text.replace(one, other)


def refusal_of(word, journal):
    return any("reload (" in line and "failed; keeping the running configuration" in line and word in line for line in journal.splitlines())


def kubeconfig():
    """A server that does not exist."""
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                       "users": [{"name": "u", "user": {}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


def old_package(packages, work):
    """The single package before the split into backends, made of current files."""
    shutil.rmtree(work, ignore_errors=True)
    depends = ["iptables"]
    for name in NAMES:
        if name in ("sluice-dev", "sluice-conformance"):
            continue  # not part of it
        call("dpkg-deb", "-x", str(packages.file(name)), str(work))
        depends += call("dpkg-deb", "--field", str(packages.file(name)), "Depends").strip().split(", ")
    for name in ("etc/sluice/config.yaml", "usr/share/sluice/config.yaml"):
        with (work / name).open("a", encoding="utf-8") as file:
            file.write(OLD_LINE)
    for folder in (work / "usr/share/doc").glob("sluice-*"):
        shutil.rmtree(folder)
    call("dpkg-deb", "-e", str(packages.file("sluice")), str(work / "DEBIAN"))
    for name in ("md5sums", "triggers"):
        (work / "DEBIAN" / name).unlink()
    control = work / "DEBIAN/control"
    fields = [line for line in control.read_text(encoding="utf-8").splitlines()
              if not line.startswith(("Recommends:", "Suggests:", "Depends:"))]
    kept = sorted({one for one in depends if one and "sluice" not in one})
    fields[1:1] = [f"Depends: {', '.join(kept)}"]
    text = re.sub(r"^Version: .*$", f"Version: {OLD_VERSION}", "\n".join(fields), flags=re.MULTILINE)
    control.write_text(text + "\n", encoding="utf-8")
    file = work.parent / f"sluice_{OLD_VERSION}.deb"
    call("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(work), str(file))
    return file


def make_archive(root, packages, *more):
    """Creates an archive of our packages and these files, for the apt of that Debian."""
    folder = root / "srv/archive"
    folder.mkdir(parents=True)
    for file in (*(packages.file(name) for name in EVERY), *more):
        shutil.copy(file, folder)
    (folder / "Packages").write_text(call("dpkg-scanpackages", "--multiversion", ".", cwd=folder), encoding="utf-8")
    (root / SOURCE.lstrip("/")).write_text("deb [trusted=yes] file:/srv/archive ./\n", encoding="ascii")


def furnish(root, packages, build, old=None):
    """Provides an archive of the packages and of the one before the split, and the server of the pod."""
    shutil.copy(build / "test/tools/netecho", root / "usr/local/bin/netecho")
    make_archive(root, packages, old or old_package(packages, packages.work / "old"))


def foreign(packages, field):
    """Dependencies of our packages on other packages."""
    asked = (call("dpkg-deb", "--field", str(packages.file(name)), field) for name in NAMES)
    names = {one.split("|")[0].split("(")[0].strip() for line in asked for one in line.split(",")}
    return sorted(name for name in names if name and "sluice" not in name)


def prepare(root, packages):
    """Creates the Debian with all dependencies in its apt cache, because the container has no network."""
    shutil.rmtree(root, ignore_errors=True)
    make_root(root, ["systemd-sysv", "iproute2", "man-db"])
    # Recommendations for authors of backends are big, and are not installed here.
    wanted = foreign(packages, "Depends") + foreign(packages, "Recommends")
    fetch(root, [name for name in wanted if name not in ("g++", "pkg-config")])


def fetch(root, wanted):
    """Downloads these packages with their dependencies into the apt cache of that Debian, whose apt then knows no others."""
    done = subprocess.run(["chroot", str(root), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y",
                           "--no-install-recommends", "--download-only", *wanted],
                          capture_output=True, text=True, timeout=stretched(300), check=False)
    if done.returncode:
        raise CannotRun("what the packages depend on cannot be had: " + done.stderr.strip())
    forget_other_packages(root)


def ended(*_):
    raise SystemExit(143)  # runs the cleanup of the container


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    parser.add_argument("--debs", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    build = options.builddir.resolve()
    work = build / "package-test"
    work.mkdir(exist_ok=True)
    tests = Tests()
    packages = Packages(work, build, options.debs and options.debs.resolve())
    tests.run(packages)
    tests.run(Contents(packages, SRC, build))

    root = work / "debian"
    container = None
    try:
        prepare(root, packages)
        furnish(root, packages, build)
        container = Container(root)
        container.wait_until_up()
        tests.run(Installed(container))
        tests.run(Replacement(container))
    except CannotRun as why:
        for group in (Installed, Replacement):
            tests.run(group.__new__(group), skip=str(why).replace("\n", " "))
    finally:
        if container:
            container.stop()
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
