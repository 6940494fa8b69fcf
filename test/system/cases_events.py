# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Events in the API server (BEH 11.8): their content, and that sending them never blocks the daemon."""

import time

from lib import health
from lib.addresses import E1, E2, NODE_NAME
from lib.cases import POD, kept, own_daemon
from lib.metrics import scrape
from lib.objects import ready

ABOVE_BACKENDS = True

EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"


def events(t, reason, namespace="default"):
    """The events with that reason in the API server."""
    items = t.bench.source.get(EVENTS.format(namespace))["items"]
    return [one for one in items if one["reason"] == reason]


def event(t, reason, namespace="default"):
    t.wait_until(lambda: events(t, reason, namespace), f"an event {reason} in {namespace}")
    found = events(t, reason, namespace)
    return found[0] if found else {}


def expect_serves(t):
    service = t.service([ready(E1)])
    t.expect_soon(POD, service.cluster(), kept(E1))
    service.set_endpoints([ready(E2)])
    t.expect_soon(POD, service.cluster(), kept(E2))


@own_daemon(None, "a start is reported once, as an event of the Node, as kube-proxy does")
def starting(t):
    found = event(t, "Starting")
    wanted = {"type": "Normal", "action": "StartKubeProxy", "reportingController": "kube-proxy",
              "reportingInstance": f"kube-proxy-{NODE_NAME}",
              "regarding": {"kind": "Node", "name": NODE_NAME, "apiVersion": "v1"}}
    seen = {name: found.get(name) for name in wanted}
    t.require(seen == wanted, f"the event says {seen}")
    if t.ipvs:
        found = event(t, "IPVSDeprecation")
        t.require(found.get("type") == "Warning" and found.get("regarding") == wanted["regarding"], f"the event says {found}")
    else:
        t.require(not events(t, "IPVSDeprecation"), "the deprecation of ipvs mode is reported in another mode")
    # All settings that a namespace may not set are one event; no machine has this value already.
    t.bench.daemon.stop()
    t.bench.flags.append("--conntrack-min=654321")
    t.bench.start_daemon()
    t.wait_until(lambda: len(events(t, "Starting")) == 2, "a second event for the second start")
    t.wait_until(lambda: any("nf_conntrack_max" in one.get("note", "") for one in events(t, "FailedToSetKernelSettings")),
                 "an event that names nf_conntrack_max")
    written = "sluice_cluster_events_total"
    t.require(scrape(t).count(written, result="written") >= 2, "the metric does not count what was written")


@own_daemon(None, "a health check node port that is in use is an event of the Service")
def health_port_taken(t):
    service = t.service([ready(E1)], type="LoadBalancer", external=True, external_policy="Local")
    port = health.port_for(service)
    t.listen("node", f"takes-{port}", port)
    service.update(health_port=port)
    found = event(t, "FailedToStartServiceHealthcheck", service.namespace)
    wanted = {"kind": "Service", "namespace": service.namespace, "name": service.name, "apiVersion": "v1"}
    t.require(found.get("action") == "Listen" and found.get("regarding") == wanted, f"the event says {found}")


def refused_case(name, title, fault, words):
    def run(t):
        source, daemon = t.bench.source, t.bench.daemon
        daemon.stop()
        source.fault(match="create", resource="events", count=0, **fault)
        t.defer(source.clear_faults)
        t.bench.start_daemon()
        t.wait_until(lambda: any(one["verb"] == "create" for one in source.requests()[0]), "an event was attempted")
        expect_serves(t)
        if words:
            t.require(daemon.wait_logged(*words) is not None, f"no line with {words}: {daemon.log_tail()}")
        lines = [line for line in daemon.log().splitlines() if line.startswith("W") and " events]" in line]
        t.require(len(lines) <= 2, f"{len(lines)} lines about events: {lines[:3]}")
        begin = time.monotonic()
        status = daemon.stop()
        took = time.monotonic() - begin
        # The recorder may take two seconds, the server is silent for a minute. A daemon that takes five (scaled) is killed.
        t.require(status == 0, f"the end took {took:.1f} s, exit status {status}")

    run.__name__ = name
    run.__module__ = __name__
    own_daemon(None, title)(run)


refused_case("forbidden", "an API server that forbids events changes nothing else, and its error is logged once",
             {"kind": "status", "code": 403}, ["is given up", "403", "system:node-proxier"])
refused_case("stalled", "an API server that never answers event requests delays neither changes nor the exit",
             {"kind": "stall", "seconds": 60}, [])


@own_daemon(None, "events that cannot be written at once are written when the server is ready")
def busy(t):
    source = t.bench.source
    t.bench.daemon.stop()
    before = len(events(t, "Starting"))
    source.fault(match="create", resource="events", kind="status", code=429, count=2)
    t.defer(source.clear_faults)
    t.bench.start_daemon()
    t.wait_until(lambda: len(events(t, "Starting")) == before + 1, "the event", seconds=30)


@own_daemon(None, "a Service that is not programmed is reported once, as an event of the Service", backends=["iptables"])
def not_programmed(t):
    service = t.service()
    title = f"{service.namespace}/{service.name}:p80"
    with t.topology.tools.wrapped() as tools:
        tools.refuse(f"^-[AI] .*{title}.*-j KUBE-", "line")
        t.defer(tools.accept_all)
        t.settle()
        service.set_endpoints([ready(E1)])
        found = event(t, "ServicePortNotProgrammed", service.namespace)
        tools.accept_all()
        # The daemon retries as soon as the Service changes.
        service.set_endpoints([ready(E2)])
        t.settle()
    t.require(title in found.get("note", "") and found.get("type") == "Warning", f"the event says {found}")
    t.require(found.get("regarding", {}).get("name") == service.name, f"it is about {found.get('regarding')}")
    t.require(len(events(t, "ServicePortNotProgrammed", service.namespace)) == 1, "there is more than one")
    t.expect(POD, service.cluster(), kept(E2))


@own_daemon(None, "a health address that is in use, with --bind-address-hard-fail: the event is written before the exit")
def health_address_taken(t):
    daemon = t.bench.daemon
    daemon.stop()
    t.listen("node", "takes-10256", 10256)
    daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, "--bind-address-hard-fail"])
    line = daemon.wait_logged("10256", "bindAddressHardFail")
    t.require(line is not None, f"it did not end: {daemon.log_tail()}")
    t.require(daemon.wait_ended() == 1, "it did not end with exit status 1")
    found = events(t, "FailedToStartProxierHealthcheck")
    t.require(found and found[0]["action"] == "StartKubeProxy", f"the events are {found}")
