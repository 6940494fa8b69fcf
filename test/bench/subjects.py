# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that can be measured: sluiced, and a kube-proxy for comparison."""

import glob
import json
import os
import shutil
import socket
import subprocess
import time

from cluster import NODE_NAME
from network import BenchError, run

# An own /run: the lock of iptables is not shared with the host.
ENTER = 'mount -t tmpfs tmpfs /run && exec "$@"'
CLUSTER_CIDR = "10.190.0.0/16"


class Subject:
    """One program in the node's namespace. `flags` are what all of them understand alike."""

    def __init__(self, network, directory, kubeconfig, mode, iptables):
        self._network = network
        self._log_path = os.path.join(directory, "daemon.log")
        self._path = _iptables_path(directory, iptables)
        self.flags = ["--kubeconfig", kubeconfig, "--hostname-override", NODE_NAME, "--proxy-mode", mode,
                      "--cluster-cidr", CLUSTER_CIDR]
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """The moment of exec, on the monotonic clock."""
        argv = ["ip", "netns", "exec", self._network.node, "sh", "-c", ENTER, "sh", *self.command()]
        environment = {**os.environ, "PATH": self._path + ":" + os.environ["PATH"]}
        with open(self._log_path, "ab") as log:
            begin = time.monotonic()
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        return begin

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def check_alive(self):
        if self._process.poll() is not None:
            raise BenchError(f"{self.name} ended with status {self._process.returncode}; its last words:\n{self.log_tail()}")

    def log_tail(self, lines=15):
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-lines:])

    def version(self):
        return run(self.program, "--version").strip()


class Sluiced(Subject):
    name = "sluiced"

    def __init__(self, builddir, *arguments):
        super().__init__(*arguments)
        directory = os.path.dirname(self._log_path)
        self.program = os.path.join(builddir, "core", "sluiced")
        self._state = os.path.join(directory, "state")
        self._plugins = os.path.join(directory, "plugins")
        if not os.path.isdir(self._plugins):
            os.mkdir(self._plugins, 0o755)
            # libtool leaves each in a folder of its own.
            for plugin in glob.glob(os.path.join(builddir, "plugins", "**", ".libs", "*.so"), recursive=True):
                shutil.copy(plugin, self._plugins)

    def command(self):
        return [self.program, *self.flags, "--state-dir", self._state, "--plugin-dir", self._plugins]

    def status(self):
        """What `sluicectl status -o json` prints, asked for without starting a program; None while nobody answers."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(os.path.join(self._state, "control.sock"))
                connection.sendall(b'{"command":"status"}\n')
                with connection.makefile("rb") as answer:
                    return json.loads(answer.readline()).get("result")
        except (OSError, ValueError):
            return None

    def synced(self):
        status = self.status()
        return bool(status and status["families"]) and all(family["synced"] for family in status["families"])

    def restart_writes(self):
        """Kernel writes of the first apply of this process, both families; None when that has passed unseen."""
        families = self.status()["families"]
        if any(family["full_syncs"] != 1 or family["delta_syncs"] for family in families):
            return None
        return sum(family["last_apply"]["kernel_writes"] for family in families)


class KubeProxy(Subject):
    name = "kube-proxy"

    def __init__(self, program, *arguments):
        super().__init__(*arguments)
        self.program = program

    def command(self):
        return [self.program, *self.flags, "--conntrack-max-per-core", "0", "--conntrack-tcp-timeout-established", "0",
                "--conntrack-tcp-timeout-close-wait", "0", "--metrics-bind-address", "127.0.0.1:10249",
                "--healthz-bind-address", "127.0.0.1:10256"]

    def synced(self):
        """It says so nowhere; it writes everything at once, so that the last Service answers for all."""
        return True

    def restart_writes(self):
        return None


def _iptables_path(directory, variant):
    """A folder in which every iptables name is that variant, whatever the host's alternatives say."""
    folder = os.path.join(directory, "iptables-" + variant)
    if not os.path.isdir(folder):
        found = shutil.which("iptables-" + variant)
        if found is None:
            raise BenchError(f"iptables-{variant} is not installed")
        os.mkdir(folder)
        for name in ("iptables", "ip6tables"):
            for suffix in ("", "-save", "-restore"):
                os.symlink(os.path.realpath(found), os.path.join(folder, name + suffix))
    return folder


def kernel_text(variant):
    """Everything that is programmed here, as text."""
    return run(f"iptables-{variant}-save") + (run("nft", "list", "ruleset", check=False) if shutil.which("nft") else "")
