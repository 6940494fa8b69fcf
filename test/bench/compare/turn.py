# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One life of one proxy on a stage, from its first start to its last: the parts that need no other proxy beside it."""

import time

import paths  # noqa: F401  # pylint: disable=unused-import
from arrival import Packets
from load import Load
from network import BenchError
from others import Others
from plan import REST_SECONDS
from process import PeakWithChildren, memory
from sides import cpu_seconds, wait_idle, wait_synced
from stage import NODE

CHUNK = 5  # changes whose CPU time is one sample: the kernel counts child processes in ticks of 10 ms
PROBE_REST_SECONDS = 0.13
CHURNS = {"churn50": 50, "churn500": 500}


class Turn:
    """`samples`: part → metric → values; `others`: part → shares of other programs; `gave_up`: part → why."""

    def __init__(self, subject, stage, cluster, wanted, changes):
        self._subject, self._stage, self._cluster, self._wanted = subject, stage, cluster, wanted
        self._count = changes
        self._peak = 0.0
        self.samples, self.others, self.gave_up = {}, {}, {}

    def run(self, parts):
        """False if the first sync failed. The rules stay in the kernel; the proxy stops."""
        with self._stage.inside(NODE):
            try:
                if not self._measure("sync", self._sync):
                    return False
                for part, phase in (("change", self._change), *((name, lambda rate=rate: self._churn(rate))
                                                                  for name, rate in CHURNS.items()), ("restart", self._restart)):
                    if part in parts:
                        self._measure(part, phase)
                self.samples["memory"]["turn_peak_pss_mib"] = [self._peak]
                return True
            finally:
                self._subject.stop()

    def _measure(self, part, phase):
        others = Others()
        try:
            self.samples.setdefault(part, {}).update(phase())
        except BenchError as error:
            self.gave_up[part] = str(error).partition("; its last words")[0]
            return False
        finally:
            self.others.setdefault(part, []).append(others.percent())
        return True

    def _rest(self):
        wait_idle(self._subject, self._wanted.change_patience)
        time.sleep(REST_SECONDS)  # fixed time: longer than the minimum interval of writes

    def _watched(self, work):
        """Runs `work` while the memory is sampled."""
        peak = PeakWithChildren(self._subject.pid)
        try:
            return work()
        finally:
            peak.end()
            self._peak = max(self._peak, peak.pss)

    def _sync(self):
        found = Load(self._subject, self._cluster, self._stage, self._wanted).run()
        wait_idle(self._subject, self._wanted.patience)
        alone = memory(self._subject.pid)
        self._peak = found["memory_peak_pss_with_children_mib"]
        self.samples["memory"] = {"pss_mib": [alone["pss"]], "resident_mib": [alone["resident"]], "peak_pss_mib": [self._peak]}
        return {"seconds": [found["start_seconds"]], "cpu_seconds": [cpu_seconds(self._subject.cpu())]}

    def _one_change(self):
        body, expected = self._cluster.turn_probe()
        begin = time.monotonic()
        self._cluster.api.send_slice(body)
        arrived = Packets().wait(self._cluster.probe_ip(), expected, self._wanted.change_patience)
        self._cluster.api.answer()
        if arrived is None:
            self._subject.check_alive()
            raise BenchError(f"a change did not arrive within {self._wanted.change_patience:.0f} s{self._subject.last_words()}")
        return (arrived - begin) * 1000

    def _change(self):
        events, costs = [], []
        self._rest()

        def chunk(count):
            before = self._subject.cpu()
            for _ in range(count):
                events.append(self._one_change())
                self._rest()
            costs.append(cpu_seconds(self._subject.cpu() - before) * 1000 / count)

        def all_chunks():
            for begin in range(0, self._count, CHUNK):
                chunk(min(CHUNK, self._count - begin))

        self._watched(all_chunks)
        return {"event_ms": events, "cpu_ms": costs}

    def _churn(self, rate):
        events, found = [], {}
        self._rest()

        def work():
            before, begin = self._subject.cpu(), time.monotonic()
            changes = self._cluster.churn(rate, self._wanted.churn_seconds, self._stage.home)
            while changes.running:
                events.append(self._one_change())
                time.sleep(PROBE_REST_SECONDS)  # fixed time: a rest between two probes
            used, took = self._subject.cpu() - before, time.monotonic() - begin
            sent, seconds = changes.result(1)
            found.update(cpu_percent=[cpu_seconds(used) * 100 / took], changes_per_second=[sent / seconds])

        self._watched(work)
        return {**found, "event_ms": events}

    def _restart(self):
        """First without a change; then after one that was missed."""
        self._rest()
        self._subject.stop()
        begin = self._subject.start()
        seconds = wait_synced(self._subject, time.time() - (time.monotonic() - begin), self._wanted.patience)
        wait_idle(self._subject, self._wanted.patience)
        plain = cpu_seconds(self._subject.cpu())
        self._subject.stop()
        body, expected = self._cluster.turn_probe()
        self._cluster.api.send_slice(body)
        self._cluster.api.answer()
        begin = self._subject.start()
        arrived = Packets().wait(self._cluster.probe_ip(), expected, self._wanted.patience, pause=0.005)
        if arrived is None:
            raise BenchError(f"what changed meanwhile did not arrive within {self._wanted.patience:.0f} s")
        wait_idle(self._subject, self._wanted.patience)
        return {"seconds": [seconds], "cpu_seconds": [plain], "changed_seconds": [arrived - begin],
                "changed_cpu_seconds": [cpu_seconds(self._subject.cpu())]}
