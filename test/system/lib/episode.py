# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A time in which something is wrong: what the daemon did meanwhile to rules, log, server, CPU and memory."""

import os
import time

from . import addresses as a
from . import foreign, pace

TICKS = os.sysconf("SC_CLK_TCK")
COMPLAINTS = ("W", "E", "F")  # of klog's first letter
RESOURCES = ("services", "endpointslices", "nodes")
USUAL_SECONDS = 15  # of an episode, at most
FIRST_PAUSE = 0.8  # of the backoff
KUBE = " kube] "
# Set by test/sanitizers/watched.sh: figures of time and memory are those of the sanitizer then.
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
        """What is answered is in its table already, and another table of the same change may be written after it."""
        rules = pace.wait_unchanged(lambda: foreign.ruleset(self._trial.topology), quiet=0.2, seconds=20, every=0.1)
        self._trial.require(rules is not None, "rules never stop changing")
        return rules or ""

    # What happened so far.

    @property
    def seconds(self):
        return time.monotonic() - self._began

    def requests(self, resource=None):
        """What the daemon asked the API server, oldest first."""
        made, _ = self._source.requests(self._request_at)
        return [one for one in made if resource in (None, one["resource"]) and
                one["headers"].get("user-agent", "").startswith("sluiced/")]

    def log_lines(self):
        return self._daemon.log()[self._log_at:].splitlines()

    def complaints(self):
        return [line for line in self.log_lines() if line.startswith(COMPLAINTS)]

    def cpu_seconds(self):
        return self._cpu_seconds() - self._cpu

    def memory_kib(self):
        """Resident and the daemon's own: pages of programs and libraries come and go as the kernel likes."""
        with open(f"/proc/{self._daemon.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    # What must hold.

    def require_rules_kept(self, occasion):
        """Nothing that was there is gone; new rules may have come."""
        lost = set(self._rules.splitlines()) - set(foreign.ruleset(self._trial.topology).splitlines())
        self._trial.require(not lost, f"{occasion}: {len(lost)} rules are gone, one of them: {min(lost, default='')}")

    def require_explained(self, words, most=12):
        """One complaint names the server and the reason in these words, and there is no flood of lines."""
        self.require_said([a.NODE2.v4, *words])
        self.require_no_flood(most)

    def require_said(self, words):
        # The daemon may still read what the server has sent already, such as an object of 32 MiB.
        said = pace.wait_until(lambda: any(all(word in line for word in words) for line in self.complaints()), 5)
        self._trial.require(said, f"no complaint has the words {', '.join(words)}; there are: {self.complaints()[:4]}")

    def require_no_flood(self, most=12):
        lines = [line for line in self.log_lines() if KUBE in line]
        most = self.scaled(most)
        self._trial.require(len(lines) <= most, f"{len(lines)} lines of log in {self.seconds:.0f} s, more than {most:.0f}; "
                                                f"the last: {lines[-3:]}")

    def scaled(self, most):
        """So many of what comes again and again, or as many more as the episode lasts longer than usual, as on a busy machine."""
        return most * max(1, self.seconds / USUAL_SECONDS)

    def require_patience(self, at_once=5, cpu_seconds=0.8):
        """The server was not asked more often than a backoff from 0.8 s allows, and the daemon did not spin.

        `at_once`: requests for one kind of object that need no waiting, as a list after a watch.
        """
        most = at_once + self.seconds / FIRST_PAUSE if at_once else 0
        for resource in RESOURCES:
            count = len(self.requests(resource))
            self._trial.require(count <= most, f"{count} requests for {resource} in {self.seconds:.1f} s")
        used = self.cpu_seconds()
        # Time of the processor: a busy machine makes an episode longer, and does not add to what each second of it costs;
        # a slow processor does.
        most = self.scaled(cpu_seconds * pace.SLOWNESS * pace.processor_slowness())
        self._trial.require(used <= most or WATCHED, f"{used:.2f} s of CPU in {self.seconds:.1f} s, more than {most:.2f} s")

    def require_flat_memory(self, growth_kib=8 << 10):
        """What the trouble took is given back within a few seconds."""
        def flat():
            return self.memory_kib() - self._memory <= growth_kib or WATCHED

        self._trial.wait_until(flat, f"memory is back within {growth_kib} KiB of {self._memory} KiB", seconds=6)

    def _cpu_seconds(self):
        with open(f"/proc/{self._daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
