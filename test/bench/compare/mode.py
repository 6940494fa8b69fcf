# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Both proxies in one mode at one size: turns that alternate, then the packets through the rules of both."""

import os
import shutil
import tempfile
from contextlib import ExitStack

import paths  # noqa: F401  # pylint: disable=unused-import
import plan
import results
import sides
from metrics import KUBE_PROXY, PACKET_PARTS, PROXIES, SLUICE
from network import BenchError
from packets import Packets
from stage import Stage
from turn import Turn

PLACES = {SLUICE: 1, KUBE_PROXY: 2}


class Mode:
    """`failed_to_sync`: the proxies whose first sync failed."""

    def __init__(self, cluster, mode, parts, wanted, given_up, report):
        self._cluster, self._mode, self._parts, self._wanted, self._report = cluster, mode, parts, wanted, report
        self._samples, self._others, self._p99, self._pairs = {}, {}, {}, {}
        self._gave_up = {proxy: {part: why for part in parts} for proxy, why in given_up.items()}
        self._hopeless = set(given_up)
        self._begun = False
        self.failed_to_sync = set()

    def run(self):
        rounds = plan.rounds_of(self._parts, self._wanted)
        with ExitStack() as standing:
            stages = {}
            for number, order in enumerate(plan.orders(rounds)):
                for proxy in order:
                    if proxy in self._hopeless:
                        continue
                    # Rules are needed afterwards only from the last turn of each.
                    with ExitStack() as turn:
                        stage = turn.enter_context(Stage(os.path.join(self._wanted.builddir, "test", "tools"), PLACES[proxy]))
                        synced = self._turn(proxy, stage, plan.share_of_round(self._wanted.changes, rounds, number))
                        if synced and number == rounds - 1 and set(self._parts) & set(PACKET_PARTS):
                            stages[proxy] = stage
                            standing.enter_context(turn.pop_all())
            if len(stages) == len(PROXIES):
                self._packets(stages)
            elif set(self._parts) & set(PACKET_PARTS):
                for proxy in set(PROXIES) & set(stages):
                    self._report(f"{self._mode}: packets are measured only beside the other proxy, not {proxy} alone")

    def _turn(self, proxy, stage, changes):
        self._begun = True
        directory = tempfile.mkdtemp(prefix="proxy-", dir=self._cluster.layout.folder)
        os.chmod(directory, 0o755)
        subject = sides.make(proxy, self._wanted, stage, directory, self._cluster.kubeconfig, self._mode)
        turn = Turn(subject, stage, self._cluster, self._wanted, changes)
        try:
            synced = turn.run(self._parts)
        finally:
            subject.close()
            shutil.rmtree(directory, ignore_errors=True)
        for part, values in turn.samples.items():
            for name, found in values.items():
                self._samples.setdefault(part, {}).setdefault(proxy, {}).setdefault(name, []).extend(found)
        for part, shares in turn.others.items():
            self._others.setdefault(part, {}).setdefault(proxy, []).extend(shares)
        for part, why in turn.gave_up.items():
            self._report(f"{self._mode}, {proxy}: {part}: {why}")
            self._gave_up.setdefault(proxy, {})[part] = why
        if synced:
            self._report(f"{self._mode}, {proxy}: first sync {turn.samples['sync']['seconds'][0]:.2f} s; turn complete")
        else:
            self.failed_to_sync.add(proxy)
            self._hopeless.add(proxy)
            self._gave_up[proxy] |= {part: turn.gave_up["sync"] for part in self._parts}
        return synced

    def _packets(self, stages):
        try:
            packets = Packets(stages, self._cluster, self._mode, self._wanted)
            if "connect" in self._parts:
                samples, self._p99, self._pairs, others = packets.connect()
                self._samples["connect"] = samples
                self._others["connect"] = {proxy: [others] for proxy in stages}
            if "load" in self._parts:
                self._samples["load"], self._others["load"] = packets.load()
        except BenchError as error:
            self._report(f"{self._mode}: packets: {error}")
            for proxy in stages:
                self._gave_up.setdefault(proxy, {}).update(
                    {part: str(error) for part in PACKET_PARTS if part not in self._samples})

    def rows(self, size, run):
        """One row for each part that was begun."""
        for part in self._parts if self._begun else ():
            gave_up = {proxy: whys[part] for proxy, whys in self._gave_up.items() if part in whys}
            samples = self._samples.get(part, {})
            if not samples and not gave_up:
                continue
            others = self._others.get("sync" if part == "memory" else part, {})
            row = results.made_row(part, self._mode, size, run, samples, gave_up, others)
            if part == "connect":
                for proxy, found in self._p99.items():
                    for name, value in found.items():
                        results.with_p99(row, proxy, name, value)
                for name, value in self._pairs.items():
                    results.with_pairs(row, name, value)
            yield row
