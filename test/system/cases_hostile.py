# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A user that controls Services and EndpointSlices of one namespace cannot make memory, log or metrics grow without limit,
crash the daemon, or delay the changes of other Services. The bounds that are asserted here are those of docs/tenants.md."""

import statistics
import time

from lib import hostile, objects, pace
from lib.addresses import E1, E2, E4, POD_PORT, V4, Allocator
from lib.cases import POD, REJECTED, case, kept
from lib.episode import WATCHED
from lib.metrics import scrape
from lib.hostile import LONG, NAMESPACE, Tenant, endpoint_slice, memory_kib, name, named_ports, nowhere, service, settle
from lib.latency import Client
from lib.objects import port, ready
from lib.services import Front

ONLY = {"config": hostile.CONFIG, "families": [V4], "protocols": ["tcp"], "sources": ["apiserver"], "exclusive": True,
        "legacy": ("ipvs",)}

# Per half; 10^5 in all in the long form.
REWRITES = 50_000 if LONG else 300
MOST_GROWTH_KIB = 4096 if LONG else 1024
PORTS = 1000
ENDPOINTS = 10_000 if LONG else 2_000
PER_SLICE = 1000  # the API server allows no more
MOST_OF_SERVICE = 131_072  # endpoints and source ranges
MOST_RETAINED_KIB = 32 << 10  # of memory after the largest objects are removed
SAMPLES = 60 if LONG else 8  # per round
ROUNDS = 3
ATTEMPTS = 3
RELEASE_SECONDS = 5  # until the daemon has returned unused memory to the kernel
FLOOD_RATE = 50  # writes per second
FLOOD_PORTS = 5  # a sync takes a small part of the period on slow processors too
MIN_SYNC_PERIOD = 0.1  # seconds; of the daemon of this suite
MOST_RATIO = 2
MOST_LINES = 100  # in a burst, per kind of line; then one in 10 s
LONGEST_LINE = 1500
MOST_SERIES = 8  # a series with labels appears when the daemon first counts for it, such as a wait for the iptables lock
PROBLEMS = 5000 if LONG else 300


@case(None, f"memory: {REWRITES} more rewrites with random names of ports, nodes, zones, Services and slices add at most "
      f"{MOST_GROWTH_KIB} KiB", slow=True, **ONLY)
def memory(t):
    tenant = Tenant(t)
    tenant.rewrite(REWRITES)
    settle(t)
    values = [memory_kib(t)]
    # What a leak adds, each round adds; what the allocator needs under load, one round adds.
    while len(values) <= ATTEMPTS and (len(values) < 2 or values[-1] - values[-2] > MOST_GROWTH_KIB):
        tenant.rewrite(REWRITES)
        settle(t)
        t.bench.daemon.check_alive()
        pace.wait_until(lambda: WATCHED or memory_kib(t) - values[-1] <= MOST_GROWTH_KIB, RELEASE_SECONDS)
        values.append(memory_kib(t))
    t.require(WATCHED or values[-1] - values[-2] <= MOST_GROWTH_KIB,
              f"each of {ATTEMPTS} rounds of {REWRITES} rewrites adds more than {MOST_GROWTH_KIB} KiB: {values}")
    t.remark(f"KiB after each round of {REWRITES} rewrites: {values}")


@case(None, f"size: a Service with {PORTS} ports and one with {ENDPOINTS} endpoints are served beside others, and their memory "
      "is released", slow=True, **ONLY)
def largest_objects(t):
    victim = t.service([ready(E1)])
    settle(t)
    before = memory_kib(t)
    hammer = t.hammer(POD, victim.cluster())
    tenant = Tenant(t)
    numbers = [t.bench.allocator.number() for _ in range(2)]
    ports_ip, endpoints_ip = (Allocator.cluster_ip(number, V4) for number in numbers)
    names = [f"p{number}" for number in range(PORTS)]
    tenant.put(service("ports", ports_ip, named_ports(names)), endpoint_slice("ports-1", "ports", names, [ready(E1)]))
    tenant.put(service("endpoints", endpoints_ip, [port("p", 80, "tcp")]))
    # One slice more than fit into a slice of the API server's, and the last one has twice as many endpoints.
    tenant.put(*(endpoint_slice(f"endpoints-{first}", "endpoints", ["p"], nowhere(PER_SLICE, first))
                 for first in range(0, ENDPOINTS - 2 * PER_SLICE, PER_SLICE)),
               endpoint_slice("endpoints-last", "endpoints", ["p"], nowhere(2 * PER_SLICE, ENDPOINTS - 2 * PER_SLICE)))
    settle(t)
    t.wait_until(lambda: scrape(t).get("sluice_endpoints") >= ENDPOINTS + 1, "all endpoints are known")
    for number in (0, PORTS // 2, PORTS - 1):
        t.expect(POD, Front(ports_ip, 1000 + number, "tcp"), kept(E1))
    # One of all those endpoints is left.
    tenant.clear()
    tenant.put(service("endpoints", endpoints_ip, [port("p", 80, "tcp")]), endpoint_slice("endpoints-0", "endpoints", ["p"], [ready(E4)]))
    settle(t)
    t.expect(POD, Front(endpoints_ip, 80, "tcp"), kept(E4))
    t.require_unbroken(hammer, "while the largest objects came and went")
    t.wait_until(lambda: WATCHED or memory_kib(t) - before <= MOST_RETAINED_KIB, f"memory is within {MOST_RETAINED_KIB} KiB of {before} KiB again")
    t.remark(f"{before} KiB before, {memory_kib(t)} KiB after")


@case(None, f"size: a Service with more than {MOST_OF_SERVICE} endpoints in all is rejected at the excess ports of its cluster "
      "IP, with the reason; its other ports and other Services are served", **ONLY)
def more_than_fits(t):
    tenant = Tenant(t)
    # A slice may list a port of one name many times, and each of its addresses is an endpoint at each such port.
    times = MOST_OF_SERVICE // PER_SLICE + 1
    many = endpoint_slice("many-1", "many", [], nowhere(PER_SLICE))
    many["ports"] = [port("a", 10_000 + number, "tcp") for number in range(times)]
    tenant.put(service("many", tenant.ip, [port("a", 80, "tcp"), port("b", 81, "tcp")]), many,
               endpoint_slice("many-2", "many", ["b"], [ready(E1)]))
    victim = t.service([ready(E1)])
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
    t.expect(POD, Front(tenant.ip, 80, "tcp"), REJECTED)
    t.expect(POD, Front(tenant.ip, 81, "tcp"), kept(E1))
    omitted = {one["service_port"]: one["reason"] for family in t.status()["families"] for one in family["not_programmed"]}
    wanted = f"{NAMESPACE}/many:a"
    t.require(str(MOST_OF_SERVICE) in omitted.get(wanted, ""), f"{wanted} is not programmed, reason: {omitted.get(wanted)}")
    t.require(f"{NAMESPACE}/many:b" not in omitted, "a port that fits is not programmed")


BROKEN = {
    "no-spec": {"spec": None},
    "spec-is-a-list": {"spec": []},
    "ports-is-text": {"spec": {"ports": "eighty"}},
    "port-is-negative": {"spec": {"ports": [{"name": "p", "port": -1}]}},
    "port-is-huge": {"spec": {"ports": [{"name": "p", "port": 1 << 62}]}},
    "port-is-text": {"spec": {"ports": [{"name": "p", "port": "80"}]}},
    "node-port-is-huge": {"spec": {"ports": [{"name": "p", "port": 80, "nodePort": 70000}]}},
    "name-is-a-rule": {"spec": {"ports": [{"name": "-j ACCEPT", "port": 80}]}},
    "name-has-lines": {"spec": {"ports": [{"name": "p\nCOMMIT\n", "port": 80}]}},
    "no-cluster-ip": {"spec": {"clusterIP": "", "clusterIPs": []}},
    "cluster-ip-is-text": {"spec": {"clusterIP": "x" * 5000, "clusterIPs": ["x" * 5000]}},
    "families-without-ips": {"spec": {"ipFamilies": ["IPv6", "IPv4", "IPv6"]}},
    "affinity-is-negative": {"spec": {"sessionAffinity": "ClientIP",
                                      "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": -5}}}},
    "ranges-are-numbers": {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": [1, 2]}},
    "type-is-unknown": {"spec": {"type": "Tunnel"}},
    "health-port-without-balancer": {"spec": {"healthCheckNodePort": 10256, "externalTrafficPolicy": "Local"}},
    "external-ips-are-text": {"spec": {"externalIPs": "192.0.2.1"}},
    "ingress-is-a-number": {"status": {"loadBalancer": {"ingress": 7}}},
    "status-is-text": {"status": "fine"},
}
BROKEN_SLICES = {
    "no-ports": {"ports": None},
    "ports-are-numbers": {"ports": [80]},
    "port-is-huge": {"ports": [{"name": "p80", "port": 99999}]},
    "endpoints-are-text": {"endpoints": "10.0.0.1"},
    "endpoint-without-address": {"endpoints": [{"conditions": {"ready": True}}]},
    "address-is-long": {"endpoints": [{"addresses": ["1" * 5000]}]},
    "conditions-are-text": {"endpoints": [{"addresses": ["10.180.0.1"], "conditions": "ready"}]},
    "hints-are-text": {"endpoints": [{"addresses": ["10.180.0.1"], "hints": {"forZones": "a"}}]},
    "type-is-unknown": {"addressType": "FQDN"},
    "type-is-a-number": {"addressType": 4},
    "service-name-is-a-path": {"metadata": {"labels": {objects.SERVICE_NAME_LABEL: "../other/svc1"}}},
}


@case(None, f"invalid objects: {len(BROKEN)} Services and {len(BROKEN_SLICES)} slices that an API server rejects change nothing "
      "for other Services, before and after a restart, and the same names can be used for valid ones", **ONLY)
def invalid_objects(t):
    tenant = Tenant(t)
    victim = t.service([ready(E1)])
    for number, (key, wrong) in enumerate(BROKEN.items()):
        made = service(key, tenant.ip, [port("p", 2000 + number, "tcp")])
        tenant.put({**made, **wrong, "spec": {**made["spec"], **wrong["spec"]} if isinstance(wrong.get("spec"), dict)
                    else wrong.get("spec", made["spec"])})
    for key, wrong in BROKEN_SLICES.items():
        made = endpoint_slice(key, victim.name, ["p80"], [ready(E2)])
        made["metadata"]["labels"].update(wrong.get("metadata", {}).get("labels", {}))
        tenant.put({**made, **wrong, "metadata": made["metadata"]})
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
    hostile.restart(t)
    t.expect(POD, victim.cluster(), kept(E1))
    right = [service(key, tenant.ip, [port("p", 2000 + number, "tcp")]) for number, key in enumerate(BROKEN)]
    tenant.put(*right, *(endpoint_slice(f"{key}-1", key, ["p"], [ready(E4)]) for key in BROKEN))
    settle(t)
    for number in range(len(BROKEN)):
        t.expect(POD, Front(tenant.ip, 2000 + number, "tcp"), kept(E4))


def flood_of(tenant, concerns):
    """Rewrites with random names; those for other proxies cost all others the same."""
    def make():
        names = [name() for _ in range(FLOOD_PORTS)]
        made = service("flood", tenant.ip, named_ports(names))
        slices = endpoint_slice("flood-1", "flood", names[:2], [objects.Endpoint(E2, node_name=name(), zones=(name(),))])
        if not concerns:
            made["metadata"]["labels"] = {hostile.PROXY_NAME_LABEL: "another"}
            slices["metadata"]["labels"]["service.kubernetes.io/headless"] = ""
        return [made, slices]

    return make


@case(None, f"delay: while the tenant rewrites a Service and its slice {FLOOD_RATE} times a second, the median of the time that a change "
      f"of another Service takes is at most {MOST_RATIO} times that while nothing else changes", slow=True, **ONLY)
def delay(t):
    tenant = Tenant(t)
    victim = t.service([ready(E1)])
    tenant.put(*flood_of(tenant, True)())
    settle(t)
    client, flips = Client(t, POD), 0

    def sample():
        nonlocal flips
        flips += 1
        server = (E1, E4)[flips % 2]
        time.sleep(2.5 * MIN_SYNC_PERIOD)  # fixed time: only a namespace without changes in the last runs is not delayed
        victim.set_endpoints([ready(server)])
        return client.seconds_until(victim.cluster(), server, time.monotonic())

    def measure():
        quiet, flooded = [], []
        for _ in range(ROUNDS):
            with hostile.Flood(t, flood_of(tenant, False), FLOOD_RATE):
                quiet += [sample() for _ in range(SAMPLES)]
            with hostile.Flood(t, flood_of(tenant, True), FLOOD_RATE):
                flooded += [sample() for _ in range(SAMPLES)]
        t.require(None not in quiet + flooded, "a change never arrived")
        # The error of the median of so few samples: half of the interquartile range.
        quarters = statistics.quantiles(quiet, n=4)
        return statistics.median(quiet), statistics.median(flooded), (quarters[2] - quarters[0]) / 2

    # Other load on the machine may come and go; a daemon that delays changes is slow each time.
    for _ in range(ATTEMPTS):
        usual, slow, noise = measure()
        if slow <= MOST_RATIO * usual + noise:
            break
    t.require(WATCHED or slow <= MOST_RATIO * usual + noise, f"a change takes {slow * 1000:.0f} ms during the flood, {usual * 1000:.0f} ms without, "
                                                  f"noise {noise * 1000:.0f} ms: more than {MOST_RATIO} times as long")
    t.remark(f"medians: {slow * 1000:.1f} ms during the flood, {usual * 1000:.1f} ms without: {slow / usual:.2f} times")


def problems(tenant, victim, count):
    """Objects that are each worth a log line: with new problems each time, or with unique names."""
    for number in range(count):
        texts = [name() for _ in range(20)]
        yield service("unusable", tenant.ip, named_ports(["Not_A_Name_" + texts[0]]))
        yield service("notes", tenant.ip, named_ports(["p"]), externalIPs=texts)
        yield endpoint_slice("notes-1", "notes", ["p"], [objects.Endpoint(E1, address=text) for text in texts])
        yield service("withheld", tenant.ip, named_ports(texts, 80), externalIPs=[victim.cluster().ip])
        if number % 10 == 0:
            yield service(name(), "not-an-address-" + texts[0], named_ports(["p"]))


@case(None, f"log and metrics: {PROBLEMS} rounds of objects with new problems write at most {MOST_LINES} lines of each kind, "
      f"none of them long, add at most {MOST_SERIES} series, and no text of the tenant is in the metrics", slow=True, **ONLY)
def log_and_metrics(t):
    t.defer(lambda: hostile.restart(t))  # the log rate limits are used up and would suppress lines that other cases wait for
    victim = t.service([ready(E1)])
    tenant = Tenant(t)
    tenant.put(*problems(tenant, victim, 2))
    settle(t)
    before, log = hostile.series(t), hostile.LogWatch(t)
    tenant.put(*problems(tenant, victim, PROBLEMS))
    written = log.seconds
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
    lines = log.lines()
    sorts = {"Service": "kube] Service ", "EndpointSlice": "kube] EndpointSlice ", "not programmed": "not programmed: "}
    allowed = MOST_LINES + log.seconds / 10 + 1
    for sort, text in sorts.items():
        count = sum(text in line for line in lines)
        t.require(0 < count <= allowed, f"{count} lines of sort {sort} in {log.seconds:.0f} s, more than {allowed:.0f}")
    t.require(len(lines) <= len(sorts) * allowed + 20, f"{len(lines)} lines in all; the last: {lines[-3:]}")
    longest = max(map(len, lines))
    t.require(longest <= LONGEST_LINE, f"a line of {longest} bytes, more than {LONGEST_LINE}")
    t.require(any("were suppressed" in line for line in lines) or written < 20, "no line has the number of suppressed ones")
    added = hostile.series(t) - before
    t.require(len(added) <= MOST_SERIES, f"{len(added)} more series, among them: {sorted(added)[:3]}")
    text = scrape(t).text
    t.require(hostile.MARK not in text, "text of the tenant is in the metrics")
    t.remark(f"{len(lines)} lines, the longest has {longest} bytes; {len(before)} series before and after")
