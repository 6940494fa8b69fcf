# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of every case about API server faults, and the conditions during and after the fault."""

import dataclasses

from .addresses import E1, E2
from .cases import POD, kept
from .episode import RESOURCES, Episode
from .objects import ready

ADDITIONAL_SERVICES = 4  # Services that a partial list would lose
HITS = 3  # affected requests before the fault may end
AT_LEAST = 2  # seconds, in which a client without a backoff would send many requests
PATIENCE = 15
# After four failures the next attempt follows within 12.8 s, after five within 25.6 s; then a list and a sync are needed.
ARRIVES_WITHIN = 32
MANY_HITS = 6



@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of the server, and its expected effects."""

    made: tuple  # the faults to inject
    words: tuple = ()  # a warning contains all of them and the server; empty: no warning
    names_server: bool = True  # False if the warning is about one object
    hits: int = HITS
    delivers: bool = False  # changes arrive in spite of the fault
    streams: bool = True  # the server supports watch lists


def within(kind, words=(), names_server=True, hits=HITS, delivers=False, streams=True, **more):
    """A fault in lists of Services and EndpointSlices after the first object, and in resumed watches."""
    common = {"kind": kind, "count": 0, **more}
    made = [{"match": match, "resource": resource, "after_events": 1, **common}
            for resource in ("services", "endpointslices") for match in ("list", "initial")]
    made.append({"match": "resume", "resource": "endpointslices", **common})
    return Fault(tuple(made), words, names_server, hits, delivers, streams)


def instead(kind, words=(), hits=HITS, **more):
    """A fault that replaces every response to a list or watch."""
    made = [{"match": "read", "resource": resource, "kind": kind, "count": 0, **more} for resource in RESOURCES]
    return Fault(tuple(made), words, True, hits)


class FaultScenario:
    """A steady Service with a hammer, additional Services, and an Episode."""

    def __init__(self, t):
        self.t = t
        self.source = t.bench.source
        self.steady = t.service([ready(E1), ready(E2)])
        self.additional = [t.service([ready(E1)]) for _ in range(ADDITIONAL_SERVICES)]
        t.settle()
        t.expect(POD, self.steady.cluster(), kept(E1, E2))
        self.hammer = t.hammer(POD, self.steady.cluster(), calm=True)
        self.episode = Episode(t)

    def inject(self, fault):
        for one in fault.made:
            self.source.fault(**one)
        self.t.defer(self.source.clear_faults)
        self.source.admin("options", {"no_watchlist": not fault.streams})

    def wait_affected(self, fault):
        def affected():
            pending = self.source.faults()
            missed = set(RESOURCES) & {one["resource"] for one in pending}
            missed -= {one["resource"] for one in pending if one["hits"]}
            enough = sum(one["hits"] for one in pending) >= fault.hits
            return not missed and enough and self.episode.seconds >= AT_LEAST

        self.t.wait_until(affected, f"the fault has affected every resource, {fault.hits} times in total", PATIENCE)

    def change(self):
        return self.t.service([ready(E2)])

    def expect_arrived(self, changed, seconds=ARRIVES_WITHIN):
        self.t.expect_soon(POD, changed.cluster(), kept(E2), seconds)

    def require_unharmed(self, occasion):
        self.episode.require_rules_kept(occasion)
        self.require_served(occasion)

    def require_served(self, occasion):
        self.t.require_unbroken(self.hammer, occasion)
        self.t.expect(POD, self.steady.cluster(), kept(E1, E2))
        self.t.expect(POD, [service.cluster() for service in self.additional], kept(E1))

    def require_warning(self, fault):
        if fault.words and fault.names_server:
            self.episode.require_explained(fault.words)
        elif fault.words:
            self.episode.require_logged(fault.words)
        self.episode.require_no_flood()


def run_fault(t, fault):
    scenario = FaultScenario(t)
    scenario.inject(fault)
    # Compaction makes watches too old to be resumed, so that the daemon also lists.
    scenario.source.admin("compact", {})
    scenario.source.cut()
    scenario.wait_affected(fault)
    changed = scenario.change()
    if fault.delivers:
        scenario.expect_arrived(changed)
    scenario.require_unharmed("during the fault")
    scenario.require_warning(fault)
    scenario.episode.require_backoff()
    scenario.source.clear_faults()
    scenario.source.disconnect()
    scenario.expect_arrived(changed)
    scenario.episode.require_rules_kept("after the fault")
    scenario.episode.require_flat_memory()
    return scenario
