#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, installed with apt in a clean Debian with a systemd of its own, used, exchanged,
removed, purged. Prints TAP; what this machine cannot do is skipped with the reason. Needs root.

  package_test.py --builddir DIR [--debs DIR] [--keep]

DIR is a build tree. --debs takes packages that are built already; --keep leaves the Debian behind, to look at.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from container import CannotRun, Container, make_root

SRC = Path(__file__).resolve().parents[2]
UNIT = "sluiced.service"
MANIFEST = "/etc/sluice/manifests/web.yaml"
SERVICE_IP, POD_IP, NODE_IP = "10.96.0.80", "10.1.0.11", "10.1.0.1"
# Less is safer, 10 is none: what systemd-analyze makes of the unit, times 10.
MOST_EXPOSURE = 45


class Tests:
    """Runs methods named test_… of a group in their order; one that raises has failed."""

    def __init__(self):
        self.count = self.failed = 0

    def run(self, group, skip=None):
        for name in [name for name in vars(type(group)) if name.startswith("test_")]:
            method = getattr(group, name)
            self.count += 1
            title = f"{self.count} - {method.__doc__}"
            if skip:
                print(f"ok {title} # SKIP {skip}", flush=True)
                continue
            begin = time.monotonic()
            try:
                method()
                print(f"ok {title}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                self.failed += 1
                print(f"not ok {title}")
                for line in f"{type(error).__name__}: {error}".splitlines():
                    print(f"#   {line}")
            print(f"#   {time.monotonic() - begin:.1f} s", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def require(condition, said=""):
    if not condition:
        raise AssertionError(said)


def succeed(done):
    require(done.returncode == 0, f"{' '.join(map(str, done.args))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def call(*argv, **options):
    return succeed(subprocess.run(argv, capture_output=True, text=True, check=False, **options))


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        require(time.monotonic() < end, f"within {seconds} s not: {what() if callable(what) else what}")
        time.sleep(0.1)


class Packages:
    """Of the files, without installing them."""

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
        for name in ("sluice", "sluice-dev", "sluice-conformance", "sluice-dbgsym"):
            self.file(name)

    def test_build_depends(self):
        """the packages name every library that is installed to build from a clone"""
        script = (SRC / "packaging/install-deps.sh").read_text(encoding="utf-8")
        wanted = re.search(r'^BUILD="([^"]*)"', script, re.MULTILINE).group(1).split()
        named = re.findall(r"[a-z0-9][a-z0-9.+-]+", (SRC / "packaging/debian/control").read_text(encoding="utf-8"))
        missing = [name for name in wanted if name.endswith("-dev") and name not in named]
        require(not missing, f"not in Build-Depends: {missing}")

    def test_lintian(self):
        """lintian finds no error in the packages"""
        files = [str(self.file(name)) for name in ("sluice", "sluice-dev", "sluice-conformance")]
        call("lintian", "--fail-on", "error,warning", "--allow-root", "--suppress-tags",
             "initial-upload-closes-no-bugs", *files, timeout=200)

    def test_example_builds(self):
        """the example of the SDK package builds with nothing else of ours"""
        root = self.work / "sdk"
        call("dpkg-deb", "-x", str(self.file("sluice-dev")), str(root))
        example = self.work / "print"
        shutil.rmtree(example, ignore_errors=True)
        shutil.copytree(root / "usr/share/doc/sluice-dev/examples/print", example)
        config = next(root.glob("usr/lib/*/pkgconfig"))
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(config), PKG_CONFIG_SYSROOT_DIR=str(root))
        # A system root is not put before variables.
        plugin_map = root / "usr/share/sluice/plugin.map"
        version = call("pkg-config", "--modversion", "sluice-sdk", env=environment).strip()
        require(version in self.file("sluice-dev").name, version)
        flags = call("pkg-config", "--cflags", "sluice-sdk", env=environment).split()
        call("g++", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Werror", *flags, "-Wl,-z,defs",
             f"-Wl,--version-script={plugin_map}", "-o", str(example / "print.so"), str(example / "print.cpp"))


class Installed:
    """In a clean Debian, with systemd: installed by apt, which starts the service."""

    def __init__(self, container, packages, build):
        self.container = container
        self.packages = packages
        shutil.copy(build / "test/tools/netecho", container.root / "usr/local/bin/netecho")
        for name in ("sluice", "sluice-dev"):
            shutil.copy(packages.file(name), container.root / "srv" / f"{name}.deb")

    def run(self, *argv, **options):
        return succeed(self.container.run(*argv, **options))

    def path(self, name):
        return self.container.root / name.lstrip("/")

    def unit(self, name):
        return self.run("systemctl", "show", "--value", "-p", name, UNIT).strip()

    def wait_active(self):
        wait_for(lambda: self.unit("ActiveState") == "active",
                 lambda: "active\n" + self.container.run("journalctl", "-u", UNIT, "-n", "30", "--no-pager").stdout)

    def rules(self):
        return self.run("iptables-save")

    def answers(self):
        done = self.container.run("netecho", "ask", "tcp", SERVICE_IP, "80", "--count", "5", "--summary")
        return done.stdout + done.stderr

    def require_served(self):
        wait_for(lambda: "5 ok pod" in self.answers(), lambda: "an answer at the Service\n" + self.answers() + self.rules())

    def journal(self):
        return self.run("journalctl", "-u", UNIT, "--no-pager", "-o", "cat")

    def test_apt_install(self):
        """apt installs the packages with what they depend on, and starts and enables the service"""
        self.run("apt-get", "install", "-y", "--no-install-recommends", "/srv/sluice.deb", "/srv/sluice-dev.deb",
                 timeout=300)
        self.wait_active()
        require(self.run("systemctl", "is-enabled", UNIT).strip() == "enabled")

    def test_files(self):
        """what is installed is there and belongs to its package, man pages are found"""
        listed = self.run("dpkg", "-L", "sluice").splitlines()
        for name in ("/usr/sbin/sluiced", "/usr/sbin/sluicectl", "/etc/sluice/config.yaml", "/etc/sluice/manifests",
                     "/lib/systemd/system/sluiced.service", "/usr/share/doc/sluice/copyright",
                     "/usr/share/doc/sluice/examples/config.yaml"):
            require(name in listed, f"not in sluice: {name}")
            require(self.path(name).exists(), name)
        for backend in ("iptables", "ipvs", "nftables", "userspace"):
            require(any(name.endswith(f"/sluice/plugins/{backend}.so") for name in listed), listed)
        for page in ("sluiced", "sluicectl", "sluiced.conf"):
            self.run("man", "-w", page)
        require(self.run("sluiced", "--version").startswith("sluiced "))

    def test_check(self):
        """the configuration as installed, and the example, are usable"""
        self.run("sluiced", "--check", "--config", "/etc/sluice/config.yaml")
        status = self.container.run("sluiced", "--check", "--config", "/usr/share/doc/sluice/examples/config.yaml")
        require("configuration is" in status.stdout, status.stdout + status.stderr)

    def test_unit_verify(self):
        """systemd-analyze finds nothing wrong with the unit, and its sandbox as tight as documented"""
        done = self.container.run("systemd-analyze", "verify", UNIT)
        require(done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr)
        self.run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", "--no-pager", UNIT)

    def test_status(self):
        """the unit is of type notify, says what it does in its status, and has a watchdog"""
        require(self.unit("Type") == "notify", self.unit("Type"))
        require(self.unit("NotifyAccess") == "main")
        require(self.unit("WatchdogUSec") not in ("0", "infinity"))
        wait_for(lambda: "generation" in self.unit("StatusText"), lambda: "a generation in: " + self.unit("StatusText"))

    def test_served(self):
        """a Service in a manifest is served by the running service"""
        for line in ("ip netns add pod", "ip link add veth0 type veth peer name eth0 netns pod",
                     f"ip addr add {NODE_IP}/24 dev veth0", "ip link set veth0 up", "ip link set lo up",
                     f"ip -n pod addr add {POD_IP}/24 dev eth0", "ip -n pod link set eth0 up", "ip -n pod link set lo up",
                     f"ip -n pod route add default via {NODE_IP}", f"ip route add default via {POD_IP}"):
            self.run(*line.split())
        self.container.start("ip", "netns", "exec", "pod", "netecho", "serve", "--name", "pod", "--port", "8080", "--tcp")
        self.path(MANIFEST).write_text(manifest(), encoding="ascii")
        self.require_served()
        status = json.loads(self.run("sluicectl", "status", "-o", "json"))
        require(all(family["synced"] for family in status["families"]), status)

    def test_reload(self):
        """systemctl reload takes the configuration into force, or refuses it whole and fails, and the daemon stays"""
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
        """killed, or without a sign of life, the daemon is started again and takes over its rules"""
        drop_in = self.path("/etc/systemd/system/sluiced.service.d/test.conf")
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text("[Service]\nRestartSec=100ms\nWatchdogSec=6s\n", encoding="ascii")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "restart", UNIT)
        for name, seconds in (("KILL", 60), ("STOP", 60)):
            before = self.unit("MainPID")
            self.run("kill", f"-{name}", before)
            wait_for(lambda before=before: self.unit("MainPID") not in (before, "0"), f"another process after {name}", seconds)
            self.wait_active()
            self.require_served()
        require(self.unit("NRestarts") == "2", self.unit("NRestarts"))
        drop_in.unlink()
        self.run("systemctl", "daemon-reload")

    def test_no_server(self):
        """with the API server away the service is started, waits for it, and leaves the rules as they are"""
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

    def test_exchange(self):
        """the same package again: the configuration stays, another process serves, nothing is written"""
        config = self.path("/etc/sluice/config.yaml")
        exchange(config, config.read_text(encoding="utf-8") + "# the operator was here\n")
        before = self.unit("MainPID")
        self.run("dpkg", "-i", "/srv/sluice.deb")
        self.wait_active()
        require(self.unit("MainPID") != before, "the same process")
        require("the operator was here" in config.read_text(encoding="utf-8"))
        self.require_served()
        families = json.loads(self.run("sluicectl", "status", "-o", "json"))["families"]
        require(all(family["last_apply"]["kernel_writes"] == 0 for family in families), families)

    def test_unconfigured(self):
        """on a node of a cluster an installation that nobody has configured is not started"""
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
        # With a Service it has something to serve.
        shutil.move(aside, self.path(MANIFEST))
        self.run("systemctl", "start", UNIT)
        self.wait_active()
        self.path("/var/lib/kubelet").rmdir()
        self.require_served()

    def test_remove(self):
        """removed, the node keeps its rules and its configuration"""
        before = without_counters(self.rules())
        self.run("dpkg", "-r", "sluice")
        require(self.container.run("pidof", "sluiced").returncode != 0, "a process is left")
        require(without_counters(self.rules()) == before, "other rules than before")
        require(self.path("/etc/sluice/config.yaml").exists() and self.path(MANIFEST).exists())
        require("5 ok pod" in self.answers(), self.answers())

    def test_purge_beside(self):
        """purged while kube-proxy runs, the rules stay, which are its own by now"""
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
        """installed where rules of another proxy are in force, the service is not started and they stay"""
        before = without_counters(self.rules())
        self.run("dpkg", "-i", "/srv/sluice.deb")
        require(self.unit("ActiveState") == "inactive", self.unit("ActiveState"))
        require("KUBE-SERVICES" in self.rules() and without_counters(self.rules()) == before, "other rules than before")

    def test_purge(self):
        """purged, nothing is left: no rules, no files"""
        self.path(MANIFEST).write_text(manifest(), encoding="ascii")
        self.run("systemctl", "start", UNIT)
        self.wait_active()
        wait_for(lambda: "generation" in self.unit("StatusText"), lambda: "a generation in: " + self.unit("StatusText"))
        self.run("dpkg", "-P", "sluice")
        for command in ("iptables-save", "ip6tables-save"):
            left = [line for line in self.run(command).splitlines() if "KUBE-" in line and "KUBE-FIREWALL" not in line]
            require(not left, left)
        for name in ("/etc/sluice", "/var/lib/sluice"):
            require(not self.path(name).exists(), name)
        self.run("sh", "-c", "! test -e /run/sluice")
        self.run("sh", "-c", "! find /etc /usr /lib /var/lib/systemd -name '*sluice*' -not -path '*sluice-dev*' "
                             "-not -path '/usr/include/*' -not -path '/usr/share/*' -not -name sluice-sdk.pc | grep .")


def replaced(text, one, other):
    require(one in text, f"no {one} in:\n{text}")
    return text.replace(one, other)


def refusal_of(word, journal):
    return any("reload (" in line and "failed, and what is in force stays" in line and word in line for line in journal.splitlines())


def exchange(file, text):
    """Another content, in one step: the daemon looks at the file by itself, and half of it may be a good one."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def without_counters(rules):
    return [line for line in rules.splitlines() if not line.startswith(("#", ":"))]


def kubeconfig():
    """A server that nobody is."""
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                       "users": [{"name": "u", "user": {}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


def manifest():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "demo"},
               "spec": {"clusterIP": SERVICE_IP, "clusterIPs": [SERVICE_IP], "ipFamilies": ["IPv4"],
                        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}]}}
    endpoints = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                 "metadata": {"name": "web-1", "namespace": "demo", "labels": {"kubernetes.io/service-name": "web"}},
                 "addressType": "IPv4", "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
                 "endpoints": [{"addresses": [POD_IP]}]}
    return json.dumps(service) + "\n---\n" + json.dumps(endpoints) + "\n"


def prepare(root, packages):
    """The Debian, with everything in its cache that an installation needs: the container has no network."""
    shutil.rmtree(root, ignore_errors=True)
    make_root(root, ["systemd-sysv", "iproute2", "man-db"])
    depends = call("dpkg-deb", "--field", str(packages.file("sluice")), "Depends")
    names = [one.split("|")[0].split("(")[0].strip() for one in depends.split(",")]
    done = subprocess.run(["chroot", str(root), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y",
                           "--no-install-recommends", "--download-only", *names],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise CannotRun("what the package depends on cannot be had: " + done.stderr.strip())


def ended(*_):
    raise SystemExit(143)  # by way of what removes the container


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

    root = work / "debian"
    container = None
    try:
        prepare(root, packages)
        container = Container(root)
        container.wait_until_up()
        tests.run(Installed(container, packages, build))
    except CannotRun as why:
        tests.run(Installed.__new__(Installed), skip=str(why).replace("\n", " "))
    finally:
        if container:
            container.stop()
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
