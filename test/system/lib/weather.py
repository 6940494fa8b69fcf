# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What every case about a misbehaving API server goes through, and what must hold meanwhile and afterwards."""

import dataclasses

from .addresses import E1, E2
from .cases import POD, kept
from .episode import RESOURCES, Episode
from .objects import ready

COMPANY = 4  # Services that a half list would lose
STRIKES = 3  # of the fault, before it may end
AT_LEAST = 2  # seconds: who does not wait between attempts makes many in that time
PATIENCE = 15
# After four failures the next attempt comes within 12.8 s, after five within 25.6 s; then a list and a sync are needed.
ARRIVES_WITHIN = 32
MANY_STRIKES = 6



@dataclasses.dataclass(frozen=True)
class Fault:
    """What the server does wrong, and what is expected of it."""

    made: tuple  # the faults to arrange
    words: tuple = ()  # the complaint has them all, and names the server; none: there is nothing to complain of
    names_server: bool = True  # not when one object is to blame
    strikes: int = STRIKES
    delivers: bool = False  # changes arrive nevertheless
    streams: bool = True  # the server offers to begin a watch with the objects there are


def within(kind, words=(), names_server=True, strikes=STRIKES, delivers=False, streams=True, **more):
    """In the lists of Services and EndpointSlices after their first object, and in resumed watches."""
    common = {"kind": kind, "count": 0, **more}
    made = [{"match": match, "resource": resource, "after_events": 1, **common}
            for resource in ("services", "endpointslices") for match in ("list", "initial")]
    made.append({"match": "resume", "resource": "endpointslices", **common})
    return Fault(tuple(made), words, names_server, strikes, delivers, streams)


def instead(kind, words=(), strikes=STRIKES, **more):
    """Instead of every answer to a list or watch."""
    made = [{"match": "read", "resource": resource, "kind": kind, "count": 0, **more} for resource in RESOURCES]
    return Fault(tuple(made), words, True, strikes)


class Weather:
    """What a case goes through: a steady Service with company, a hammer on it, and an episode."""

    def __init__(self, t):
        self.t = t
        self.source = t.bench.source
        self.steady = t.service([ready(E1), ready(E2)])
        self.company = [t.service([ready(E1)]) for _ in range(COMPANY)]
        t.settle()
        t.expect(POD, self.steady.cluster(), kept(E1, E2))
        self.hammer = t.hammer(POD, self.steady.cluster())
        self.episode = Episode(t)

    def arrange(self, fault):
        for one in fault.made:
            self.source.fault(**one)
        self.t.defer(self.source.clear_faults)
        self.source.admin("options", {"no_watchlist": not fault.streams})

    def wait_struck(self, fault):
        def struck():
            pending = self.source.faults()
            missed = set(RESOURCES) & {one["resource"] for one in pending}
            missed -= {one["resource"] for one in pending if one["hits"]}
            enough = sum(one["hits"] for one in pending) >= fault.strikes
            return not missed and enough and self.episode.seconds >= AT_LEAST

        self.t.wait_until(struck, f"every kind of object has met the fault, {fault.strikes} times altogether", PATIENCE)

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
        self.t.expect(POD, [service.cluster() for service in self.company], kept(E1))

    def require_complaint(self, fault):
        if fault.words and fault.names_server:
            self.episode.require_explained(fault.words)
        elif fault.words:
            self.episode.require_said(fault.words)
        self.episode.require_no_flood()


def weathers(t, fault):
    weather = Weather(t)
    weather.arrange(fault)
    # Watches that are to be resumed are too old, so that lists are met, too.
    weather.source.admin("compact", {})
    weather.source.cut()
    weather.wait_struck(fault)
    changed = weather.change()
    if fault.delivers:
        weather.expect_arrived(changed)
    weather.require_unharmed("during the fault")
    weather.require_complaint(fault)
    weather.episode.require_patience()
    weather.source.clear_faults()
    weather.source.disconnect()
    weather.expect_arrived(changed)
    weather.episode.require_rules_kept("after the fault")
    weather.episode.require_flat_memory()
    return weather
