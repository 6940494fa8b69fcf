# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Health check node ports as a load balancer probes them: cases 32, 40, 41 and 93."""

from lib import health
from lib.addresses import E1, E2, E3
from lib.cases import EXT, case, kept
from lib.objects import Endpoint, ready, terminating


def checked(t, endpoints, **wanted):
    """A load balancer Service with policy Local, and its health check node port."""
    service = t.service(endpoints, type="LoadBalancer", external=True, external_policy="Local", **wanted)
    port = health.port_for(service)
    service.update(health_port=port)
    return service, port


@case(32, "the health check port answers 503 without endpoints and 200 with one; not for type NodePort",
      protocols=["tcp"])
def answers(t):
    service, port = checked(t, None)
    node_port, other_port = checked(t, [ready(E1)])
    node_port.update(type="NodePort")
    t.settle()
    health.expect(t, port, 503)
    service.set_endpoints([ready(E1)])
    t.settle()
    health.expect(t, port, 200)
    t.require(health.answer_of(t, other_port) is None, "the health port of a NodePort Service answers")


@case(40, "503 for a local terminating endpoint although it gets traffic", protocols=["tcp"])
def terminating_counts_not(t):
    service, port = checked(t, [terminating(E1), ready(E2)])
    t.settle()
    t.expect(EXT, service.vip(), kept(E1))
    health.expect(t, port, 503)


@case(41, "ready and terminating at once counts", protocols=["tcp"])
def ready_and_terminating_counts(t):
    _, port = checked(t, [Endpoint(E1, ready=True, serving=True, terminating=True), terminating(E3)])
    t.settle()
    health.expect(t, port, 200)


@case(93, "ready addresses are counted, not ports", protocols=["tcp"])
def local_ready_count(t):
    service, port = checked(t, None, ports=[("p80", 80, 80), ("p443", 443, 443)])
    service.set_endpoints([ready(E1), terminating(E3)])
    t.settle()
    document = health.expect(t, port, 200)
    t.require(document.get("localEndpoints") == 1, f"localEndpoints is {document.get('localEndpoints')}, not 1")
