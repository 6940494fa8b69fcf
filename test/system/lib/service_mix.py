# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Services of every type at once, for cases that need all kinds of backend objects."""

from .addresses import E1, E2
from .cases import EXT, POD, kept, masqueraded
from .objects import not_ready, ready

BOTH = [ready(E1), ready(E2)]


def make(t):
    """Creates the Services; returns two of them and a function that checks them from an outside client and a pod."""
    plain = t.service(BOTH)
    outside = t.service(BOTH, type="LoadBalancer", external=True)
    local = t.service([ready(E1)], type="LoadBalancer", external=True, external_policy="Local")
    t.service([not_ready(E1)], type="LoadBalancer", external=True)
    if "affinity" not in t.bench.profile.lacks:
        t.service(BOTH, spec={"sessionAffinity": "ClientIP"})
    t.settle()

    def expect_served():
        t.expect(POD, [plain.cluster(), outside.cluster()], kept(E1, E2))
        t.expect(EXT, outside.vip(), masqueraded(E1, E2))
        t.expect(EXT, local.vip(), kept(E1))

    return plain, outside, expect_served
