# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 33–42: terminating endpoints (40 is in cases_health.py)."""

from lib.addresses import E1, E2, E3, E4
from lib.cases import DROPPED, EXT, POD, REJECTED, case, kept, masqueraded
from lib.differences import NO_LOCAL
from lib.objects import Endpoint, gone, ready, terminating


def balanced(t, endpoints, **policies):
    return t.service(endpoints, type="LoadBalancer", external=True, **policies)


@case(33, "while an endpoint is ready, terminating ones get no new connections")
def ready_wins(t):
    service = balanced(t, [ready(E1), terminating(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(EXT, service.externals(), masqueraded(E1))


@case(34, "when all are terminating, all that still serve are used")
def only_terminating(t):
    service = balanced(t, [terminating(E1), terminating(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(EXT, service.externals(), masqueraded(E1, E2))


@case(35, "when none serves any more, everything is rejected")
def only_gone(t):
    service = balanced(t, [gone(E1), gone(E2)])
    t.settle()
    t.expect([POD, EXT], [service.cluster(), *service.externals()], REJECTED)


@case(36, "external policy Local: outside clients get the local terminating endpoint, the cluster IP the ready one",
      legacy=True)
def local_terminating_remote_ready(t):
    service = balanced(t, [terminating(E1), ready(E2)], external_policy="Local")
    t.settle()
    t.expect(EXT, service.externals(), kept(E1))
    t.expect(POD, service.cluster(), kept(E2))


@case(37, "external policy Local: a local endpoint that serves no more means dropped")
def local_gone_remote_ready(t):
    service = balanced(t, [gone(E1), ready(E2)], external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))
    t.expect(EXT, service.externals(), t.differs(NO_LOCAL, DROPPED, kept(E2)))


@case(38, "external policy Local, all terminating: outside clients get the local one, the cluster IP all")
def all_terminating_local(t):
    service = balanced(t, [terminating(E1), terminating(E2)], external_policy="Local")
    t.settle()
    t.expect(EXT, service.externals(), kept(E1))
    t.expect(POD, service.cluster(), kept(E1, E2))


@case(39, "external policy Local, only a remote terminating one: outside clients are dropped, the cluster IP served")
def remote_terminating_only(t):
    service = balanced(t, [terminating(E2)], external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))
    t.expect(EXT, service.externals(), t.differs(NO_LOCAL, DROPPED, kept(E2)))


@case(41, "ready and terminating at once counts as ready")
def ready_and_terminating(t):
    both = Endpoint(E1, ready=True, serving=True, terminating=True)
    service = balanced(t, [both, ready(E2), terminating(E3)], external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(EXT, service.externals(), kept(E1))


@case(42, "an endpoint without any condition is ready")
def no_conditions(t):
    service = balanced(t, [Endpoint(E1, ready=None), terminating(E2), terminating(E4)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
