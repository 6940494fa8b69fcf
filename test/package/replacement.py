# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster whose unit file starts kube-proxy, and the package sluice-kube-proxy there: installed, started as kubeadm
configures it, removed, purged. The kube-proxy that is there before is a script."""

import contextlib
import json
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

from machine import NODE_IP, SERVICE_IP, UNIT, Machine, manifest
from outcome import call, require, wait_for
from lib import installers, netns_http

APISERVER = Path(__file__).resolve().parents[1] / "apiserver/apiserver.py"
PORT = 6443
NODE = "node-1"
ACCOUNT = "/srv/account"  # in the place of the folder that kubelet mounts: here /run is not of the node's disk
PACKAGE = "sluice-kube-proxy"
PROXY = "kube-proxy.service"
OF_PACKAGE, OF_OPERATOR = "/usr/bin/kube-proxy", "/usr/local/bin/kube-proxy"
LINKS = {OF_PACKAGE: "../sbin/sluiced", OF_OPERATOR: OF_PACKAGE}
PROXY_UNIT = """[Service]
ExecStart=PROGRAM --config=/var/lib/kube-proxy/config.conf --hostname-override=node-1
Restart=always
[Install]
WantedBy=multi-user.target
"""


def program(words):
    """A program that does not end, with a process named like its file."""
    return f"#!/bin/sh\n# {words}\ntail -f /dev/null\n"


def write_program(path, words):
    path.write_text(program(words), encoding="ascii")
    path.chmod(0o755)


class Replacement(Machine):
    """Tests that run after those of the other packages, which leave only a pod."""

    def proxy(self, name):
        return self.run("systemctl", "show", "--value", "-p", name, PROXY).strip()

    def is_enabled(self, unit):
        return self.container.run("systemctl", "is-enabled", unit).stdout.strip()

    def start_proxy(self, path):
        """Starts the unit with that program."""
        unit = self.path(f"/etc/systemd/system/{PROXY}")
        unit.write_text(PROXY_UNIT.replace("PROGRAM", path), encoding="ascii")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "restart", PROXY)
        wait_for(lambda: self.proxy("ActiveState") == "active", lambda: f"{PROXY} active: {self.proxy('ActiveState')}")

    def runs_sluiced(self):
        """Whether the unit runs the daemon."""
        process = self.proxy("MainPID")
        return process != "0" and self.container.run("readlink", f"/proc/{process}/exe").stdout.strip() == "/usr/sbin/sluiced"

    def diversions(self):
        return self.container.run("dpkg-divert", "--list", "*kube-proxy*").stdout.splitlines()

    def require_links(self):
        found = {path: str(self.path(path).readlink()) for path in LINKS if self.path(path).is_symlink()}
        require(found == LINKS, found)

    def test_beside(self):
        """an installation beside a running kube-proxy.service neither stops nor disables it"""
        package = self.path("/srv/kubernetes-node")
        (package / "DEBIAN").mkdir(parents=True)
        (package / "usr/bin").mkdir(parents=True)
        (package / "DEBIAN/control").write_text(
            "Package: kubernetes-node\nVersion: 1.36.0\nArchitecture: all\nMaintainer: Test <test@example.com>\n"
            "Description: kubelet and kube-proxy\n", encoding="ascii")
        for name in ("kube-proxy", "kubelet"):
            write_program(package / "usr/bin" / name, f"{name} of the distribution")
        call("dpkg-deb", "--root-owner-group", "-b", str(package), f"{package}.deb")
        self.run("dpkg", "--install", "/srv/kubernetes-node.deb")
        write_program(self.path(OF_OPERATOR), "kube-proxy of the operator")
        self.start_proxy(OF_OPERATOR)
        self.run("systemctl", "enable", PROXY)
        before = self.proxy("MainPID")
        self.apt("install", "--no-install-recommends", "sluice")
        require(self.proxy("ActiveState") == "active" and self.proxy("MainPID") == before, "kube-proxy.service was stopped")
        require(self.unit("ActiveState") == "inactive", self.unit("ActiveState"))
        # If enabled, it would stop kube-proxy.service at boot.
        require(self.is_enabled(UNIT) == "disabled", self.is_enabled(UNIT))
        require(self.is_enabled(PROXY) == "enabled", self.is_enabled(PROXY))

    def test_install(self):
        """the command kube-proxy is the daemon at the paths used by units; earlier files are kept, and so is kubelet"""
        before = self.proxy("MainPID")
        self.apt("install", "--no-install-recommends", PACKAGE)
        self.require_links()
        for command in ("kube-proxy", OF_PACKAGE, OF_OPERATOR):
            said = self.run(command, "--version")
            require(said.startswith("sluiced "), f"{command}: {said}")
        self.run("man", "-w", "kube-proxy")
        require(self.path(f"{OF_PACKAGE}.distrib").read_text(encoding="ascii") == program("kube-proxy of the distribution"))
        require(self.path(f"{OF_OPERATOR}.distrib").read_text(encoding="ascii") == program("kube-proxy of the operator"))
        require(self.path("/usr/bin/kubelet").read_text(encoding="ascii") == program("kubelet of the distribution"))
        require(self.proxy("MainPID") == before, "a process was ended by an installation")

    @contextlib.contextmanager
    def api_server(self):
        """An API server with the Service, for processes of this system."""
        namespace = f"sluice-package-{self.container.first_process}"
        tls, ready = self.path("/srv/pki"), self.path("/srv/apiserver.ready")
        call("ip", "netns", "attach", namespace, self.container.first_process)
        words = [sys.executable, "-B", str(APISERVER), "--listen", f"127.0.0.1:{PORT}", "--tls-dir", str(tls), "--ready-file", str(ready)]
        server = netns_http.made_in(namespace, lambda: subprocess.Popen(words, stdout=subprocess.DEVNULL))
        try:
            wait_for(lambda: ready.exists() or server.poll() is not None, "an API server")
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "uid": "0000"}, "spec": {},
                    "status": {"addresses": [{"type": "InternalIP", "address": NODE_IP}]}}
            items = [node, *(json.loads(one) for one in manifest().split("---"))]
            connection = netns_http.NamespaceConnection(namespace, "127.0.0.1", PORT, ssl.create_default_context(cafile=tls / "ca.crt"))
            connection.request("POST", "/_test/load", json.dumps({"items": items}))
            require(connection.getresponse().status == 200, "the API server refuses the objects")
            connection.close()
            yield tls
        finally:
            server.terminate()
            server.wait()
            call("ip", "netns", "delete", namespace)

    def write_configuration(self, tls):
        """The configuration of kubeadm for that server."""
        account, folder = self.path(ACCOUNT), self.path("/var/lib/kube-proxy")
        for made in (account, folder):
            made.mkdir(exist_ok=True)
        for name in ("ca.crt", "token"):
            shutil.copy(tls / name, account / name)
        recording = installers.Recording("kubeadm")
        for place, name in recording.files.items():
            text = recording.text(name, "iptables").replace("/var/run/secrets/kubernetes.io/serviceaccount", ACCOUNT)
            self.path(place).write_text(text.replace("https://192.0.2.10:6443", f"https://127.0.0.1:{PORT}"), encoding="ascii")

    def test_serves(self):
        """an unchanged unit that starts kube-proxy at either path serves with the configuration of kubeadm"""
        with self.api_server() as tls:
            self.write_configuration(tls)
            for path in (OF_OPERATOR, OF_PACKAGE):
                self.start_proxy(path)
                require(self.runs_sluiced(), f"{path}: another program runs")
                self.run("sluicectl", "status", "--wait")
                self.require_served()
                name = self.run("cat", f"/proc/{self.proxy('MainPID')}/comm").strip()
                require(name == "kube-proxy", f"{path}: the process is named {name}")
        require(SERVICE_IP in self.rules() and self.unit("ActiveState") == "inactive", self.rules())

    def test_exchange(self):
        """reinstalling these packages and that of the distribution keeps links and process"""
        before = self.proxy("MainPID")
        self.apt("install", "--reinstall", PACKAGE)
        self.run("dpkg", "--install", "/srv/kubernetes-node.deb")
        self.require_links()
        require(self.proxy("MainPID") == before and self.runs_sluiced(), "another process")

    def test_remove(self):
        """a removal restores the diverted programs, keeps rules, and the unit starts the earlier program"""
        self.apt("remove", PACKAGE)
        require(not self.diversions(), self.diversions())
        for path, owner in ((OF_PACKAGE, "distribution"), (OF_OPERATOR, "operator")):
            require(self.path(path).read_text(encoding="ascii") == program(f"kube-proxy of the {owner}"), path)
            require(not self.path(f"{path}.distrib").exists(), f"{path}.distrib")
        require("5 ok pod" in self.answers(), self.answers())
        self.start_proxy(OF_OPERATOR)
        require(not self.runs_sluiced(), "the daemon was started")

    def test_purge(self):
        """without a kube-proxy the links exist until the removal; a program installed since stays; a purge leaves nothing"""
        self.run("systemctl", "disable", "--now", PROXY)
        for path in (OF_OPERATOR, f"/etc/systemd/system/{PROXY}"):
            self.path(path).unlink()
        self.run("dpkg", "--purge", "kubernetes-node")
        later = self.path(OF_OPERATOR)
        for put in (lambda: write_program(later, "kube-proxy that came later"), lambda: later.symlink_to("/opt/not-there")):
            self.apt("install", "--no-install-recommends", PACKAGE)
            self.require_links()
            later.unlink()
            put()
            before = later.lstat().st_ino
            self.apt("purge", PACKAGE)
            require(later.lstat().st_ino == before, f"another file is at {OF_OPERATOR}")
            later.unlink()
        self.apt("install", "--no-install-recommends", PACKAGE)
        self.apt("purge", *self.known())
        left = self.run("find", "/", "-xdev", "(", "-name", "*kube-proxy*", "-o", "-name", "*sluice*", ")", "-not", "-path", "/srv/*",
                        "-not", "-path", "/var/cache/man/*", "-not", "-path", "/var/lib/kube-proxy*").splitlines()
        require(not left and not self.diversions() and not self.known(), [*left, *self.diversions(), *self.known()])
