# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what the daemon does during a fault: rules, log lines, requests to the API server, CPU time and memory."""

import os
import time

from . import addresses as a
from . import foreign, pace

TICKS = os.sysconf("SC_CLK_TCK")
WARNINGS = ("W", "E", "F")  # first letters of klog lines
RESOURCES = ("services", "endpointslices", "nodes")
USUAL_SECONDS = 15  # longest duration of an episode on an idle machine
FIRST_PAUSE = 0.8  # seconds: first delay of the backoff
KUBE = " kube] "
# Set by test/sanitizers/watched.sh: the sanitizer distorts measurements of time and memory.
WATCHED = "SLUICE_WATCHED" in os.environ


class Episode:
    def __init__(self, trial):
        self._trial = trial
        self._daemon = trial.bench.daemon
        self._source = trial.bench.source
        self._log_at = len(self._daemon.log())
        self._request_at = self._source.requests(1 << 60)[1]
        self._began = time.monotonic()
        self._cpu = self._cpu_seconds()
        self._memory = self.memory_kib()
        self._rules = self._settled_rules()

    def _settled_rules(self):
        """Waits for the last table of a change, which may be written after the first one serves clients."""
        rules = pace.wait_unchanged(lambda: foreign.ruleset(self._trial.topology), quiet=0.2, seconds=20, every=0.25)
        self._trial.require(rules is not None, "rules never stop changing")
        return rules or ""

    # What happened so far.

    @property
    def seconds(self):
        return time.monotonic() - self._began

    def requests(self, resource=None):
        """Requests of the daemon to the API server, oldest first."""
        made, _ = self._source.requests(self._request_at)
        return [one for one in made if resource in (None, one["resource"]) and
                one["headers"].get("user-agent", "").startswith("sluiced/")]

    def log_lines(self):
        return self._daemon.log()[self._log_at:].splitlines()

    def warnings(self):
        return [line for line in self.log_lines() if line.startswith(WARNINGS)]

    def cpu_seconds(self):
        return self._cpu_seconds() - self._cpu

    def memory_kib(self):
        """Resident anonymous memory: the kernel may drop and reload file-backed pages at any time."""
        with open(f"/proc/{self._daemon.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    # What must hold.

    def require_rules_kept(self, occasion):
        """No rule was removed; new rules are allowed."""
        lost = set(self._rules.splitlines()) - set(foreign.ruleset(self._trial.topology).splitlines())
        self._trial.require(not lost, f"{occasion}: {len(lost)} rules are gone, one of them: {min(lost, default='')}")

    def require_explained(self, words, most=12):
        """One warning contains the server and these texts, and the log is not flooded."""
        self.require_logged([a.NODE2.v4, *words])
        self.require_no_flood(most)

    def require_logged(self, words):
        # The daemon may still be reading an earlier response, such as an object of 32 MiB.
        found = pace.wait_until(lambda: any(all(word in line for word in words) for line in self.warnings()), 5)
        self._trial.require(found, f"no warning contains {', '.join(words)}; there are: {self.warnings()[:4]}")

    def require_no_flood(self, most=12):
        lines = [line for line in self.log_lines() if KUBE in line]
        most = self.scaled(most)
        self._trial.require(len(lines) <= most, f"{len(lines)} lines of log in {self.seconds:.0f} s, more than {most:.0f}; "
                                                f"the last: {lines[-3:]}")

    def scaled(self, most):
        """Scales a limit of recurring events if the episode lasts longer than usual, as on a busy machine."""
        return most * max(1, self.seconds / USUAL_SECONDS)

    def require_backoff(self, at_once=5, cpu_seconds=0.8):
        """Requests to the server respect a backoff from 0.8 s, and the daemon does not busy-loop.

        `at_once`: number of requests per resource that may be sent without a delay, such as a list after a watch.
        """
        most = at_once + self.seconds / FIRST_PAUSE if at_once else 0
        for resource in RESOURCES:
            count = len(self.requests(resource))
            self._trial.require(count <= most, f"{count} requests for {resource} in {self.seconds:.1f} s")
        used = self.cpu_seconds()
        # A busy machine makes the episode longer, but does not increase the CPU time per second; a slow processor does.
        most = self.scaled(cpu_seconds * pace.SLOWNESS * pace.processor_slowness())
        self._trial.require(used <= most or WATCHED, f"{used:.2f} s of CPU in {self.seconds:.1f} s, more than {most:.2f} s")

    def require_flat_memory(self, growth_kib=8 << 10):
        """The daemon frees the additional memory of the episode within a few seconds."""
        def flat():
            return self.memory_kib() - self._memory <= growth_kib or WATCHED

        self._trial.wait_until(flat, f"memory is back within {growth_kib} KiB of {self._memory} KiB", seconds=6)

    def _cpu_seconds(self):
        with open(f"/proc/{self._daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
