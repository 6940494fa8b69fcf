# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A table of N tracked UDP flows: what looking at it takes, and whether a change elsewhere is later for it."""

import statistics
import time

import figures
from arrival import Packets
from changes import Changes
from cluster import SERVICES, SLICES, service_ip, udp_service, udp_slice
from network import BenchError
from patience import stretched
from tracking import Looks, PeakAnonymous, Replacing, fill

# Every change is written at once, so that none waits for the one before; each look is logged.
FLAGS = ["--iptables-min-sync-period", "0s", "--conntrack-max-per-core", "0", "--v", "4"]
REST_SECONDS = 0.05
CHURN_SECONDS = 0.3
# Single looks of each kind.
LOOKS = 3
# More endpoints at once than the daemon asks for one by one: it looks at everything.
WIDE = 12


class Endpoints:
    """A UDP Service at `addresses` whose endpoints are 10.<octet>.<turn>.0 and on."""

    def __init__(self, client, name, addresses, octet, count):
        self._client = client
        self._name = name
        self._octet = octet
        self._count = count
        self._turn = 0
        client.call("POST", SERVICES, udp_service(name, addresses))
        client.call("POST", SLICES, self._slice())

    def replace(self):
        """All of them, by others; returns once the API server has it."""
        self._turn = (self._turn + 1) % 250
        self._client.send_slice(self._slice())
        self._client.answer()

    def _slice(self):
        return udp_slice(self._name, [f"10.{self._octet}.{self._turn}.{n}" for n in range(self._count)])


class ConntrackMeasurement:
    """`figures` holds what has been measured so far, also when a phase ends in a BenchError."""

    def __init__(self, subject, cluster, wanted, entries):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._entries = entries
        self._patience = wanted.patience
        self._changes = Changes(subject, cluster, Packets(), 0, wanted.change_patience, None)
        self._looks = Looks(subject.log_path)
        # The flows belong to the first; the others have none, so that looks for theirs find nothing.
        self._flows = Endpoints(cluster.client(), "flows", [f"172.31.0.{n}" for n in range(WIDE)], 99, WIDE)
        self._single = Endpoints(cluster.client(), "single", ["10.101.0.1"], 98, 1)
        self._wide = Endpoints(cluster.client(), "wide", ["10.101.0.2"], 97, WIDE)
        self.figures = {}

    def run(self, until):
        self._start()
        self._measured(until, "memory_empty_mib", [
            ("changes", lambda: self._single_changes("empty")), ("UDP churn", lambda: self._churn("churn_empty")),
            ("looks", lambda: self._single_looks("empty_look"))])
        self._fill()
        self._measured(until, "memory_full_mib", [
            ("changes beside a full table", lambda: self._single_changes("full")),
            ("looks at a full table", lambda: self._single_looks("look")),
            ("UDP churn beside a full table", lambda: self._churn("churn_full")),
            ("changes during looks at everything", self._changes_while_looking),
            ("removal", self._removal), ("changes during a removal", self._changes_while_removing)])
        self.figures["memory_growth_mib"] = max(0.0, self.figures["memory_full_mib"] - self.figures["memory_empty_mib"])

    def _measured(self, until, memory_figure, phases):
        with PeakAnonymous(self._subject.pid) as peak:
            for name, phase in phases:
                if time.monotonic() > until:
                    raise BenchError(f"{name}: not begun, the time is up")
                try:
                    self.figures.update(phase())
                except BenchError as error:
                    raise BenchError(f"{name}: {error}") from error
        self.figures[memory_figure] = peak.mib

    def _start(self):
        begin = self._subject.start()
        if Packets().wait(service_ip(0), self._changes.expected(), self._patience) is None:
            self._subject.check_alive()
            raise BenchError(f"the Service does not answer after {self._patience:.0f} s{self._subject.last_words()}")
        self._next_look(everything=True)
        self.figures["start_seconds"] = time.monotonic() - begin

    def _fill(self):
        fill(self._wanted.builddir, self._entries, WIDE)

    def _change(self):
        """Begin and end of one change of the TCP Service, on the monotonic clock."""
        time.sleep(REST_SECONDS)  # fixed time: a rest between two changes
        begin = time.monotonic()
        return begin, begin + self._changes.move_all()

    def _single_changes(self, prefix):
        return self._times(prefix, [self._change() for _ in range(self._wanted.conntrack_changes)])

    @staticmethod
    def _times(prefix, changes):
        return figures.milliseconds(prefix, [end - begin for begin, end in changes])

    def _churn(self, prefix):
        """Changes while a UDP endpoint is replaced several times a second: rules are written for that as well."""
        self._looks.new()
        begin = time.monotonic()
        with Replacing(self._single.replace, CHURN_SECONDS):
            found = self._single_changes(prefix)
            looks = self._looks.new() or [self._next_look(everything=False)]
        took = time.monotonic() - begin
        return {**found, f"{prefix}_looks": len(looks),
                f"{prefix}_looking_percent": sum(one.seconds for one in looks) * 100 / took}

    def _single_looks(self, prefix):
        """Nothing else happens, and nothing is stale."""
        return {f"{prefix}_endpoint_seconds": self._look_seconds(self._single.replace, False),
                f"{prefix}_everything_seconds": self._look_seconds(self._wide.replace, True)}

    def _look_seconds(self, cause, everything):
        took = []
        for _ in range(LOOKS):
            self._looks.new()
            cause()
            took.append(self._next_look(everything).seconds)
        return statistics.median(took)

    def _next_look(self, everything):
        look = self._looks.wait(self._patience, everything)
        if look is None:
            self._subject.check_alive()
            raise BenchError(f"no look at {'everything' if everything else 'some flows'} within {self._patience:.0f} s")
        return look

    def _changes_while_looking(self):
        found, end = [], time.monotonic() + stretched(self._patience)
        while len(found) < self._wanted.conntrack_changes:
            if time.monotonic() > end:
                raise BenchError(f"only {len(found)} changes fell into looks within {self._patience:.0f} s")
            found += self._changes_within_look(self._wide.replace)[0]
        return {**self._times("looking", found), "looking_changes": len(found)}

    def _changes_within_look(self, cause):
        """Those during the look at everything that `cause` leads to, and the look."""
        made, look, end = [], None, time.monotonic() + stretched(self._patience)
        self._looks.new()
        cause()
        while look is None:
            if time.monotonic() > end:
                raise BenchError(f"no look at everything within {self._patience:.0f} s")
            made.append(self._change())
            look = next((one for one in self._looks.new() if one.everything), None)
        return [(begin, end) for begin, end in made if begin < look.end and end > look.begin], look

    def _removal(self):
        """All endpoints of the flows go at once."""
        self._looks.new()
        self._flows.replace()
        look = self._next_look(everything=True)
        return {"removal_seconds": look.seconds, "removed_entries": look.removed,
                "left_entries": max(0, self._entries - look.removed)}

    def _changes_while_removing(self):
        found, end = [], time.monotonic() + stretched(self._patience)
        while not found and time.monotonic() < end:
            # Made once more, they lead to endpoints that have gone; the next look finds that.
            self._fill()
            found, look = self._changes_within_look(self._flows.replace)
            if look.removed < self._entries:
                raise BenchError(f"{look.removed} of {self._entries} entries were removed")
        if not found:
            raise BenchError("no change fell into a removal")
        return {**self._times("removing", found), "removing_changes": len(found)}
