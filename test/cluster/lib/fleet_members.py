# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Members of a fleet: one proxy each, in a network namespace of its own."""

import http.client
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import shell
from .failure import ClusterError
from .fleet_api import samples
from .fleet_network import member_ip, namespace

METRICS_PORT = 10249
# Hollow kube-proxies: the first user, and members of one user.
HOLLOW_USERS, MEMBERS_OF_USER = 61000, 100
CAPABILITIES = "+net_admin,+dac_override"
IPV4 = re.compile(r"\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b(?!/)")
# Answers what kube-proxy asks nft, and discards what it writes.
NFT_STUB = """#!/bin/sh
case "$*" in
*--version*) echo 'nftables v1.0.6 (stub)' ;;
*list*) echo 'Error: No such file or directory' >&2; exit 1 ;;
*) cat >/dev/null ;;
esac
"""


class Member:
    """`settings` are more fields of the configuration."""

    program = ""

    def __init__(self, layout, number, settings=None):
        self.number, self.ip, self.name = number, member_ip(number), f"member-{number}"
        self._layout, self._settings, self._process = layout, settings or {}, None
        self.folder = layout.folder / "members" / self.name

    def configuration(self):
        return {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
                "clientConnection": {"kubeconfig": str(self._layout.kubeconfig("proxy"))}, "hostnameOverride": self.name,
                "mode": "nftables", "clusterCIDR": "10.128.0.0/9", "metricsBindAddress": f"0.0.0.0:{METRICS_PORT}",
                "healthzBindAddress": "127.0.0.1:10256", "conntrack": {"maxPerCore": 0, "min": 0},
                "oomScoreAdj": 0} | self._settings

    def documents(self):
        return [self.configuration()]

    def command(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config.yaml").write_text("\n---\n".join(json.dumps(one) for one in self.documents()), encoding="ascii")
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(shell.inside(namespace(self.number), [str(word) for word in self.command()]),
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment())

    def stop(self):
        if self._process:
            self._process.kill()
            self._process.wait()

    def check(self):
        if self._process.poll() is not None:
            tail = (self.folder / "log").read_text(errors="replace").splitlines()[-10:]
            raise ClusterError(f"{self.program} {self.name} ended with status {self._process.returncode}:\n" + "\n".join(tail))

    def resident(self):
        """KiB of resident memory, and the KiB of it that are not of a file."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return tuple(int(re.search(rf"{field}:\s+(\d+)", status)[1]) for field in ("VmRSS", "RssAnon"))

    def metrics(self):
        connection = http.client.HTTPConnection(self.ip, METRICS_PORT, timeout=20)
        try:
            connection.request("GET", "/metrics")
            return list(samples(connection.getresponse().read().decode("utf-8", "replace")))
        finally:
            connection.close()

    def requests(self):
        """Requests by status code; `<error>` counts attempts without an answer."""
        found = {}
        for name, labels, value in self.metrics():
            if name == "rest_client_requests_total":
                found[labels["code"]] = found.get(labels["code"], 0) + int(value)
        return found

    def programmed(self):
        """The addresses in the nftables rules of this member."""
        done = shell.run(shell.inside(namespace(self.number), ["nft", "-n", "list", "ruleset"]), check=False)
        return set(IPV4.findall(done.stdout))


class SluiceMember(Member):
    """With `backend` print the daemon does everything but program the kernel."""

    program = "sluiced"

    def __init__(self, layout, number, builddir, backend="nftables", settings=None):
        super().__init__(layout, number, settings)
        self._builddir, self._backend = Path(os.path.abspath(builddir)), backend

    def documents(self):
        second = {"apiVersion": "sluice.dev/v1alpha1", "kind": "SluiceConfiguration", "stateDir": str(self.folder / "state"),
                  "pluginDirs": [str(self._plugins())]}
        if self._backend != "nftables":
            second["backend"] = self._backend
        if self._backend == "print":
            second["backends"] = {"print": {"path": "/dev/null"}}
        return [self.configuration(), second]

    def command(self):
        return [self._builddir / "core/sluiced", f"--config={self.folder}/config.yaml"]

    def _plugins(self):
        folder = self._layout.folder / "plugins"
        if not folder.is_dir():
            folder.mkdir()
            for pattern in ("plugins/*/.libs/*.so", "sdk/examples/print/.libs/print.so"):
                for built in self._builddir.glob(pattern):
                    shutil.copy(built, folder)
        return folder


class KubeProxyMember(Member):
    """With `hollow` the program nft is a stub, so kube-proxy does everything but program the kernel."""

    program = "kube-proxy"

    def __init__(self, layout, number, programs, hollow=False, settings=None):
        super().__init__(layout, number, settings)
        self._programs, self._hollow = programs, hollow

    def command(self):
        words = [self._programs.path("kube-proxy"), f"--config={self.folder}/config.yaml"]
        return self._as_user() + words if self._hollow else words

    def _as_user(self):
        """kube-proxy watches its configuration file, and the kernel limits the watchers of a user (fs.inotify.max_user_instances,
        128 by default), so a large fleet has several users."""
        return ["setpriv", f"--reuid={HOLLOW_USERS + self.number // MEMBERS_OF_USER}", "--clear-groups",
                f"--inh-caps={CAPABILITIES}", f"--ambient-caps={CAPABILITIES}"]

    def environment(self):
        if not self._hollow:
            return dict(os.environ)
        folder = self._layout.folder / "hollow"
        if not folder.is_dir():
            folder.mkdir()
            (folder / "nft").write_text(NFT_STUB, encoding="ascii")
            (folder / "nft").chmod(0o755)
        return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def create_nodes(api, members):
    """The Node objects of the members, as kubelets register them."""
    def create(member):
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": member.name, "labels": {"kubernetes.io/hostname": member.name}},
                "status": {"addresses": [{"type": "InternalIP", "address": member.ip},
                                         {"type": "Hostname", "address": member.name}]}}
        api.must("POST", "/api/v1/nodes", node)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, members))


def of_all(members, ask):
    """`ask(member)` for all members, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, members))
