# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics as a scraper reads them while Services change: cases 92, 98 and 103, and the rules of Prometheus."""

import datetime
import os
import re
import shutil
import time

from lib import observed, pace, shell
from lib.addresses import E1, E2, POD_PORT, V4
from lib.cases import Skip, own_daemon
from lib.metrics import FAMILY, scrape
from lib.objects import endpoint_slice, port, ready

ABOVE_BACKENDS = True

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED = os.path.join(HERE, "promtool_allowed.txt")
REFERENCE = os.path.join(HERE, "..", "..", "docs", "reference", "metrics.md")
ALERTS = os.path.join(HERE, "..", "..", "packaging", "monitoring", "alerts.yaml")
IPTABLES = ["iptables"]
CHANGES = "kubeproxy_sync_proxy_rules_{}_changes_{}"
PROGRAMMING = "kubeproxy_network_programming_duration_seconds_count"
SYNCS = "kubeproxy_sync_proxy_rules_duration_seconds_count"
NO_LOCAL = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"


@own_daemon(None, "metrics of syncs, changes, health and requests follow the Services")
def metrics_follow(t):
    family = FAMILY[V4]
    t.service([ready(E1)])
    t.settle()
    before, began = scrape(t), time.time()
    for path in ("/healthz", "/livez", "/livez"):
        observed.health(t, path)
    service = t.service([ready(E1)])
    t.settle()
    service.set_endpoints([ready(E1), ready(E2)])
    t.settle()
    families = len(t.status()["families"]) if t.has_status else 1

    def counted():
        """Packets may arrive before the daemon has updated its counters."""
        now = scrape(t)
        return (now.count(SYNCS, ip_family=family) - before.count(SYNCS, ip_family=family) >= 2 and
                now.count(CHANGES.format("service", "total")) - before.count(CHANGES.format("service", "total")) >= families and
                now.count(CHANGES.format("endpoint", "total")) - before.count(CHANGES.format("endpoint", "total")) >= 2)

    t.wait_until(counted, "both syncs, the Service for each family and the changes of endpoints are counted")
    t.wait_until(lambda: all(scrape(t).get(CHANGES.format(kind, "pending")) == 0 for kind in ("service", "endpoint")),
                 "nothing is pending once everything is in the kernel")
    t.wait_until(lambda: scrape(t).get("sluice_oldest_pending_change_age_seconds", ip_family=family) == 0, "no change waits")
    after, ended = scrape(t), time.time()

    def rise(name, **labels):
        return after.count(name, **labels) - before.count(name, **labels)

    syncs = rise(SYNCS, ip_family=family)
    parts = {kind: rise(f"kubeproxy_sync_{kind}_proxy_rules_duration_seconds_count", ip_family=family)
             for kind in ("full", "partial")}
    t.require(syncs >= 2 and parts == {"full": 0, "partial": syncs}, f"{syncs} syncs: {parts}")
    for part in ("select", "apply", "kernel"):
        t.require(rise(f"sluice_sync_{part}_duration_seconds_count", ip_family=family) > 0, f"no time of {part}")
    whole = rise("kubeproxy_sync_proxy_rules_duration_seconds_sum", ip_family=family)
    apply = rise("sluice_sync_apply_duration_seconds_sum", ip_family=family)
    kernel = rise("sluice_sync_kernel_duration_seconds_sum", ip_family=family)
    t.require(whole >= apply >= kernel > 0, f"of {whole} s, apply takes {apply} s, and the kernel {kernel} s of that")
    for kind in ("last_timestamp", "last_queued_timestamp"):
        value = after.get(f"kubeproxy_sync_proxy_rules_{kind}_seconds", ip_family=family)
        t.require(value and began - 0.001 <= value <= ended, f"{kind} is {value}, not between {began} and {ended}")
    health = [rise(f"kubeproxy_proxy_{path}_total") for path in ("healthz", "livez")]
    t.require(health == [1, 2], f"one /healthz and two /livez were counted as {health}")
    t.require(after.count("rest_client_requests_total", method="GET", code="200") >= 3, "requests are not counted")
    t.require(after.count("rest_client_request_duration_seconds_count", verb="GET") >= 3, "requests are not timed")
    t.require(after.count("rest_client_transport_create_calls_total", result="uncacheable") >= 3, "pools of watches are not counted")
    t.require(after.count("registered_metrics_total", stability_level="BETA") == 4, "metrics are not counted by their stability")
    carried = [after.count(f"process_network_{way}_bytes_total") - before.count(f"process_network_{way}_bytes_total")
               for way in ("receive", "transmit")]
    t.require(min(carried) > len(after.text), f"two scrapes are {carried} bytes of the network")
    t.require(after.get("sluice_source_connected", kind="Service") == 1, "no watch of Services")
    t.require(rise("sluice_services") == 1 and rise("sluice_endpoints") == 2, "Services and endpoints are not counted")


