# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One backend at one size: first sync, resync, changes, churn, restart, memory, connect times.

Three times are distinguished. *Apply* is the backend's own call, as `sluicectl status` has it: it begins when the wait of the
rate limiter is over and there is a transaction, and ends when the kernel has everything. *Known* is from the first object
that the daemon has received to the end of the first apply. What begins at exec or with a request to the API server has
everything in it.
"""

import os
import statistics
import time

import summary
from arrival import Packets
from changes import Changes
from churn import Updates
from cluster import AFTER, SERVICE_PORT, address, service_ip
from load import SWEPT, sentinels
from network import POD_PORT, BenchError, answering_endpoint, connect_seconds, run
from patience import stretched
from process import memory, own_cpu_seconds

POLL_SECONDS = 0.002
SLOW_POLL_SECONDS = 0.02
REST_SECONDS = 0.02
# CPU used within this time after an arrival belongs to the change.
AFTERMATH_SECONDS = 0.05
# The kernel frees memory with a short delay.
GRACE_SECONDS = 0.5
NO_LIMIT = ["--iptables-min-sync-period", "0s"]  # of all modes with a kernel
# The churn of kube-proxy was measured with it, and ours is compared with that.
PERIOD_OF_KUBE_PROXY = ["--iptables-min-sync-period", "1s"]
REST_OF_BACKEND_SECONDS = 1
# As kube-proxy's churn was measured: updates a second, and for how long.
BASELINE_RATE = 50
BASELINE_SECONDS = 20


class ScaleMeasurement:
    """`measured` holds the metrics so far, also when a phase ends in a BenchError."""

    def __init__(self, subject, cluster, wanted, recording):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._recording = recording
        self._flags = list(subject.flags)
        self._applies = []
        self._own = []
        self._changes = Changes(subject, cluster, Packets(), wanted.changes, wanted.change_patience, self._rest)
        self._toucher = os.path.join(wanted.builddir, "test", "tools", "nftload")
        self.measured = {}

    def run(self):
        for name, phase in [("first sync from a recording", self._replayed), ("first sync from the API server", self._first),
                            ("connect times", self._connect_times), ("churn", self._churn), ("restart", self._restart),
                            ("resync", self._resync), ("changes", self._single_changes)]:
            try:
                self.measured.update(phase())
            except BenchError as error:
                raise BenchError(f"{name}: {error}") from error

    # First syncs.

    def _replayed(self):
        """No network and no API server: what the daemon needs by itself."""
        rounds = []
        for _ in range(self._wanted.rounds):
            self._start(["--replay", self._recording, "--replay-speed", "0"], source=False)
            known, synced = self._synced()
            found = memory(self._subject.pid)
            rounds.append({"known": synced - known, "exec": synced - self._begin, "apply": self._last_apply()["seconds"],
                           "cpu": self._subject.cpu().own, "resident": found["resident"], "peak": found["peak"]})
            self._subject.stop()
            self._cleanup()
        return {**{f"replay_{name}_seconds": statistics.median(one[name] for one in rounds)
                   for name in ("known", "exec", "apply")},
                "replay_own_cpu_seconds": statistics.median(one["cpu"] for one in rounds),
                "replay_resident_mib": max(one["resident"] for one in rounds),
                "replay_peak_mib": max(one["peak"] for one in rounds)}

    def _first(self):
        kernel = kernel_memory()
        server = self._cluster.cpu_seconds()
        self._start(PERIOD_OF_KUBE_PROXY)
        known, synced = self._synced()
        apply = self._last_apply()
        late = self._late()
        used = self._subject.cpu()
        time.sleep(GRACE_SECONDS)  # fixed time: memory is measured of a daemon at rest
        found = memory(self._subject.pid)
        return {"first_seconds": synced - self._begin, "first_known_seconds": synced - known,
                "first_apply_seconds": apply["seconds"], "first_kernel_writes": apply["kernel_writes"],
                "first_late_services": late, "first_own_cpu_seconds": used.own,
                "first_apiserver_cpu_seconds": self._cluster.cpu_seconds() - server,
                "memory_resident_mib": found["resident"], "memory_peak_mib": found["peak"],
                "memory_anonymous_mib": found["anonymous"], "memory_kernel_mib": kernel_memory() - kernel}

    def _late(self):
        """Services that do not answer although `status` says synced; has to be 0."""
        some = range(0, self._cluster.services, max(1, self._cluster.services // SWEPT))
        return sum(answering_endpoint(service_ip(one), SERVICE_PORT) is None
                   for one in sorted({*some, *sentinels(self._cluster.services)}))

    # Beside a first connection that is not translated: to an endpoint itself.

    def _connect_times(self):
        last = self._cluster.services - 1
        places = {"direct": (address(200, 0), POD_PORT), "first": (service_ip(0), SERVICE_PORT),
                  "last": (service_ip(last), SERVICE_PORT)}
        times = {name: [] for name in places}
        for _ in range(self._wanted.connects):
            for name, place in places.items():
                took = connect_seconds(*place)
                if took is None:
                    raise BenchError(f"a connect to {place[0]}:{place[1]} failed")
                times[name].append(took * 1e6)
        return {f"connect_{name}_us_p{rank}": summary.percentile(each, rank) for name, each in times.items()
                for rank in (50, 99)}

    def _churn(self):
        kind = Updates
        if self._cluster.services < 3 or self._cluster.endpoints < 2:
            # Where there is one endpoint it is replaced: taking it away would be another kind of change.
            kind = Replacements
        updates = kind(self._cluster, self._wanted.churn_seconds)
        results = self._churn_with(updates)
        seconds = min(self._wanted.churn_seconds, BASELINE_SECONDS)
        compared = self._churn_with(kind(self._cluster, seconds, BASELINE_RATE, updates.sent))
        no_op = "churn_no_op_events"
        return {**results, no_op: results[no_op] + compared[no_op],
                "churn_baseline_updates_per_second": compared["churn_updates_per_second"],
                "churn_baseline_own_cpu_percent": compared["churn_own_cpu_percent"]}

    def _churn_with(self, updates):
        no_op = self._no_op()
        before, begin, syncs = self._subject.cpu(), time.monotonic(), self._ipv4()
        while updates.running:
            time.sleep(POLL_SECONDS * 50)  # poll interval
        updates.end()
        took = time.monotonic() - begin
        used, after, found = self._subject.cpu() - before, self._ipv4(), memory(self._subject.pid)
        return {"churn_updates_per_second": updates.sent / took, "churn_own_cpu_percent": used.own * 100 / took,
                "churn_own_cpu_us_per_update": used.own * 1e6 / updates.sent,
                "churn_applies": after["delta_syncs"] - syncs["delta_syncs"],
                "churn_full_syncs": after["full_syncs"] - syncs["full_syncs"], "churn_no_op_events": self._no_op() - no_op,
                "churn_resident_mib": found["resident"], "churn_peak_mib": found["peak"]}

    def _no_op(self):
        return (self._subject.status() or {}).get("events", {}).get("no_op", 0)

    # With the table there.

    def _restart(self):
        self._subject.stop()
        body, expected = self._changes.turn_all()
        self._cluster.api.send_slice(body)
        self._cluster.api.answer()
        self._start([])
        arrived = Packets().wait(service_ip(self._cluster.services - 1), expected, self._wanted.patience, pause=0.005)
        if arrived is None:
            raise BenchError(f"what changed meanwhile did not arrive within {self._wanted.patience:.0f} s")
        missed = arrived - self._begin
        self._synced()
        self._subject.stop()
        self._start([])
        _, synced = self._synced()
        return {"restart_missed_seconds": missed, "restart_seconds": synced - self._begin,
                "restart_apply_seconds": self._last_apply()["seconds"], "restart_own_cpu_seconds": self._subject.cpu().own,
                "restart_kernel_writes": self._subject.restart_writes(self._wanted.patience)}

    def _resync(self):
        """Another program replaces an element by the same: a full resync compares everything again."""
        before = self._subject.cpu()
        seconds, writes = [], 0
        for _ in range(self._wanted.rounds):
            seen = self._ipv4()["full_syncs"]
            # Longer than the backend rests after a check.
            time.sleep(REST_OF_BACKEND_SECONDS)  # fixed time: the backend rests after a check
            run(self._toucher, "touch", service_ip(0))
            end = time.monotonic() + stretched(self._wanted.patience)
            while (now := self._ipv4())["full_syncs"] == seen:
                if time.monotonic() > end:
                    raise BenchError(f"no full transaction for {self._wanted.patience:.0f} s")
                time.sleep(SLOW_POLL_SECONDS)  # poll interval
            seconds.append(now["last_apply"]["seconds"])
            writes += now["last_apply"]["kernel_writes"]
        used = self._subject.cpu() - before
        found = memory(self._subject.pid)
        return {"resync_apply_seconds": statistics.median(seconds), "resync_kernel_writes": writes,
                "resync_own_cpu_seconds": used.own / len(seconds), "resync_resident_mib": found["resident"],
                "resync_peak_mib": found["peak"]}

    # One at a time, without the limiter: each is delivered at once.

    def _single_changes(self):
        self._subject.stop()
        self._start(NO_LIMIT)
        self._synced()
        out = {}
        for name, change in [("replaced", self._changes.move_one), ("added", self._add_endpoint),
                             ("service", self._changes.add_service)]:
            out.update(self._each(name, change))
        out["changed_resident_mib"] = memory(self._subject.pid)["resident"]
        return out

    def _each(self, name, change):
        self._applies, self._own, arrivals = [], [], []
        writes = []
        time.sleep(AFTERMATH_SECONDS)  # fixed time: CPU time in it belongs to the change
        for _ in range(self._wanted.changes):
            before = self._ipv4()["delta_syncs"]
            own = own_cpu_seconds(self._subject.pid)
            arrivals.append(change())
            time.sleep(AFTERMATH_SECONDS)  # fixed time: CPU time in it belongs to the change
            self._own.append((own_cpu_seconds(self._subject.pid) - own) * 1e6)
            after = self._after(before)
            self._applies.append(after["seconds"] * 1e6)
            writes.append(after["kernel_writes"])
            if name == "added":
                self._take_endpoint_away()
            self._rest()
        return {**summary.milliseconds(name, arrivals), f"{name}_apply_us_p50": summary.percentile(self._applies, 50),
                f"{name}_apply_us_p99": summary.percentile(self._applies, 99), f"{name}_apply_us_each": self._applies,
                f"{name}_own_cpu_us": statistics.mean(self._own), f"{name}_own_cpu_us_p50": statistics.median(self._own),
                f"{name}_own_cpu_us_each": self._own, f"{name}_kernel_writes": statistics.median(writes)}

    def _after(self, before):
        end = time.monotonic() + stretched(self._wanted.change_patience)
        while (found := self._ipv4())["delta_syncs"] <= before:
            if time.monotonic() > end:
                raise BenchError("a change arrived, but no transaction is counted for it")
            time.sleep(POLL_SECONDS)  # poll interval
        return found["last_apply"]

    def _add_endpoint(self):
        return self._changes.move_with_extra(self._spare())

    def _take_endpoint_away(self):
        before = self._ipv4()["delta_syncs"]
        self._changes.send_without_extra()
        self._after(before)

    def _spare(self):
        """An address that is not an endpoint."""
        return AFTER, self._cluster.services * self._cluster.endpoints + 1

    def _rest(self):
        time.sleep(REST_SECONDS)  # fixed time: a rest between two changes

    # The daemon.

    def _start(self, flags, source=True):
        own = self._flags if source else _without(self._flags, "--kubeconfig")
        self._subject.flags = own + flags
        self._begin = self._subject.start()

    def _synced(self):
        """The last time without a known object, and the first with both families in the kernel."""
        known, unknown = None, self._begin
        end = time.monotonic() + stretched(self._wanted.patience)
        while True:
            status = self._subject.status() or {}
            now = time.monotonic()
            if known is None and status.get("objects", {}).get("services"):
                known = unknown
            unknown = now
            families = status.get("families", [])
            if families and all(one["synced"] for one in families) and \
                    any(one["service_ports"] >= self._cluster.services for one in families):
                return known, now
            self._subject.check_alive()
            if now > end:
                raise BenchError(f"not synced after {self._wanted.patience:.0f} s{self._subject.last_words()}")
            time.sleep(POLL_SECONDS)  # poll interval

    def _ipv4(self):
        for one in (self._subject.status() or {}).get("families", []):
            if one["family"] == "IPv4":
                return one
        self._subject.check_alive()
        raise BenchError("the daemon does not say how it is")

    def _last_apply(self):
        return self._ipv4()["last_apply"]

    def _cleanup(self):
        self._subject.flags = [*_without(self._flags, "--kubeconfig"), "--cleanup"]
        self._subject.start()
        status = self._subject.wait(self._wanted.patience)
        if status != 0:
            raise BenchError(f"--cleanup ended with status {status}{self._subject.last_words()}")


class Replacements(Updates):
    """Each replaces all endpoints of another Service."""

    def bodies(self, cluster, numbers):
        return [[cluster.slice(number, [place] * cluster.endpoints) for number in numbers] for place in (AFTER, 200)]


def _without(flags, name):
    """All but this flag and its value."""
    place = flags.index(name)
    return flags[:place] + flags[place + 2:]


def kernel_memory():
    """MiB of unreclaimable kernel memory of the whole machine."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = dict(line.split(":") for line in file)
    return sum(int(found[name].split()[0]) for name in ("SUnreclaim", "VmallocUsed", "Percpu")) / 1024
