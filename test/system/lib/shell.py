# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs on the host and in network namespaces."""

import os
import subprocess

from . import pace

A_DAY = 86_400  # seconds: the system call that waits for a program supports at most 24 days


class CommandFailed(Exception):
    """A program failed."""


def run(argv, stdin=None, check=True, timeout=60):
    """Runs a program until it exits and returns the completed process with text output."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=min(pace.stretched(timeout), A_DAY))
    if check and done.returncode != 0:
        raise CommandFailed(f"{' '.join(argv)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def inside(namespace, argv):
    """The command line that runs argv in a network namespace with the mounts of the host."""
    return ["nsenter", f"--net=/run/netns/{namespace}", "--", *argv]


def start(argv, **options):
    """Starts a program and returns the process; the caller redirects its output."""
    return subprocess.Popen(argv, text=True, **{"stdin": subprocess.DEVNULL, **options})


def wait_ready(process, path, what, patience=20):
    """Returns once the program has written its ready file; raises CommandFailed if it exits before, or after a timeout."""
    pace.wait_until(lambda: os.path.exists(path) or process.poll() is not None, patience, every=0.01)
    if process.poll() is not None or not os.path.exists(path):
        raise CommandFailed(f"{what} did not start")


def wait_ended(process, seconds):
    """The exit status of a program that exits by itself; None if it is still running after `seconds`."""
    pace.wait_until(lambda: process.poll() is not None, seconds, every=0.005)
    return process.poll()


def stop(process, patience=5):
    """Sends SIGTERM, then SIGKILL after `patience` seconds, and returns the exit status."""
    if process.poll() is None:
        process.terminate()
        if wait_ended(process, patience) is None:
            process.kill()
    return process.wait()
