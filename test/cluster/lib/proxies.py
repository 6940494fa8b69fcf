# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The service proxies that a node can run as a process: kube-proxy, and Sluice from a build tree or as installed. package_proxy.py
has Sluice as Debian packages."""

import json
import os
import re
import shutil

from . import programs as sluice_programs
from .failure import ClusterError
from .layout import ANY, POD_CIDR, V6

METRICS_PORT = 10249
STATE_DIR = "/run/sluice"
# A family without a sync has no line, or 0.
SYNCED = re.compile(r'^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="(\w+)"\} (\S+)', re.M)


class Proxy:
    """What both proxies have in common. They take the same configuration file."""

    program = None  # as words on a command line name it

    def __init__(self, mode):
        self.mode = mode
        self.settings = {}  # further fields of the KubeProxyConfiguration

    def __str__(self):
        return f"{self.program} {self.mode}"

    def command(self, node):
        """The command line on that node."""
        raise NotImplementedError

    def stop(self, node):
        """Stops the proxy; its rules stay."""
        node.proxy_process.stop()

    def clean_up(self, node):
        """Removes everything that the proxy programmed on the node. The proxy must not run."""
        raise NotImplementedError

    def words(self):
        """The arguments with which from_words() returns this proxy."""
        return {"program": self.program, "mode": self.mode}

    def configuration(self, node):
        """The text of the configuration file, which is JSON and so YAML."""
        layout = node.layout
        return json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(layout.kubeconfig("proxy"))},
            "bindAddress": ANY[layout.families[0]],
            "healthzBindAddress": f"[{ANY[V6]}]:10256" if layout.families == (V6,) else "0.0.0.0:10256",
            "metricsBindAddress": f"127.0.0.1:{METRICS_PORT}",
            "clusterCIDR": ",".join(layout.each(POD_CIDR)),
            "hostnameOverride": node.name,
            "mode": self.mode,
            "conntrack": {"maxPerCore": 0, "min": 0},  # the limit is one of the whole machine
            **self.settings,
        }, indent=1) + "\n"

    def write_configuration(self, node):
        path = node.folder / "proxy.yaml"
        path.write_text(self.configuration(node), encoding="utf-8")
        return str(path)

    def ready(self, node):
        """Whether the proxy runs in its mode and has synced each address family of the cluster."""
        if (node.get(METRICS_PORT, "/proxyMode") or "").strip() != self.mode:
            return False
        lines = SYNCED.findall(node.get(METRICS_PORT, "/metrics") or "")
        synced = {family.lower() for family, seconds in lines if float(seconds) > 0}
        return synced.issuperset(node.layout.families)


class KubeProxy(Proxy):
    """`path` is another program than that of the folder with the Kubernetes programs."""

    program = "kube-proxy"

    def __init__(self, mode, path=None):
        super().__init__(mode)
        self._path = path

    def words(self):
        return {**super().words(), "program": self._path or self.program}

    def command(self, node):
        return [self._program(node), f"--config={self.write_configuration(node)}", "--v=2"]

    def clean_up(self, node):
        node.run(self._program(node), "--cleanup", check=False)

    def _program(self, node):
        return self._path or node.programs.path(self.program)


class Sluice(Proxy):
    """`builddir` is a build tree; without it the installed daemon runs. `daemon` is the path of another daemon."""

    program = "sluice"

    def __init__(self, mode, builddir=None, daemon=None):
        super().__init__(mode)
        self.builddir = os.path.abspath(builddir) if builddir else None
        if self.builddir:
            self.daemon = sluice_programs.Programs(self.builddir).sluiced
        else:
            self.daemon = os.path.abspath(daemon) if daemon else shutil.which("sluiced")
        if not self.daemon:
            raise ClusterError("sluiced is not installed; name a build tree with --builddir")

    def words(self):
        return {"program": self.program if self.builddir else self.daemon, "mode": self.mode, "builddir": self.builddir}

    def _plugins(self, node):
        if not self.builddir:
            return []
        return [f"--plugin-dir={sluice_programs.Programs(self.builddir).plugin_dir(str(node.folder))}"]

    def command(self, node):
        return [self.daemon, f"--config={self.write_configuration(node)}", f"--state-dir={STATE_DIR}", "--v=2",
                *self._plugins(node)]

    def clean_up(self, node):
        node.run(self.daemon, "--cleanup", f"--state-dir={STATE_DIR}", *self._plugins(node))


def from_words(program, mode, builddir=None):
    """The proxy that a command line names: kube-proxy, sluice (or sluiced), sluice-package, or a path. A program whose name begins
    with kube-proxy is one; any other is a daemon of Sluice."""
    if program == KubeProxy.program:
        return KubeProxy(mode)
    if program in ("sluice", "sluiced"):
        return Sluice(mode, builddir)
    if program == "sluice-package":
        from . import package_proxy  # pylint: disable=import-outside-toplevel,cyclic-import  # it extends a class of this module

        return package_proxy.SluicePackage(mode, builddir)
    if os.path.isabs(program) and os.access(program, os.X_OK):
        named = os.path.basename(program).startswith(KubeProxy.program)
        return KubeProxy(mode, program) if named else Sluice(mode, daemon=program)
    raise ClusterError(f"invalid proxy '{program}': use kube-proxy, sluice, sluice-package, or the path of kube-proxy or sluiced")
