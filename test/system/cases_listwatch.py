# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""How the daemon reads an API server: as a stream, as lists or from Endpoints where necessary, and
never faster than the rate limit."""

from lib.addresses import E1, E2, E3, FAMILIES, POD_PORT
from lib.cases import POD, REJECTED, kept, own_daemon
from lib.objects import port, ready

ABOVE_BACKENDS = True

RESOURCES = ("services", "endpointslices", "nodes")
SWITCH = "KUBE_FEATURE_WatchListClient"
BOTH = [ready(E1), ready(E2)]


class Asked:
    """Requests of the daemon to the API server since creation."""

    def __init__(self, t):
        self._source = t.bench.source
        self._from = self._source.requests(1 << 60)[1]

    def all(self):
        made, _ = self._source.requests(self._from)
        return [one for one in made if one["headers"].get("user-agent", "").startswith("sluiced/")]

    def lists(self, resource=None):
        return [one for one in self.all() if one["verb"] == "list" and resource in (None, one["resource"])]

    def streams(self, resource=None):
        return [one for one in self.all() if one["query"].get("sendInitialEvents") == "true"
                and resource in (None, one["resource"])]

    def paths(self):
        return [one["path"] for one in self.all()]


def restarted(t, **options):
    """Restarts the server with other options, and the daemon; returns the requests of the daemon."""
    t.bench.daemon.stop()
    if options:
        t.bench.source.admin("options", options)
    asked = Asked(t)
    t.bench.start_daemon()
    return asked


def follows_changes(t, service):
    """Lists were only the beginning: a change arrives without a new list."""
    asked = Asked(t)
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))
    # The watch after a list may be requested only now.
    again = [one["path"] for one in asked.lists() + asked.streams()]
    t.require(not again, f"a change led to requests: {again}")


def resource_status(t, kind):
    return next((one for one in t.status()["source"]["resources"] if one["kind"] == kind), None)


@own_daemon(None, "everything is read as streams, and nothing is listed")
def streams_by_default(t):
    service = t.service(BOTH)
    asked = restarted(t)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(not asked.lists(), f"lists were asked for: {[one['path'] for one in asked.lists()]}")
    for resource in RESOURCES:
        t.require(len(asked.streams(resource)) == 1, f"{len(asked.streams(resource))} streams of {resource}")
    reads = [one for one in asked.all() if one["verb"] != "create"]  # but for the events it writes
    wanted = len(RESOURCES) + (1 if t.nftables else 0)  # which asks for ServiceCIDRs
    t.require(len(reads) == wanted, f"not {wanted} requests: {asked.paths()}")
    follows_changes(t, service)


def answers(asked):
    """The content types of the lists and watches that the server answered."""
    return {one["content_type"] for one in asked.all() if one["verb"] in ("list", "watch") and one["code"] == 200}


PROTOBUF = "application/vnd.kubernetes.protobuf"


@own_daemon(None, "streams are read in protobuf")
def streams_in_protobuf(t):
    service = t.service(BOTH)
    asked = restarted(t)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(answers(asked) == {PROTOBUF + ";stream=watch"}, f"the server answered in {answers(asked)}")
    follows_changes(t, service)


@own_daemon(None, "lists are read in protobuf")
def lists_in_protobuf(t):
    service = t.service(BOTH)
    asked = restarted(t, no_watchlist=True)
    t.expect(POD, service.cluster(), kept(E1, E2))
    follows_changes(t, service)
    t.require(answers(asked) == {PROTOBUF, PROTOBUF + ";stream=watch"}, f"the server answered in {answers(asked)}")


@own_daemon(None, "a server without protobuf is read in JSON: streams and lists")
def server_without_protobuf(t):
    service = t.service(BOTH)
    for options in ({"no_protobuf": True}, {"no_protobuf": True, "no_watchlist": True}):
        asked = restarted(t, **options)
        service.set_endpoints(BOTH)
        t.settle()
        t.expect(POD, service.cluster(), kept(E1, E2))
        follows_changes(t, service)
        t.require(answers(asked) == {"application/json"}, f"the server answered in {answers(asked)}")


@own_daemon(None, "with the content type application/json, only JSON is asked for")
def json_by_flag(t):
    service = t.service(BOTH)
    t.bench.flags = [*t.bench.flags, "--kube-api-content-type=application/json"]
    asked = restarted(t)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(answers(asked) == {"application/json"}, f"the server answered in {answers(asked)}")
    accepted = {one["headers"]["accept"] for one in asked.all()}
    t.require(accepted == {"application/json"}, f"the daemon accepted {accepted}")
    follows_changes(t, service)


@own_daemon(None, "a server that rejects streams is listed, which is logged once")
def refused_streams(t):
    service = t.service(BOTH)
    asked = restarted(t, no_watchlist=True)
    t.expect(POD, service.cluster(), kept(E1, E2))
    for resource in RESOURCES:
        t.require(len(asked.lists(resource)) == 1, f"{len(asked.lists(resource))} lists of {resource}")
        t.require(len(asked.streams(resource)) <= 1, f"{len(asked.streams(resource))} streams of {resource}")
    said = [line for line in t.bench.daemon.log().splitlines() if "does not offer streaming lists" in line]
    t.require(len(said) == 1 and "422" in said[0], f"the log says it in {len(said)} lines: {said}")
    follows_changes(t, service)


@own_daemon(None, "a server that does not know streams is listed after a timeout")
def unknown_streams(t):
    service = t.service(BOTH)
    asked = restarted(t, ignore_watchlist=True)
    t.expect(POD, service.cluster(), kept(E1, E2))
    for resource in RESOURCES:
        t.require(len(asked.lists(resource)) == 1, f"{len(asked.lists(resource))} lists of {resource}")
    follows_changes(t, service)


@own_daemon(None, f"{SWITCH}=false: lists and watches as in older versions")
def switched_off(t):
    service = t.service(BOTH)
    t.bench.daemon.environment[SWITCH] = "false"
    asked = restarted(t)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(not asked.streams(), "a stream was asked for")
    for resource in RESOURCES:
        t.require(len(asked.lists(resource)) == 1, f"{len(asked.lists(resource))} lists of {resource}")
    follows_changes(t, service)


@own_daemon(None, "an initial stream is cut: a part of it removes nothing, and the next one is used")
def cut_streams(t):
    services = [t.service([ready(E1)]) for _ in range(4)]
    gone = t.service([ready(E1)])
    t.settle()
    t.expect(POD, [one.cluster() for one in services + [gone]], kept(E1))
    hammer = t.hammer(POD, services[0].cluster(), calm=True)
    source = t.bench.source
    asked = Asked(t)
    for resource in RESOURCES[:2]:
        source.fault(match="initial", resource=resource, kind="cut-mid-line", after_events=1, count=2)
    t.defer(source.clear_faults)
    source.gate(True)
    gone.delete_service()
    source.admin("compact", {})
    source.cut()
    source.gate(False)
    t.wait_until(lambda: not [fault for fault in source.faults() if fault["count"] > fault["hits"]],
                 "both streams were cut twice", seconds=20)
    t.wait_until(lambda: all(len(asked.streams(resource)) == 3 for resource in RESOURCES[:2]),
                 "both streams were asked for a third time", seconds=20)
    t.settle()
    t.expect(POD, [one.cluster() for one in services], kept(E1))
    t.require_unbroken(hammer, "while streams were cut")
    t.require(not asked.lists(), f"lists were asked for: {[one['path'] for one in asked.lists()]}")
    t.require(len(asked.streams("services")) == 3, f"{len(asked.streams('services'))} streams of services, not 3")


@own_daemon(None, "a daemon that starts with a cut stream programs nothing before the list is complete")
def cut_at_start(t):
    service = t.service(BOTH)
    t.settle()
    t.bench.daemon.stop()
    t.bench.cleanup()
    t.bench.source.fault(match="initial", resource="services", kind="stall", after_events=1, seconds=600, count=1)
    t.defer(t.bench.source.clear_faults)
    t.bench.daemon.start(t.bench.source.daemon_flags(), t.bench.flags)
    t.wait_until(lambda: any(fault["hits"] for fault in t.bench.source.faults()) or not t.bench.source.faults(),
                 "the stream has met its fault")
    ours = [line for line in t.saved("nat") if line.startswith("-A KUBE-SVC")]
    t.require(not ours, f"half a list was programmed: {ours[:2]}")
    t.bench.source.disconnect()
    t.bench.daemon.wait_synced()
    t.expect(POD, service.cluster(), kept(E1, E2))


def endpoints_of(service, addresses, not_ready=(), name=None):
    listed = [port(known, target, service.protocol) for known, _, target in [("p80", 80, POD_PORT)]]
    subset = {"ports": listed}
    if addresses:
        subset["addresses"] = [{"ip": host.ip(service.family), "nodeName": host.node} for host in addresses]
    if not_ready:
        subset["notReadyAddresses"] = [{"ip": host.ip(service.family)} for host in not_ready]
    return {"apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"namespace": service.namespace, "name": name or service.name},
            "subsets": [subset]}


@own_daemon(None, "a server without EndpointSlices: Endpoints serve, until it is upgraded", families=FAMILIES)
def endpoints_fallback(t):
    service, other = t.service(), t.service()
    source = t.bench.source
    source.put(endpoints_of(service, [E1, E2], not_ready=[E3]))
    asked = restarted(t, no_endpointslices=True)
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect(POD, other.cluster(), REJECTED)
    t.require(resource_status(t, "Endpoints") is not None, "the status does not speak of Endpoints")
    t.require(t.bench.daemon.wait_logged("does not offer discovery.k8s.io/v1", "Endpoints", seconds=2) is not None,
              "the log does not speak of Endpoints")
    t.require(len([path for path in asked.paths() if path == "/apis/discovery.k8s.io/v1"]) == 1,
              f"discovery was not asked once: {asked.paths()}")

    source.put(endpoints_of(service, [E2, E3]), endpoints_of(other, [E1]))
    t.expect_soon(POD, other.cluster(), kept(E1))
    t.expect_soon(POD, service.cluster(), kept(E2, E3))
    source.put(endpoints_of(service, [], not_ready=[E2]))
    t.expect_soon(POD, service.cluster(), REJECTED)
    source.put(endpoints_of(service, [E1]))
    t.expect_soon(POD, service.cluster(), kept(E1))

    # After the upgrade the Endpoints are out of date, and are not read any more.
    service.set_endpoints([ready(E2)])
    other.set_endpoints([ready(E3)])
    source.admin("options", {"no_endpointslices": False})
    source.admin("compact", {})
    source.cut()
    t.expect_soon(POD, service.cluster(), kept(E2))
    t.expect_soon(POD, other.cluster(), kept(E3))
    t.require(resource_status(t, "EndpointSlice") is not None, "the status does not speak of EndpointSlices again")


@own_daemon(None, "only a 404 of discovery leads to Endpoints: no other error does")
def no_fallback_for_other_reasons(t):
    service = t.service(BOTH)
    t.settle()
    t.bench.source.put(endpoints_of(service, [E3]))
    source = t.bench.source
    asked = Asked(t)
    source.fault(match="read", resource="endpointslices", kind="status", code=404, count=2)
    t.defer(source.clear_faults)
    source.admin("compact", {})
    source.cut()
    t.wait_until(lambda: not source.faults(), "EndpointSlices were refused twice")
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require("/apis/discovery.k8s.io/v1" in asked.paths(), "discovery was not asked")
    t.require("/api/v1/endpoints" not in asked.paths(), "Endpoints were asked for")


@own_daemon(None, "a server that answers 429 to everything receives no more requests than the budget allows")
def budget(t):
    service = t.service(BOTH)
    t.settle()
    t.bench.daemon.stop()
    source = t.bench.source
    burst, wanted = 2, 8
    source.fault(match="read", kind="status", code=429, retry_after=1, count=0)
    t.defer(source.clear_faults)
    asked = Asked(t)
    t.bench.daemon.start(source.daemon_flags(), [*t.bench.flags, "--kube-api-qps", "1", "--kube-api-burst", str(burst)])
    t.wait_until(lambda: len(asked.all()) >= wanted, f"{wanted} requests", seconds=30)
    times = [one["seconds"] for one in asked.all()]
    # In any interval: the burst, and one per second; half a second for the network, more on a busy machine.
    worst = max((later - first + 1 - (times[later] - times[first]) for first in range(len(times))
                 for later in range(first, len(times))), default=0)
    t.require(worst <= burst + t.busiest.stretched(0.5), f"{worst:.1f} requests more than one a second: {times}")
    source.clear_faults()
    t.bench.daemon.wait_synced()
    t.expect(POD, service.cluster(), kept(E1, E2))
