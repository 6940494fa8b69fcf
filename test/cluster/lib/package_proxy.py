# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Sluice as Debian packages: systemd in a container of the node starts the daemon with the unit of the package."""

import json
from pathlib import Path

from . import package_root, pki
from .failure import ClusterError
from .package_system import PackageSystem
from .proxies import Proxy

UNIT = "sluiced.service"
CONFIGURATION, KUBECONFIG = "/etc/sluice/config.yaml", "/etc/sluice/kubeconfig"


class SluicePackage(Proxy):
    """`builddir` is a build tree with packages."""

    program = "sluice-package"

    def __init__(self, mode, builddir):
        super().__init__(mode)
        if not builddir:
            raise ClusterError("sluice-package needs a build tree with packages; name it with --builddir")
        self.builddir = Path(builddir).absolute()

    def words(self):
        return super().words() | {"builddir": str(self.builddir)}

    def system(self, node):
        return PackageSystem(node, node.proxy_process)

    def configuration(self, node):
        document = json.loads(super().configuration(node))
        document["clientConnection"]["kubeconfig"] = KUBECONFIG
        return json.dumps(document, indent=1) + "\n"

    def write_configuration(self, node):
        self.configure(node, self.system(node))
        return CONFIGURATION

    def configure(self, node, system):
        """Writes the files of an operator."""
        system.write(KUBECONFIG, pki.kubeconfig(node.layout, "proxy", embedded=True), 0o600)
        system.write(CONFIGURATION, self.configuration(node))

    def command(self, node):
        """Installs the packages if the node does not have them."""
        system = self.system(node)
        if not system.exists:
            files = package_root.packages(self.builddir / "packages")
            system.create(package_root.build(node.layout, files), files)
            self.configure(node, system)
            system.install()
        self.configure(node, system)
        return system.boot_command()

    def ready(self, node):
        system = self.system(node)
        return bool(system.first_process) and system.run("systemctl", "--quiet", "is-active", UNIT).returncode == 0 and \
            super().ready(node)

    def stop(self, node):
        self.system(node).stop()

    def clean_up(self, node):
        system = self.system(node)
        system.chroot("sluiced", "--cleanup")
        system.remove()
