# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A table of N tracked UDP flows: the time of a scan, and whether it delays a change elsewhere."""

import statistics
import time

import summary
from arrival import Packets
from changes import Changes
from cluster import SERVICES, SLICES, service_ip, udp_service, udp_slice
from network import BenchError
from patience import stretched
from tracking import PeakAnonymous, Replacing, Scans, fill

# Every change is written at once, so that none waits for the previous one; each scan is logged.
FLAGS = ["--iptables-min-sync-period", "0s", "--conntrack-max-per-core", "0", "--v", "4"]
REST_SECONDS = 0.05
CHURN_SECONDS = 0.3
# Single scans of each kind.
SCANS = 3
# More endpoints at once than the daemon queries one by one: it does a full scan.
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
    """`measured` holds the metrics so far, also when a phase ends in a BenchError."""

    def __init__(self, subject, cluster, wanted, entries):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._entries = entries
        self._patience = wanted.patience
        self._changes = Changes(subject, cluster, Packets(), 0, wanted.change_patience, None)
        self._scans = Scans(subject.log_path)
        # The flows belong to the first; the others have none, so that scans for theirs find nothing.
        self._flows = Endpoints(cluster.client(), "flows", [f"172.31.0.{n}" for n in range(WIDE)], 99, WIDE)
        self._single = Endpoints(cluster.client(), "single", ["10.101.0.1"], 98, 1)
        self._wide = Endpoints(cluster.client(), "wide", ["10.101.0.2"], 97, WIDE)
        self.measured = {}

    def run(self, until):
        self._start()
        self._measured(until, "memory_empty_mib", [
            ("changes", lambda: self._single_changes("empty")), ("UDP churn", lambda: self._churn("churn_empty")),
            ("scans", lambda: self._single_scans("empty_scan"))])
        self._fill()
        self._measured(until, "memory_full_mib", [
            ("changes beside a full table", lambda: self._single_changes("full")),
            ("scans of a full table", lambda: self._single_scans("scan")),
            ("UDP churn beside a full table", lambda: self._churn("churn_full")),
            ("changes during full scans", self._changes_while_scanning),
            ("removal", self._removal), ("changes during a removal", self._changes_while_removing)])
        self.measured["memory_growth_mib"] = max(0.0, self.measured["memory_full_mib"] - self.measured["memory_empty_mib"])

    def _measured(self, until, memory_metric, phases):
        with PeakAnonymous(self._subject.pid) as peak:
            for name, phase in phases:
                if time.monotonic() > until:
                    raise BenchError(f"{name}: not begun, the time is up")
                try:
                    self.measured.update(phase())
                except BenchError as error:
                    raise BenchError(f"{name}: {error}") from error
        self.measured[memory_metric] = peak.mib

    def _start(self):
        begin = self._subject.start()
        if Packets().wait(service_ip(0), self._changes.expected(), self._patience) is None:
            self._subject.check_alive()
            raise BenchError(f"the Service does not answer after {self._patience:.0f} s{self._subject.last_words()}")
        self._next_scan(everything=True)
        self.measured["start_seconds"] = time.monotonic() - begin

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
        return summary.milliseconds(prefix, [end - begin for begin, end in changes])

    def _churn(self, prefix):
        """Changes while a UDP endpoint is replaced several times a second: rules are written for that as well."""
        self._scans.new()
        begin = time.monotonic()
        with Replacing(self._single.replace, CHURN_SECONDS):
            found = self._single_changes(prefix)
            scans = self._scans.new() or [self._next_scan(everything=False)]
        took = time.monotonic() - begin
        return {**found, f"{prefix}_scans": len(scans),
                f"{prefix}_scanning_percent": sum(one.seconds for one in scans) * 100 / took}

    def _single_scans(self, prefix):
        """Nothing else happens, and nothing is stale."""
        return {f"{prefix}_endpoint_seconds": self._scan_seconds(self._single.replace, False),
                f"{prefix}_everything_seconds": self._scan_seconds(self._wide.replace, True)}

    def _scan_seconds(self, cause, everything):
        took = []
        for _ in range(SCANS):
            self._scans.new()
            cause()
            took.append(self._next_scan(everything).seconds)
        return statistics.median(took)

    def _next_scan(self, everything):
        scan = self._scans.wait(self._patience, everything)
        if scan is None:
            self._subject.check_alive()
            raise BenchError(f"no {'full' if everything else 'partial'} scan within {self._patience:.0f} s")
        return scan

    def _changes_while_scanning(self):
        found, end = [], time.monotonic() + stretched(self._patience)
        while len(found) < self._wanted.conntrack_changes:
            if time.monotonic() > end:
                raise BenchError(f"only {len(found)} changes fell into scans within {self._patience:.0f} s")
            found += self._changes_within_scan(self._wide.replace)[0]
        return {**self._times("scanning", found), "scanning_changes": len(found)}

    def _changes_within_scan(self, cause):
        """The changes during the full scan that `cause` triggers, and the scan."""
        made, scan, end = [], None, time.monotonic() + stretched(self._patience)
        self._scans.new()
        cause()
        while scan is None:
            if time.monotonic() > end:
                raise BenchError(f"no full scan within {self._patience:.0f} s")
            made.append(self._change())
            scan = next((one for one in self._scans.new() if one.everything), None)
        return [(begin, end) for begin, end in made if begin < scan.end and end > scan.begin], scan

    def _removal(self):
        """All endpoints of the flows go at once."""
        self._scans.new()
        self._flows.replace()
        scan = self._next_scan(everything=True)
        return {"removal_seconds": scan.seconds, "removed_entries": scan.removed,
                "left_entries": max(0, self._entries - scan.removed)}

    def _changes_while_removing(self):
        found, end = [], time.monotonic() + stretched(self._patience)
        while not found and time.monotonic() < end:
            # Created again, they lead to endpoints that are gone; the next scan finds them.
            self._fill()
            found, scan = self._changes_within_scan(self._flows.replace)
            if scan.removed < self._entries:
                raise BenchError(f"{scan.removed} of {self._entries} entries were removed")
        if not found:
            raise BenchError("no change fell into a removal")
        return {**self._times("removing", found), "removing_changes": len(found)}
