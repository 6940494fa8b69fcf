# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Daemons started with exactly the flags a case names, and what they say and how they end."""

import os

from .daemon import Daemon


class Exact(Daemon):
    """Started with exactly the flags it is given, but for the folders of this build."""

    def command(self, source_flags, flags):
        return [self._programs.sluiced, *source_flags, *flags, *folders(self, self._programs, self._topology, [*source_flags, *flags])]


def folders(daemon, programs, topology, flags=()):
    """Those that the flags do not name themselves."""
    plugins = [] if "--plugin-dir" in flags else ["--plugin-dir", programs.plugin_dir(topology.directory)]
    return ["--state-dir", daemon.state_dir, *plugins]


def write(t, name, text):
    path = os.path.join(t.topology.directory, f"{t.bench.label}-{name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def restart(t, flags):
    """The daemon of the bench is exchanged for one with these flags."""
    t.bench.daemon.stop()
    t.bench.daemon = Exact(t.topology, t.bench.programs, t.bench.backend, t.bench.label)
    t.bench.daemon.start(flags)
    t.bench.daemon.wait_synced()


def told(t, *words):
    line = t.bench.daemon.wait_logged(*words)
    t.require(line is not None, f"no line says {' '.join(words)}: {t.bench.daemon.log_tail()}")


def ends(t, flags, status, *words):
    """A process with these flags ends so, and one line on standard error holds all the words."""
    done = t.bench.daemon.run([*flags, *folders(t.bench.daemon, t.bench.programs, t.topology, flags)])
    t.require(done.returncode == status, f"{flags}: exit {done.returncode}: {done.stderr[-300:]}")
    t.require(not words or any(all(word in line for word in words) for line in done.stderr.splitlines()),
              f"{flags}: no line names {', '.join(words)}: {done.stderr[-600:]}")
