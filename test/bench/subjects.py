# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that can be measured: sluiced with a backend, and a kube-proxy for comparison."""

import glob
import json
import os
import shutil
import socket
import subprocess
import time

from cluster import NODE_NAME
from network import BenchError, run
from patience import stretched
from process import Cpu

# An own /run: the lock of iptables is not shared with the host. The program starts on a signal, so that
# this setup does not count as its work.
ENTER = 'mount -t tmpfs tmpfs /run && echo ready && read -r go && exec "$@" </dev/null >>"$LOG" 2>&1'
CLUSTER_CIDR = "10.190.0.0/16"


class Subject:
    """One program in the node's namespace. `flags` are what all of them understand alike."""

    def __init__(self, network, directory, kubeconfig, mode):
        self._network = network
        self._directory = directory
        self.log_path = os.path.join(directory, "daemon.log")
        self.flags = ["--kubeconfig", kubeconfig, "--hostname-override", NODE_NAME, "--proxy-mode", mode,
                      "--cluster-cidr", CLUSTER_CIDR]
        self.environment = {**os.environ, "LOG": self.log_path}
        self._process = None
        self._before_exec = Cpu()

    def use_iptables(self, variant):
        self.environment["PATH"] = iptables_path(self._directory, variant) + ":" + os.environ["PATH"]

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """The time of exec, on the monotonic clock."""
        argv = ["ip", "netns", "exec", self._network.node, "sh", "-c", ENTER, "sh", *self.command()]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment)
        if self._process.stdout.readline() != b"ready\n":
            raise BenchError(f"{self.name} cannot be started: no namespace of its own for /run")
        self._before_exec = Cpu.of(self.pid)
        begin = time.monotonic()
        self._process.stdin.write(b"go\n")
        self._process.stdin.close()
        return begin

    def cpu(self):
        """Since exec."""
        return Cpu.of(self.pid) - self._before_exec

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(stretched(20))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self, patience):
        """Its status, when it ends by itself."""
        try:
            return self._process.wait(stretched(patience))
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{self.name} does not end within {patience:.0f} s{self.last_words()}") from error

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def check_alive(self):
        if self._process.poll() is not None:
            raise BenchError(f"{self.name} ended with status {self._process.returncode}{self.last_words()}")

    def last_words(self, lines=8):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return "; its last words:\n" + "\n".join(file.read().splitlines()[-lines:])
        except FileNotFoundError:
            return "; it said nothing"

    def version(self):
        return run(self.program, "--version").strip()


class Sluiced(Subject):
    name = "sluiced"

    def __init__(self, builddir, *arguments):
        super().__init__(*arguments)
        self.program = os.path.join(builddir, "core", "sluiced")
        self._state = os.path.join(self._directory, "state")
        self._plugins = os.path.join(self._directory, "plugins")
        os.mkdir(self._plugins, 0o755)
        # libtool leaves each in a folder of its own.
        for place in ("plugins", os.path.join("sdk", "examples")):
            for plugin in glob.glob(os.path.join(builddir, place, "**", ".libs", "*.so"), recursive=True):
                shutil.copy(plugin, self._plugins)

    def command(self):
        return [self.program, *self.flags, "--state-dir", self._state, "--plugin-dir", self._plugins]

    def status(self):
        """What `sluicectl status -o json` prints, asked for without starting a program; None without an answer."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(stretched(5))
                connection.connect(os.path.join(self._state, "control.sock"))
                connection.sendall(b'{"command":"status"}\n')
                with connection.makefile("rb") as answer:
                    return json.loads(answer.readline()).get("result")
        except (OSError, ValueError):
            return None

    def restart_writes(self, patience):
        """Kernel writes of the first apply of this process, both families; None if that was missed."""
        end = time.monotonic() + stretched(patience)
        while True:
            families = (self.status() or {}).get("families", [])
            if families and all(family["synced"] for family in families):
                break
            self.check_alive()
            if time.monotonic() > end:
                raise BenchError(f"{self.name} is not synced {patience} s after a restart{self.last_words()}")
            time.sleep(0.02)  # poll interval
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

    def restart_writes(self, _):
        """kube-proxy does not report it."""
        return None


def iptables_path(directory, variant):
    """A folder in which every iptables name is that variant, whatever the host's alternatives say."""
    folder = os.path.join(directory, "iptables-" + variant)
    found = shutil.which("iptables-" + variant)
    if found is None:
        raise BenchError(f"iptables-{variant} is not installed")
    os.mkdir(folder)
    for name in ("iptables", "ip6tables"):
        for suffix in ("", "-save", "-restore"):
            os.symlink(os.path.realpath(found), os.path.join(folder, name + suffix))
    return folder
