# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 43–53: topology hints. The node is in zone a."""

from lib.addresses import E1, E2, E3, E4, NODE_NAME, OTHER_NODE_NAME, ZONE
from lib.cases import EXT, POD, case, kept
from lib.objects import ZONE_LABEL, not_ready, ready, terminating
from lib.writes import WriteWatch


def zoned(host, *zones):
    return ready(host, zones=zones)


@case(43, "all ready endpoints hinted, some for the node's zone: only those; none for the node's zone: all")
def zone_hints(t):
    some = t.service([zoned(E1, "a"), zoned(E2, "b"), zoned(E3, "a")])
    none = t.service([zoned(E1, "b"), zoned(E2, "c")])
    t.settle()
    t.expect(POD, some.cluster(), kept(E1, E3))
    t.expect(POD, none.cluster(), kept(E1, E2))


@case(44, "one ready endpoint without a hint: hints are ignored; when that one is not ready, they are used")
def incomplete_zone_hints(t):
    incomplete = t.service([zoned(E1, "a"), zoned(E2, "b"), ready(E3)])
    complete = t.service([zoned(E1, "a"), zoned(E2, "b"), not_ready(E3)])
    t.settle()
    t.expect(POD, incomplete.cluster(), kept(E1, E2, E3))
    t.expect(POD, complete.cluster(), kept(E1))


@case(45, "without a zone label on the node, zone hints are ignored and node hints still honoured", exclusive=True)
def node_without_zone(t):
    zones = t.service([zoned(E1, "a"), zoned(E2, "b")])
    nodes = t.service([ready(E1, nodes=[NODE_NAME]), ready(E2, nodes=[OTHER_NODE_NAME])])
    t.settle()
    t.expect(POD, zones.cluster(), kept(E1))
    t.defer(lambda: t.bench.set_node_labels({ZONE_LABEL: ZONE}))
    t.bench.set_node_labels({})
    t.expect_soon(POD, zones.cluster(), kept(E1, E2))
    t.expect(POD, nodes.cluster(), kept(E1))


@case(46, "node hints come first; when none names this node, complete zone hints are used")
def node_hints(t):
    ours = t.service([ready(E1, nodes=[NODE_NAME], zones=["b"]), ready(E2, nodes=[OTHER_NODE_NAME], zones=["a"])])
    others = t.service([ready(E1, nodes=[OTHER_NODE_NAME], zones=["b"]), ready(E2, nodes=[OTHER_NODE_NAME], zones=["a"])])
    t.settle()
    t.expect(POD, ours.cluster(), kept(E1))
    t.expect(POD, others.cluster(), kept(E2))


@case(47, "incomplete node hints with complete zone hints: the zone decides")
def incomplete_node_hints(t):
    service = t.service([ready(E1, nodes=[NODE_NAME], zones=["b"]), ready(E2, zones=["a"])])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))


@case(48, "an endpoint hinted for several zones is used in each of them")
def several_zones(t):
    service = t.service([zoned(E1, "c", "a", "b"), zoned(E2, "b")])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


@case(49, "external policy Local: outside clients get all local endpoints, the cluster IP the hinted ones")
def hints_with_external_local(t):
    service = t.service([zoned(E1, "b"), zoned(E4, "b"), zoned(E2, "a")], type="LoadBalancer", external=True,
                        external_policy="Local")
    t.settle()
    t.expect(EXT, service.externals(), kept(E1, E4))
    t.expect(POD, service.cluster(), kept(E2))


@case(50, "internal policy Local: hints are ignored")
def hints_with_internal_local(t):
    service = t.service([zoned(E1, "b"), zoned(E4, "b"), zoned(E2, "a")], internal_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E4))


@case(51, "the node's zone has only terminating endpoints while another has ready ones: the ready ones are used")
def zone_without_ready(t):
    service = t.service([not_ready(E1, zones=["a"]), terminating(E4, zones=["a"]), zoned(E2, "b")])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))


@case(52, "no ready endpoint anywhere: all terminating ones, whatever their hints")
def terminating_ignore_hints(t):
    service = t.service([terminating(E1, zones=["b"]), terminating(E2, zones=["a"])])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))


@case(53, "a new zone label on the node takes effect at once; any other label changes nothing", exclusive=True,
      legacy=True)
def zone_label_changes(t):
    service = t.service([zoned(E1, "a"), zoned(E2, "b")])
    t.settle()
    # The label restored by the previous run may arrive late.
    t.expect_soon(POD, service.cluster(), kept(E1))
    t.defer(lambda: t.bench.set_node_labels({ZONE_LABEL: ZONE}))
    with WriteWatch(t.topology) as writes:
        t.bench.set_node_labels({ZONE_LABEL: ZONE, "example.com/rack": "7"})
        writes.expect_none(t, "another node label changed")
    t.bench.set_node_labels({ZONE_LABEL: "b"})
    t.expect_soon(POD, service.cluster(), kept(E2))
