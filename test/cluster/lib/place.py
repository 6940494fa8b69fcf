# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A machine of the test network: its own network, mount, UTS and PID namespaces, kept by a process that does nothing."""

import subprocess

from . import namespaces, pace, shell
from .failure import ClusterError
from .processes import Process, adopt

# The kernel collects ended processes for a process 1 that ignores SIGCHLD. A shell cannot ignore it for a program that it starts.
KEEP = "touch \"$1\"; exec env --ignore-signal=CHLD sleep infinity"


class Place:
    def __init__(self, layout, name):
        self.layout, self.name = layout, name
        self.namespace = layout.namespace(name)
        self._first = Process(layout, f"place-{name}")

    @property
    def pid(self):
        """Process 1 of the PID namespace, as the host numbers it."""
        pid = self._first.pid
        if not pid:
            raise ClusterError(f"'{self.name}' does not run in {self.layout.folder}; start the cluster with 'cluster up'")
        return pid

    def build(self, commands=""):
        """Creates the namespaces, runs the shell commands in them, and returns when they are done."""
        ready = self.layout.pids / f"ready-{self.name}"
        ready.unlink(missing_ok=True)
        script = f"set -e\nhostname {self.name}\n{commands}\n{KEEP}"
        self._first.start(lambda argv, **options: namespaces.start_first(argv, f"/run/netns/{self.namespace}", **options),
                          ["sh", "-c", script, "sh", ready])
        self._first.wait(ready.exists, "build namespaces", 30)

    def popen(self, *argv, **options):
        """Starts a program here; options as of subprocess.Popen. Signals reach the program itself."""
        return adopt(namespaces.start_beside(self.pid, [str(word) for word in argv], **options))

    def run(self, *argv, stdin=None, check=True, timeout=120):
        """Runs a program to its end; returns the CompletedProcess with text output."""
        words = [str(word) for word in argv]
        process = self.popen(*words, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            try:
                out, err = process.communicate(stdin, timeout=pace.stretched(timeout))
            except BaseException:
                process.kill()
                raise
        done = subprocess.CompletedProcess(words, process.returncode, out, err)
        if check and done.returncode:
            raise shell.CommandFailed(f"{self.name}: {' '.join(words)}: exit {done.returncode}: {(err or out).strip()}")
        return done

    def daemon(self, name):
        """The process with that name, which outlives this program."""
        return Process(self.layout, name)

    def start(self, name, argv, **options):
        """Starts a process that outlives this program, with a log of its own."""
        process = self.daemon(name)
        process.start(lambda words, **more: namespaces.start_beside(self.pid, words, **more), argv, **options)
        return process