@own_daemon(92, "each trigger time after the start is a sample of its family, except those of a deleted slice")
def trigger_samples(t):
    service = t.service([ready(E1)])
    t.settle()

    def samples_after(trigger, endpoints, wanted, name="slice1"):
        before = scrape(t)
        made = endpoint_slice(service.namespace, f"{service.name}-{name}", service.name, t.family,
                              [port("p80", POD_PORT, t.protocol)], endpoints)
        made["metadata"]["annotations"] = {"endpoints.kubernetes.io/last-change-trigger-time": trigger}
        service.put_slice(made, name)
        t.settle()

        def samples():
            after = scrape(t)
            return [after.count(PROGRAMMING, ip_family=family) - before.count(PROGRAMMING, ip_family=family)
                    for family in ("IPv4", "IPv6")]

        # Packets may arrive before the daemon has updated its counters.
        t.wait_until(lambda: samples()[0] >= wanted, "the sample is there")
        return samples()

    def now():
        return datetime.datetime.now(datetime.timezone.utc).isoformat()

    both = [ready(E1), ready(E2)]
    for trigger, endpoints, wanted in (("2020-01-01T00:00:00Z", both, 0), ("yesterday", [ready(E1)], 0),
                                       (now(), both, 1), (now(), [ready(E2)], 1)):
        found = samples_after(trigger, endpoints, wanted)
        t.require(found == [wanted, 0], f"the trigger time {trigger} gave {found} samples, not {[wanted, 0]}")
    before = scrape(t).count(PROGRAMMING)
    service.delete_slice()
    t.settle()
    t.require(scrape(t).count(PROGRAMMING) == before, "the end of a slice gave a sample")


@own_daemon(98, "a rejected write counts as a failure and, in a partial sync, as a partial one; the next success is full",
            sources=["manifests"], backends=IPTABLES)
def refused_write(t):
    family = FAMILY[t.family]
    service = t.service([ready(E1)])
    t.settle()
    tools = t.topology.tools
    before = scrape(t)

    def rise(name):
        return scrape(t).count(name, ip_family=family) - before.count(name, ip_family=family)

    failures = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total"
    partial = "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total"
    with tools.wrapped():
        tools.refuse(".", "nothing")
        t.defer(tools.accept_all)
        service.set_endpoints([ready(E2)])
        t.wait_until(lambda: rise(failures) >= 1, "the failure is counted")
        t.wait_until(lambda: rise("sluice_sync_failures_total") >= 1, "the sync is counted as failed")
        t.wait_until(lambda: scrape(t).get("sluice_oldest_pending_change_age_seconds", ip_family=family) > 0,
                     "the change is said to wait")
        tools.accept_all()
        t.wait_until(lambda: rise("kubeproxy_sync_full_proxy_rules_duration_seconds_count") >= 1, "a full sync follows")
    t.require(rise(partial) == 1, f"{rise(partial)} partial failures were counted")
    t.wait_until(lambda: scrape(t).get("sluice_oldest_pending_change_age_seconds", ip_family=family) == 0,
                 "nothing waits any more")


@own_daemon(103, "service ports with a Local policy and only remote endpoints are counted by policy", sources=["manifests"],
            backends=["iptables", "ipvs", "nftables"])
def no_local_endpoints(t):
    def expect(wanted, occasion):
        def counts():
            now = scrape(t)
            return tuple(now.get(NO_LOCAL, traffic_policy=policy, ip_family=FAMILY[t.family])
                         for policy in ("internal", "external"))

        # Packets may arrive before the daemon has updated its counters.
        if not pace.wait_until(lambda: counts() == wanted, 10):
            t.require(False, f"{occasion}: {counts()}")

    internal = t.service([ready(E2)], internal_policy="Local")
    t.settle()
    expect((1, 0), "internal Local, one endpoint elsewhere")
    external = t.service([ready(E2)], type="NodePort", node_port=True, external_policy="Local")
    t.settle()
    expect((1, 1), "external Local besides")
    internal.set_endpoints([ready(E1), ready(E2)])
    external.set_endpoints([])
    t.settle()
    expect((0, 0), "one has a local endpoint, the other none at all")


@own_daemon(None, "promtool complains about kube-proxy's own odd names only; all metrics are documented",
            sources=["manifests"], backends=IPTABLES)
def well_formed(t):
    t.service([ready(E1)])
    t.settle()
    observed.health(t)
    now = scrape(t)
    with open(REFERENCE, encoding="utf-8") as file:
        documented = set(re.findall(r"^\| `([a-z_]+)` \| (?:counter|gauge|histogram) \|", file.read(), re.M))
    t.require(not set(now.families()) - documented, f"not documented: {set(now.families()) - documented}")
    if shutil.which("promtool") is None:
        raise Skip("there is no promtool (package prometheus)")
    done = shell.run(["promtool", "check", "metrics"], stdin=now.text, check=False)
    said = (done.stdout + done.stderr).splitlines()
    complained = {line.split()[0] for line in said if line}
    with open(ALLOWED, encoding="utf-8") as file:
        allowed = set(file.read().split())
    t.require(complained == allowed, f"promtool complains of {sorted(complained)}, not of {sorted(allowed)}: {said[:5]}")
    rules = shell.run(["promtool", "check", "rules", ALERTS], check=False)
    t.require(rules.returncode == 0, f"the alert rules: {rules.stdout}{rules.stderr}")
