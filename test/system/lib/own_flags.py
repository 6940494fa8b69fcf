# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Daemons that are started with exactly the flags of a case, and checks of their log and exit status."""

import os

from .daemon import Daemon


class Exact(Daemon):
    """Started with exactly these flags and the folders of this build."""

    def command(self, source_flags, flags):
        return [self._programs.sluiced, *source_flags, *flags, *folders(self, self._programs, self._topology, [*source_flags, *flags])]


def folders(daemon, programs, topology, flags=()):
    """Flags for folders that are not among `flags`."""
    plugins = [] if "--plugin-dir" in flags else ["--plugin-dir", programs.plugin_dir(topology.directory)]
    return ["--state-dir", daemon.state_dir, *plugins]


def write(t, name, text):
    path = os.path.join(t.topology.directory, f"{t.bench.label}-{name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def restart(t, flags):
    """Replaces the daemon of the bench by one with these flags."""
    t.bench.daemon.stop()
    t.bench.daemon = Exact(t.topology, t.bench.programs, t.bench.backend, t.bench.label)
    t.bench.daemon.start(flags)
    t.bench.daemon.wait_synced()


def expect_logged(t, *words):
    line = t.bench.daemon.wait_logged(*words)
    t.require(line is not None, f"no log line contains {' '.join(words)}: {t.bench.daemon.log_tail()}")


def expect_exit(t, flags, status, *words):
    """A daemon with these flags exits with that status, and one line on standard error contains all these texts."""
    done = t.bench.daemon.run([*flags, *folders(t.bench.daemon, t.bench.programs, t.topology, flags)])
    t.require(done.returncode == status, f"{flags}: exit {done.returncode}: {done.stderr[-300:]}")
    t.require(not words or any(all(word in line for word in words) for line in done.stderr.splitlines()),
              f"{flags}: no line contains {', '.join(words)}: {done.stderr[-600:]}")
