# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Ipvs mode at one size: first sync, changes of one endpoint, a restart that missed nothing; and the same messages alone."""

import json
import os
import statistics
import time

from arrival import Packets
from changes import Changes
from cluster import SERVICE_PORT, service_ip
from load import sentinels
from network import BenchError, answering_endpoint, remove_namespace, run
from patience import stretched

# Every change is delivered at once, so that none waits for the previous one.
FLAGS = ["--ipvs-min-sync-period", "0s"]
REST_SECONDS = 0.3
PAUSE_SECONDS = 0.02


class IpvsMeasurement:
    """`measured` holds the metrics so far, also when a phase ends in a BenchError."""

    def __init__(self, subject, cluster, wanted):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._writes = []
        self._changes = Changes(subject, cluster, Packets(), wanted.changes, wanted.change_patience, self._rest)
        self.measured = {}

    def run(self, until):
        for name, phase in [("first sync", self._first), ("change of one endpoint", self._one_endpoint),
                            ("restart", self._restart)]:
            if time.monotonic() > until:
                raise BenchError(f"{name}: not begun, the time is up")
            try:
                self.measured.update(phase())
            except BenchError as error:
                raise BenchError(f"{name}: {error}") from error

    def _first(self):
        begin = self._subject.start()
        reached = self._reach(begin)
        writes = self._synced(1)
        used = self._subject.cpu()
        return {"start_seconds": reached - begin, **_own("start", used, 1, "cpu_seconds"),
                "start_children_cpu_seconds": used.children_user + used.children_system, "start_kernel_writes": writes}

    def _reach(self, begin):
        """When the first, the middle and the last Service have answered."""
        waiting = sentinels(self._cluster.services)
        while waiting:
            waiting = [one for one in waiting if answering_endpoint(service_ip(one), SERVICE_PORT) is None]
            self._subject.check_alive()
            if time.monotonic() > begin + stretched(self._wanted.patience):
                raise BenchError(f"Services {waiting} do not answer after {self._wanted.patience:.0f} s{self._subject.last_words()}")
            if waiting:
                time.sleep(PAUSE_SECONDS)  # poll interval
        return time.monotonic()

    def _synced(self, full_syncs):
        """The writes of the last apply of both families, once the daemon is idle."""
        end = time.monotonic() + stretched(self._wanted.patience)
        while True:
            families = (self._subject.status() or {}).get("families", [])
            if families and all(one["synced"] and one["full_syncs"] >= full_syncs for one in families):
                return sum(one["last_apply"]["kernel_writes"] for one in families)
            self._subject.check_alive()
            if time.monotonic() > end:
                raise BenchError(f"not synced after {self._wanted.patience:.0f} s{self._subject.last_words()}")
            time.sleep(PAUSE_SECONDS)  # poll interval

    def _rest(self):
        families = (self._subject.status() or {}).get("families", [])
        self._writes.append([one["last_apply"]["kernel_writes"] for one in families if one["family"] == "IPv4"])
        time.sleep(REST_SECONDS)  # fixed time: a rest between two changes

    def _one_endpoint(self):
        self._rest()
        self._writes.clear()
        before = self._subject.cpu()
        found = self._changes.one_endpoint()
        used = self._subject.cpu() - before
        # What is written for a change, whichever of both families has nothing to do with it.
        found["one_endpoint_kernel_writes"] = statistics.median([one[0] for one in self._writes if one] or [0])
        found.update(_own("one_endpoint", used, 1000 / self._wanted.changes, "cpu_ms", whole=False))
        return found

    def _restart(self):
        draining = _draining()
        self._subject.stop()
        self._subject.start()
        writes = self._subject.restart_writes(self._wanted.patience)
        if writes is not None:
            # Real servers that earlier changes removed, and whose last connection has ended, are deleted now.
            writes -= draining - _draining()
        return {"restart_kernel_writes": writes, **_own("restart", self._subject.cpu(), 1, "cpu_seconds")}


def _draining():
    """Real servers that were removed and still have connections."""
    return sum(line.endswith(" -w 0") for line in run("ipvsadm", "-Sn").splitlines())


def _own(prefix, used, factor, unit, whole=True):
    found = {f"{prefix}_own_user_{unit}": used.own_user * factor, f"{prefix}_own_system_{unit}": used.own_system * factor}
    if whole:
        found[f"{prefix}_own_{unit}"] = used.own * factor
    return found


class Bare:
    """test/tools/ipvsload in a namespace of its own."""

    def __init__(self, builddir):
        self._program = os.path.join(builddir, "test", "tools", "ipvsload")

    def run(self, services, endpoints, changes):
        space = f"sluice-bench-{os.getpid()}-bare"
        run("ip", "netns", "add", space)
        try:
            # Without any address IPVS accepts none as a host address.
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "link", "add", "kube-ipvs0", "type", "dummy")
            run("ip", "netns", "exec", space, "ipset", "create", "KUBE-CLUSTER-IP", "hash:ip,port", "maxelem", "65536")
            run("ip", "netns", "exec", space, "ipset", "create", "KUBE-IPVS-IPS", "hash:ip", "maxelem", "65536")
            said = run("ip", "netns", "exec", space, self._program, str(services), str(endpoints), str(changes))
        finally:
            remove_namespace(space)
        try:
            return {f"bare_{name}": value for name, value in json.loads(said).items()}
        except ValueError as error:
            raise BenchError(f"ipvsload said {said!r}: {error}") from error
