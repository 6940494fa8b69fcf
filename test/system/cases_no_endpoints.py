# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 13–18: Services without a usable endpoint."""

from lib import pace
from lib.addresses import ALT_PORT, E1, E2, EXT_OTHER, NODE2, POD_PORT, V4
from lib.cases import DROPPED, EXT, NODE, POD, REJECTED, UNTOUCHED, case, kept, untouched
from lib.differences import EMPTY_BEHIND_RANGES, NODE_REJECTED
from lib.objects import gone, not_ready, ready
from lib.outcomes import TIMEOUT_WHEN_ANSWERED_MS, TIMEOUT_WHEN_SILENT_MS


def expect_all_rejected(t, service):
    t.expect([POD, NODE, EXT], service.cluster(), REJECTED)
    t.expect([POD, EXT], service.externals(), REJECTED)
    t.expect(NODE, service.node_ports(), REJECTED)


@case(13, "a Service without a slice is rejected on every address", legacy=True)
def no_slice(t):
    service = t.service(type="LoadBalancer", external=True)
    t.settle()
    expect_all_rejected(t, service)


@case(13, "packets of the node itself to an external address without endpoints are left alone")
def node_to_external_without_endpoints(t):
    service = t.service(type="LoadBalancer", external=True)
    t.settle()
    t.expect(EXT, [service.external(), service.vip()], REJECTED)
    t.expect(NODE, [service.external(), service.vip()], t.differs(NODE_REJECTED, UNTOUCHED, REJECTED))


@case(14, "endpoints that are neither ready nor serving while terminating count as none")
def none_usable(t):
    service = t.service([not_ready(E1), gone(E2)], type="LoadBalancer", external=True)
    t.settle()
    expect_all_rejected(t, service)


@case(15, "a node port without endpoints does not reject packets that are forwarded to other hosts", needs=("node-ports",))
def other_hosts_untouched(t):
    service = t.service(type="NodePort", node_port=True)
    other = t.listen(NODE2.name, "other-host", service.node_port)
    t.settle()
    t.expect(EXT, service.node(), REJECTED)
    t.expect([POD, NODE], service.at(NODE2.ip(t.family)), untouched(other))


@case(16, "with its first endpoint a Service changes from rejected to served, without its last one back, with no state between",
      legacy=True)
def first_endpoint(t):
    service = t.service()
    t.settle()
    t.expect(POD, service.cluster(), REJECTED)
    hammer = t.hammer(POD, service.cluster())
    service.set_endpoints([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    hammer.wait_attempts(2)
    counts = hammer.stop()
    t.require(counts["ok"] > 0, "the hammer never connected")
    t.require(counts["failed"] == counts["outcomes"]["refused"], f"outcomes besides ok and refused: {counts['outcomes']}")
    t.require(set(counts["servers"]) == {E1.name}, f"answered by {sorted(counts['servers'])}")
    # And the reverse: from served to rejected, and nothing between.
    hammer = t.hammer(POD, service.cluster())
    service.set_endpoints([])
    t.settle()
    t.expect(POD, service.cluster(), REJECTED)
    counts = hammer.stop()
    t.require(counts["failed"] == counts["outcomes"]["refused"], f"outcomes besides ok and refused: {counts['outcomes']}")
    t.require(set(counts["servers"]) <= {E1.name}, f"answered by {sorted(counts['servers'])}")


TIMES = 4


def cut_off(t, counts, removals):
    """Requests without an answer because their endpoint was removed: UDP flows are removed with it, so an answer on its way is
    lost, for each client at most one with each removal."""
    lost = counts["outcomes"]["timeout"]
    return lost if t.protocol == "udp" and lost <= removals else 0


@case((13, 16), "a Service gains and loses its only endpoint, again and again: at every address clients are served or rejected, and "
      "nothing else", backends=["iptables", "nftables", "userspace"], sources=["manifests"])
def endpoint_comes_and_goes(t):
    service = t.service(type="LoadBalancer", external=True)
    t.settle()
    hammers = [t.hammer(sender, front, timeout_ms=pace.stretched(TIMEOUT_WHEN_ANSWERED_MS), calm=True) for sender, front in
               ((POD, service.cluster()), (NODE, service.cluster()), (EXT, service.vip()), (POD, service.external()),
                (EXT, service.external()), (EXT, service.node()), (NODE, service.node()))]
    for endpoints in ([ready(E1)], []) * TIMES:
        service.set_endpoints(endpoints)
        t.settle()
        for hammer in hammers:
            hammer.wait_attempts(2)
    for hammer in hammers:
        counts = hammer.stop()
        t.require(counts["ok"] > 0 and counts["outcomes"]["refused"], f"not both: {counts['outcomes']}")
        others = counts["failed"] - counts["outcomes"]["refused"] - cut_off(t, counts, TIMES)
        t.require(others == 0, f"outcomes besides ok and refused: {counts['outcomes']}")
        t.require(set(counts["servers"]) == {E1.name}, f"answered by {sorted(counts['servers'])}")


@case((20, 23), "external policy Local: the only local endpoint comes and goes, outside clients are served or dropped and never "
      "rejected, and pods and the node are served throughout", backends=["iptables", "nftables", "userspace"],
      sources=["manifests"])
def local_endpoint_comes_and_goes(t):
    service = t.service([ready(E1), ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    t.settle()
    inside = [t.hammer(sender, front, timeout_ms=pace.stretched(TIMEOUT_WHEN_ANSWERED_MS), calm=True) for sender, front in
              ((POD, service.vip()), (POD, service.external()), (NODE, service.vip()), (POD, service.cluster()))]
    outside = [t.hammer(EXT, front, timeout_ms=TIMEOUT_WHEN_SILENT_MS, calm=True) for front in service.externals()]
    for endpoints in ([not_ready(E1), ready(E2)], [ready(E1), ready(E2)]) * TIMES:
        service.set_endpoints(endpoints)
        t.settle()
        for hammer in inside + outside:
            hammer.wait_attempts(2)
    for hammer in inside:
        counts = hammer.stop()
        t.require(counts["ok"] > 0 and counts["failed"] == cut_off(t, counts, TIMES), f"inside: {counts['outcomes']}")
    for hammer in outside:
        counts = hammer.stop()
        t.require(counts["ok"] > 0 and counts["outcomes"]["timeout"], f"not both: {counts['outcomes']}")
        t.require(counts["failed"] == counts["outcomes"]["timeout"], f"outcomes besides ok and timeout: {counts['outcomes']}")
        t.require(set(counts["servers"]) == {E1.name}, f"answered by {sorted(counts['servers'])}")


@case(17, "a Service port that no slice has is rejected while the other port works")
def one_port_without_endpoints(t):
    service = t.service(ports=[("p80", 80, POD_PORT), ("p443", 443, ALT_PORT)])
    service.set_endpoints([ready(E1)], ports=[("p80", POD_PORT)])
    t.settle()
    t.expect(POD, service.cluster(80), kept(E1))
    t.expect(POD, service.cluster(443), REJECTED)


@case(18, "source ranges without endpoints: no client is served, in the range or not", needs=("source-ranges",))
def source_ranges_without_endpoints(t):
    ranges = ["203.0.113.0/25"] if t.family == V4 else ["2001:db8:113::/64"]
    service = t.service(type="LoadBalancer", vip=True, source_ranges=ranges)
    t.settle()
    t.expect(EXT, service.vip(), REJECTED)
    t.expect(EXT_OTHER, service.vip(), t.differs(EMPTY_BEHIND_RANGES, REJECTED, DROPPED))
