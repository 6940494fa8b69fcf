# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 79–91: what happens when Services and EndpointSlices change."""

import copy

from lib.addresses import E1, E2, E3, OTHER_NODE_NAME, POD_PORT, V4, V6
from lib.cases import DROPPED, EXT, POD, REJECTED, UNTOUCHED, case, kept, masqueraded, untouched
from lib.differences import NO_LOCAL
from lib.objects import Endpoint, endpoint_slice, port, ready, terminating
from lib.writes import WriteWatch

PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"


@case(79, "a Service that becomes ExternalName is removed, and comes back as ClusterIP")
def becomes_external_name(t):
    service = t.service([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    service.update(spec={"type": "ExternalName", "externalName": "example.com"})
    t.settle()
    t.expect(POD, service.cluster(), UNTOUCHED)
    service.update(spec=None)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


def expect_node_port_free(t, service):
    name = t.listen("node", f"listener-{service.node_port}", service.node_port)
    t.settle()
    t.expect(EXT, service.node(), untouched(name))


@case(79, "a headless Service is ignored, its node port too")
def headless(t):
    expect_node_port_free(t, t.service([ready(E1)], type="NodePort", node_port=True,
                                       spec={"clusterIP": "None", "clusterIPs": ["None"]}))


@case(79, "a Service without a cluster IP is ignored, its node port too", sources=["manifests"])
def no_cluster_ip(t):
    expect_node_port_free(t, t.service([ready(E1)], type="NodePort", node_port=True,
                                       spec={"clusterIP": "", "clusterIPs": []}))


@case(80, "a Service labelled for another proxy is left alone; without the label it is served again")
def another_proxys_service(t):
    service = t.service([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    service.update(labels={PROXY_NAME_LABEL: "another"})
    t.settle()
    t.expect(POD, service.cluster(), UNTOUCHED)
    service.update(labels=None)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


@case(81, "a change of labels and annotations only writes nothing", protocols=["tcp"], exclusive=True, legacy=True)
def metadata_change_writes_nothing(t):
    service = t.service([ready(E1)])
    t.settle()
    with WriteWatch(t.topology) as writes:
        service.update(labels={"team": "blue"}, annotations={"note": "changed"})
        writes.expect_none(t, "labels and annotations changed")
    t.expect(POD, service.cluster(), kept(E1))


@case(83, "a dual-stack Service listed IPv6 first: each family takes its own address, external IPs too", families=[V4],
      needs=("dual-stack",))
def dual_stack_reversed(t):
    service = t.service(families=[V6, V4], external_ip=True)
    service.set_endpoints([ready(E1)], "slice-v4", family=V4)
    service.set_endpoints([ready(E2)], "slice-v6", family=V6)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(EXT, service.external(), masqueraded(E1))
    t.family = service.family = V6
    t.expect(POD, service.cluster(), kept(E2))
    t.expect(EXT, service.external(), UNTOUCHED)


@case(84, "odd slices and odd entries are ignored one by one")
def odd_slices(t):
    service = t.service([ready(E1)])
    name, family, namespace = service.name, t.family, service.namespace
    good_port = [port("p80", POD_PORT, t.protocol)]

    def odd(slice_name, made, **more):
        made.update(more)
        service.put_slice(made, slice_name)

    def second(slice_name, ports=None, service_name=name, endpoints=None):
        listed = [ready(E2)] if endpoints is None else endpoints
        return endpoint_slice(namespace, f"{name}-{slice_name}", service_name, family, ports or good_port, listed)

    odd("unlabelled", second("unlabelled", service_name=""))
    odd("fqdn", second("fqdn"), addressType="FQDN")
    odd("port-zero", second("port-zero", [port("p80", 0, t.protocol)]))
    odd("no-port", second("no-port", [{"name": "p80", "protocol": t.protocol.upper()}]))
    odd("no-name", second("no-name", [{"port": POD_PORT, "protocol": t.protocol.upper()}]))
    odd("no-ports", second("no-ports"), ports=[])
    odd("no-addresses", second("no-addresses"), endpoints=[{"addresses": [], "conditions": {"ready": True}}])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


@case(85, "the same endpoint in two slices, terminating in one: the other record wins, in either order")
def duplicate_endpoint(t):
    first = t.service([ready(E2)])
    first.set_endpoints([ready(E1)], "a")
    first.set_endpoints([terminating(E1)], "b")
    last = t.service([ready(E2)])
    last.set_endpoints([terminating(E1)], "a")
    last.set_endpoints([ready(E1)], "b")
    t.settle()
    t.expect(POD, [first.cluster(), last.cluster()], kept(E1, E2))


@case(86, "an endpoint that moves from slice to slice stays reachable throughout", legacy=True)
def endpoint_moves(t):
    service = t.service([ready(E1)], ports=None)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    hammer = t.hammer(POD, service.cluster())
    for here, there in (("slice1", "slice2"), ("slice2", "slice1")) * 3:
        service.set_endpoints([ready(E1)], there)
        service.delete_slice(here)
        t.settle()
    t.require_unbroken(hammer, "while the endpoint moved")


@case(87, "a slice that comes before its Service is used as soon as the Service appears")
def slice_before_service(t):
    service = t.service()
    service.delete_service()
    service.set_endpoints([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), UNTOUCHED)
    service.apply()
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


@case(88, "a slice sent again with other metadata writes nothing", protocols=["tcp"], exclusive=True)
def slice_metadata_writes_nothing(t):
    service = t.service([ready(E1)])
    t.settle()
    again = copy.deepcopy(service.slice_object())
    again["metadata"]["annotations"] = {"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"}
    with WriteWatch(t.topology) as writes:
        service.put_slice(again, "slice1")
        writes.expect_none(t, "a slice came again with another annotation")
    t.expect(POD, service.cluster(), kept(E1))


@case(89, "deleting one of two slices removes its endpoints only")
def delete_one_slice(t):
    service = t.service([ready(E1)])
    service.set_endpoints([ready(E2), ready(E3)], "slice2")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2, E3))
    service.delete_slice("slice1")
    t.settle()
    t.expect(POD, service.cluster(), kept(E2, E3))
    service.delete_slice("slice2")
    t.settle()
    t.expect(POD, service.cluster(), REJECTED)


@case(90, "a renamed port is served by the slices of the new name", legacy=True)
def renamed_port(t):
    service = t.service([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    service.update(ports=[("p80-2", 80, POD_PORT)])
    t.settle()
    t.expect(POD, service.cluster(), REJECTED)
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))


@case(91, "an endpoint without a node name, or with another's, is remote")
def remote_endpoints(t):
    unnamed = t.service([Endpoint(E1, node_name=None)], type="LoadBalancer", external=True, external_policy="Local")
    other = t.service([Endpoint(E1, node_name=OTHER_NODE_NAME)], type="LoadBalancer", external=True,
                      external_policy="Local")
    t.settle()
    for service in (unnamed, other):
        t.expect(POD, service.cluster(), kept(E1))
        t.expect(EXT, service.vip(), t.differs(NO_LOCAL, DROPPED, kept(E1)))


@case(None, "a Service whose cluster IP and port another Service has is served at its node port, until it gets them",
      sources=["manifests"], needs=("node-ports",))
def cluster_ip_of_another(t):
    first = t.service([ready(E1)])
    t.settle()
    ip = first.cluster().ip
    second = t.service([ready(E2)], type="NodePort", node_port=True, spec={"clusterIP": ip, "clusterIPs": [ip]})
    t.settle()
    t.expect(POD, first.cluster(), kept(E1))
    t.expect(EXT, second.node(), masqueraded(E2))
    first.delete()
    t.settle()
    t.expect(POD, first.cluster(), kept(E2))
    t.expect(EXT, second.node(), masqueraded(E2))
