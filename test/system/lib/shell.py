# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Running programs, on the host and inside network namespaces."""

import subprocess

from . import pace


class CommandFailed(Exception):
    """A program that had to succeed did not."""


def run(argv, stdin=None, check=True, timeout=60):
    """Runs a program to its end and returns the completed process, output as text."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=pace.stretched(timeout))
    if check and done.returncode != 0:
        raise CommandFailed(f"{' '.join(argv)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def inside(namespace, argv):
    """The command line that runs argv in a network namespace, on the host's own mounts."""
    return ["nsenter", f"--net=/run/netns/{namespace}", "--", *argv]


def start(argv, **options):
    """Starts a program and returns it running; its output is the caller's to direct."""
    return subprocess.Popen(argv, text=True, **{"stdin": subprocess.DEVNULL, **options})


def stop(process, patience=5):
    """Asks a program to end, insists after `patience` seconds, and returns its exit status."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(pace.stretched(patience))
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()
