# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 19–32: internal and external traffic policies."""

from lib import bridge, health
from lib.addresses import E1, E2
from lib.cases import DROPPED, EXT, NODE, POD, REJECTED, case, kept, masqueraded
from lib.differences import INTERNAL_REJECTED, INTERNAL_USES_OTHERS, LOCAL_FOR_ALL, NOT_LET_THROUGH, NO_LOCAL
from lib.objects import not_ready, ready

BOTH = [ready(E1), ready(E2)]
ONLY_REMOTE = [not_ready(E1), ready(E2)]


def balanced(t, endpoints, **policies):
    return t.service(endpoints, type="LoadBalancer", external=True, **policies)


@case(19, "external policy Cluster: all clients are masqueraded and reach every endpoint", legacy=True)
def external_cluster(t):
    service = balanced(t, BOTH)
    t.settle()
    t.expect([EXT, POD], service.externals(), masqueraded(E1, E2))
    t.expect(NODE, service.externals(), masqueraded(E1, E2))


@case((13, 19, 21, 23), "a pod behind a Linux bridge reaches external IPs and load balancer addresses that no host has",
      backends=["iptables", "nftables", "userspace"], sources=["manifests"], exclusive=True)
def pod_on_bridge(t):
    with bridge.pod_behind_bridge(t):
        every = balanced(t, BOTH)
        local = balanced(t, BOTH, external_policy="Local")
        remote = balanced(t, ONLY_REMOTE, external_policy="Local")
        none = balanced(t, None)
        t.settle()
        t.expect(POD, [every.cluster(), *local.externals()], kept(E1, E2))
        t.expect(POD, every.externals(), masqueraded(E1, E2))
        t.expect(POD, remote.externals(), kept(E2))
        t.expect(POD, [none.cluster(), *none.externals()], REJECTED)


@case(20, "external policy Local: outside clients reach the local endpoint and keep their source address", legacy=True)
def external_local_outside(t):
    service = balanced(t, BOTH, external_policy="Local")
    t.settle()
    t.expect(EXT, service.externals(), kept(E1))


@case(21, "external policy Local: pods reach every endpoint, not masqueraded", legacy=True)
def external_local_pod(t):
    service = balanced(t, BOTH, external_policy="Local")
    t.settle()
    t.expect(POD, service.externals(), t.differs(LOCAL_FOR_ALL, kept(E1, E2), kept(E1)))


@case(22, "external policy Local: the node reaches every endpoint, masqueraded", legacy=True)
def external_local_node(t):
    service = balanced(t, BOTH, external_policy="Local")
    t.settle()
    t.expect(NODE, service.externals(), t.differs(LOCAL_FOR_ALL, masqueraded(E1, E2), kept(E1)))


@case(23, "external policy Local without a local endpoint: only outside clients are dropped", legacy=True)
def external_local_without_local(t):
    service = balanced(t, ONLY_REMOTE, external_policy="Local")
    t.settle()
    t.expect(POD, service.externals(), kept(E2))
    t.expect(NODE, service.externals(), t.differs(LOCAL_FOR_ALL, masqueraded(E2), kept(E2)))
    t.expect(POD, service.cluster(), kept(E2))
    t.expect(EXT, service.externals(), t.differs(NO_LOCAL, DROPPED, kept(E2)))


@case(24, "external policy Local without any endpoint: everything is rejected")
def external_local_without_any(t):
    service = balanced(t, None, external_policy="Local")
    t.settle()
    t.expect([EXT, POD], service.externals(), REJECTED)
    t.expect([EXT, POD, NODE], service.cluster(), REJECTED)
    t.expect(NODE, service.node_ports(), REJECTED)


@case(25, "external policy Local without a detector: pods are treated as outside clients", config="no-detector",
      sources=["manifests"])
def external_local_without_detector(t):
    local = balanced(t, BOTH, external_policy="Local")
    remote = balanced(t, ONLY_REMOTE, external_policy="Local")
    t.settle()
    t.expect([POD, EXT], [local.external(), local.vip()], kept(E1))
    t.expect([POD, EXT], [remote.external(), remote.vip()], t.differs(NO_LOCAL, DROPPED, kept(E2)))


@case(26, "external policy Local on type ClusterIP counts only when there are external IPs")
def external_local_on_cluster_ip_type(t):
    with_ips = t.service(BOTH, external_ip=True, external_policy="Local")
    without = t.service(BOTH, external_policy="Local")
    t.settle()
    t.expect(EXT, with_ips.external(), kept(E1))
    t.expect(EXT, without.cluster(), masqueraded(E1, E2))
    t.expect(POD, without.cluster(), kept(E1, E2))


@case(27, "internal policy Local: the cluster IP reaches local endpoints only")
def internal_local(t):
    service = t.service(BOTH, internal_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(NODE, service.cluster(), masqueraded(E1))


@case(28, "internal policy Local without a local endpoint: dropped; node ports still work; no endpoint: rejected",
      legacy=True, needs=("node-ports",))
def internal_local_without_local(t):
    remote = t.service(ONLY_REMOTE, type="NodePort", node_port=True, internal_policy="Local")
    inside = t.service(ONLY_REMOTE, internal_policy="Local")
    none = t.service(type="NodePort", node_port=True, internal_policy="Local")
    t.settle()
    t.expect(EXT, remote.node(), masqueraded(E2))
    t.expect(POD, remote.cluster(), t.differs(INTERNAL_USES_OTHERS, DROPPED, kept(E2)))
    t.expect(NODE, remote.cluster(), t.differs(INTERNAL_USES_OTHERS, DROPPED, masqueraded(E2)))
    t.expect([POD, NODE], inside.cluster(), t.differs(INTERNAL_REJECTED, DROPPED, REJECTED))
    t.expect(POD, [none.cluster(), none.node()], REJECTED)


@case(29, "both policies Local without external addresses: local endpoints only")
def both_local_without_externals(t):
    service = t.service(BOTH, type="NodePort", internal_policy="Local", external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(EXT, service.cluster(), masqueraded(E1))


@case(30, "internal policy Local with external policy Cluster: each has its own endpoints")
def internal_local_external_cluster(t):
    service = balanced(t, BOTH, internal_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(EXT, service.externals(), masqueraded(E1, E2))


@case(31, "internal policy Cluster with external policy Local: each has its own endpoints")
def internal_cluster_external_local(t):
    service = balanced(t, BOTH, external_policy="Local")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(EXT, service.externals(), kept(E1))


@case(32, "the health check node port is accepted, with or without endpoints; only for type LoadBalancer",
      protocols=["tcp"], needs=("node-ports",))
def health_check_port_let_through(t):
    service = balanced(t, None, external_policy="Local")
    port = health.port_for(service)
    service.update(health_port=port)
    other = t.service([ready(E1)], type="NodePort", node_port=True, external_policy="Local")
    other_port = health.port_for(other)
    other.update(health_port=other_port)
    # Without the proxy's own ACCEPT in front, these rules would close both ports.
    for number in (port, other_port):
        health.block_by_foreign_rule(t, number)
    t.settle()
    open_here = t.differs(NOT_LET_THROUGH, True, False)
    t.require(health.let_through(t, port) == open_here, "the health port without endpoints")
    t.require(not health.let_through(t, other_port), "the health port of a NodePort Service is let through")
    service.set_endpoints([ready(E1)])
    t.settle()
    t.require(health.let_through(t, port) == open_here, "the health port with an endpoint")
