# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon under test, which runs as the proxy of a node in the namespace `node`."""

import json
import os
import signal
import subprocess

from . import addresses as a
from . import control, pace, shell

# A private /run: the iptables lock file and other files are not shared with the host.
ENTER = 'mount -t tmpfs tmpfs /run && exec "$@"'

START_PATIENCE = 30  # seconds

# The environment at the start: changes by a case must not affect daemons of parallel runs.
INHERITED = dict(os.environ)


class DaemonError(Exception):
    """The daemon ended unexpectedly, or a timeout expired."""


class Daemon:
    def __init__(self, topology, programs, backend="iptables", label="daemon"):
        self._topology = topology
        self._programs = programs
        self._backend = backend
        self.state_dir = os.path.join(topology.directory, f"state-{label}")
        self.log_path = os.path.join(topology.directory, f"{label}.log")
        self._process = None
        self.environment = {}  # additional variables for the next start

    def command(self, source_flags, flags):
        return [
            self._programs.sluiced, *source_flags,
            "--hostname-override", a.NODE_NAME,
            "--proxy-mode", self._backend,
            "--state-dir", self.state_dir,
            "--plugin-dir", self._programs.plugin_dir(self._topology.directory),
            "--v=2", *flags,
        ]

    def start(self, source_flags, flags=()):
        os.makedirs(self.state_dir, exist_ok=True)
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                self._enter(self.command(source_flags, flags)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._environment())

    def run(self, argv_flags, timeout=30):
        """Runs the daemon with exactly these flags until it exits (--cleanup, --check, a failing start)."""
        return subprocess.run(self._enter([self._programs.sluiced, *argv_flags]), capture_output=True, text=True,
                              timeout=pace.stretched(timeout), env=self._environment())

    @property
    def pid(self):
        return self._process.pid

    def stop(self):
        """Sends SIGTERM; returns the exit status, or None if the daemon was never started."""
        return shell.stop(self._process) if self._process else None

    def wait_ended(self, seconds=30):
        """Waits until the daemon exits by itself; returns the exit status, or None if it is still running."""
        return shell.wait_ended(self._process, seconds)

    def suspend(self):
        """Returns once the process is stopped; kill() ends it."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self):
        return self._process.pid

    def check_alive(self):
        if self._process.poll() is not None:
            status = self._process.returncode
            raise DaemonError(f"the daemon ended with status {status}; last log lines:\n{self.log_tail()}")

    def status(self):
        """The JSON document of `sluicectl status`, or None while the daemon does not answer."""
        return control.ask(self.state_dir, "status")

    def status_page(self):
        """The output of `sluicectl status` as text."""
        return shell.run([self._programs.sluicectl, "--state-dir", self.state_dir, "status"], check=False).stdout

    def services(self, *words):
        """Runs `sluicectl services` with these arguments."""
        return self.ctl("services", *words)

    def ctl(self, *words):
        """Runs sluicectl with these arguments."""
        return shell.run([self._programs.sluicectl, "--state-dir", self.state_dir, *words], check=False)

    def wait_synced(self):
        """Returns once the control socket and sluicectl both report every address family as synced."""
        if self._programs.sluicectl is None:
            return

        def synced():
            if _all_synced(self.status()) and _all_synced(self._printed_status()):
                return True
            self.check_alive()
            return False

        if not pace.wait_until(synced, START_PATIENCE):
            raise DaemonError(f"not synced after {START_PATIENCE} s, stretched by the load; last log lines:\n{self.log_tail()}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def log_tail(self, lines=15):
        """The last lines of the log, errors first, because reports may truncate the text."""
        tail = self.log().splitlines()[-lines:]
        return "\n".join(sorted(tail, key=lambda line: not line.startswith(("E", "F"))))

    def wait_logged(self, *words, seconds=10):
        """The first log line that contains all these texts, or None."""
        def logged():
            return next((line for line in self.log().splitlines() if all(word in line for word in words)), None)

        return pace.wait_until(logged, seconds)

    def _printed_status(self):
        done = shell.run([self._programs.sluicectl, "--state-dir", self.state_dir, "status", "-o", "json"], check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def _enter(self, argv):
        return ["ip", "netns", "exec", self._topology.namespace("node"), "sh", "-c", ENTER, "sh", *argv]

    def _environment(self):
        return {**INHERITED, "PATH": self._topology.search_path, **self.environment}


def _all_synced(status):
    flags = list(_values_named("synced", status))
    return bool(flags) and all(flags)


def _values_named(name, value):
    """All values of that key at any depth of the document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name:
                yield inner
            else:
                yield from _values_named(name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values_named(name, inner)
