# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster whose unit file starts kube-proxy: packages that are installed there. The kube-proxy is a script."""

from machine import UNIT, Machine
from outcome import call, require, wait_for

PROXY = "kube-proxy.service"
OF_OPERATOR = "/usr/local/bin/kube-proxy"
PROXY_UNIT = """[Service]
ExecStart=PROGRAM --config=/var/lib/kube-proxy/config.conf --hostname-override=node-1
Restart=always
[Install]
WantedBy=multi-user.target
"""


def program(words):
    """A program that does not end, whose process has the name of its file."""
    return f"#!/bin/sh\n# {words}\ntail -f /dev/null\n"


def write_program(path, words):
    path.write_text(program(words), encoding="ascii")
    path.chmod(0o755)


class Replacement(Machine):
    """After the tests of the other packages, which have left a pod and nothing else."""

    def proxy(self, name):
        return self.run("systemctl", "show", "--value", "-p", name, PROXY).strip()

    def is_enabled(self, unit):
        return self.container.run("systemctl", "is-enabled", unit).stdout.strip()

    def start_proxy(self, path):
        """The unit with that program, running."""
        unit = self.path(f"/etc/systemd/system/{PROXY}")
        unit.write_text(PROXY_UNIT.replace("PROGRAM", path), encoding="ascii")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "restart", PROXY)
        wait_for(lambda: self.proxy("ActiveState") == "active", lambda: f"{PROXY} active: {self.proxy('ActiveState')}")

    def test_beside(self):
        """installed on a node whose kube-proxy.service runs, that goes on, and will when the machine starts again"""
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
        # Enabled, it would stop kube-proxy.service at the start of the machine.
        require(self.is_enabled(UNIT) == "disabled", self.is_enabled(UNIT))
        require(self.is_enabled(PROXY) == "enabled", self.is_enabled(PROXY))
