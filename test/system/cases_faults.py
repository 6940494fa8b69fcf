# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The API server misbehaves: packets go on, nothing is removed, a change arrives once the fault is over, and neither
the log, nor the server, nor the node's memory and CPU suffer.

Every case takes one kind of misbehaviour through the same steps, see `lib/fault_scenario.py`. Faults hit lists, watches
and the initial stream of a watch, in the middle of their content: half of it must never
count as the whole.
"""

import socket

from lib import netns_http
from lib.addresses import NODE2
from lib.cases import own_daemon
from lib.episode import RESOURCES
from lib.metrics import scrape
from lib.fault_scenario import MANY_HITS, Fault, FaultScenario, instead, run_fault, within

ABOVE_BACKENDS = True

MOST_ATTEMPTS = 24
LENGTH = "wrong-content-length"
# Of three kinds: then one of them has had its fourth 403, which is the first that is logged.
WARNED_403 = 10


def fault_case(name, title, fault):
    def run(t):
        run_fault(t, fault)

    run.__name__ = name
    run.__module__ = __name__
    own_daemon(None, title)(run)


fault_case("cut", "connections are cut within lists and watches", within("cut", ["closed the connection"]))
fault_case("cut_mid_line", "connections to an older server are cut within an object",
           within("cut-mid-line", ["closed the connection"], streams=False))
fault_case("reset", "connections are reset within lists and watches", within("reset", ["connection"]))
fault_case("half_line", "answers end cleanly within an object", within("half-line", ["too early"]))
fault_case("stall", "answers stop in the middle and the connection stays", within("stall", hits=2))
fault_case("slow_drip", "answers come a few bytes at a time", within("slow-drip", hits=2))
fault_case("silence", "requests are accepted and never answered", instead("stall"))
fault_case("expired", "a storm of 410 for every list and watch", instead("status", ["410"], MANY_HITS, code=410))
fault_case("server_error", "a storm of 500 for every list and watch", instead("status", ["500"], MANY_HITS, code=500))
fault_case("forbidden", "403 for every list and watch", instead("status", ["403", "grant"], WARNED_403, code=403))
fault_case("not_found", "404 for every list and watch", instead("status", ["404"], code=404))
fault_case("proxy_page", "a proxy in between answers 502 with an HTML page", instead("html", ["502"]))
fault_case("portal_page", "a proxy in between answers 200 with an HTML page", instead("html", ["text/html"], code=200))
fault_case("empty", "answers are empty", instead("empty", ["at once"]))
fault_case("garbage", "garbage between the objects", within("garbage-line", ["was expected"]))
fault_case("invalid_utf8", "an object with invalid UTF-8", within("invalid-utf8", ["UTF-8"], names_server=False))
fault_case("huge_object", "an object of 32 MiB", within("huge-object", ["MiB"], names_server=False))
fault_case("broken_gzip", "compressed lists are corrupt", within("broken-gzip", ["decompress"], streams=False))
fault_case("too_long", "the announced length is more than the received one",
           within(LENGTH, ["closed the connection"], length_delta=10**6))
fault_case("too_short", "the announced length is less than the received one", within(LENGTH, ["too early"], length_delta=-100))
fault_case("duplicates", "every object and every event is sent twice", within("duplicate", hits=1, delivers=True))


@own_daemon(None, "429 with Retry-After: no request is sent before that time has passed")
def too_many_requests(t):
    seconds = 2
    fault = instead("status", ["429"], 6, code=429, retry_after=seconds)
    scenario = run_fault(t, fault)
    for resource in RESOURCES:
        refused = [one for one in scenario.episode.requests(resource) if one["code"] == 429]
        times = [one["seconds"] for one in refused]
        hurried = [later - earlier for earlier, later in zip(times, times[1:]) if later - earlier < seconds]
        t.require(len(times) > 1 and not hurried, f"{resource} were asked for at {times}, Retry-After being {seconds} s")
    t.require(scrape(t).count("rest_client_request_retries_total", code="429", verb="GET") >= len(RESOURCES), "retries are not counted")


@own_daemon(None, "events of an unknown type or kind are skipped, the others are processed")
def odd_events(t):
    scenario = FaultScenario(t)
    made = [{"match": "watch", "resource": resource, "kind": kind, "after_events": 0, "count": 1}
            for resource, kind in (("services", "unknown-event"), ("endpointslices", "foreign-kind"))]
    scenario.inject(Fault(tuple(made)))
    scenario.source.cut()
    scenario.expect_arrived(scenario.change())
    scenario.require_unharmed("with odd events")
    for words in (["services", "RENAMED"], ["endpointslices", "Pod"]):
        scenario.episode.require_logged(words)
    scenario.episode.require_no_flood()
    scenario.episode.require_backoff(at_once=2)


@own_daemon(None, "no redirect is followed, to the same server or another, and the line says so")
def redirect(t):
    address = (NODE2.v4, 0)
    elsewhere = netns_http.made_in(t.topology.namespace(NODE2.place), lambda: socket.create_server(address))
    t.defer(elsewhere.close)
    port = elsewhere.getsockname()[1]
    locations = {"services": f"http://{NODE2.v4}:{port}/api/v1/services",
                 "endpointslices": f"https://{NODE2.v4}:{port}/apis/discovery.k8s.io/v1/endpointslices",
                 "nodes": "/api/v1/elsewhere"}
    made = [{"match": "read", "resource": resource, "kind": "redirect", "count": 0, "location": location}
            for resource, location in locations.items()]
    scenario = run_fault(t, Fault(tuple(made), ["307"], hits=6))
    t.require(not [one for one in scenario.episode.requests() if one["path"] == locations["nodes"]],
              "a redirect within the server was followed")
    elsewhere.setblocking(False)
    try:
        elsewhere.accept()
        t.require(False, "a redirect to another server was followed")
    except BlockingIOError:
        # No connection arrived.
        pass


@own_daemon(None, "the server's certificate expires: the line says when, and a new one is accepted")
def expired_certificate(t):
    scenario = FaultScenario(t)
    source = scenario.source
    source.admin("certificate", {"name": "server", "valid_from": -7200, "valid_until": -3600})
    source.disconnect()
    t.wait_until(lambda: scenario.episode.warnings(), "a complaint about the certificate")
    changed = scenario.change()
    scenario.require_unharmed("with an expired certificate")
    scenario.episode.require_explained(["certificate", "expired"])
    scenario.episode.require_backoff(at_once=0)
    source.admin("certificate", {"name": "server"})
    scenario.expect_arrived(changed)
    scenario.episode.require_flat_memory()


def connections(t, kind, words):
    """Faults before a request can be sent."""
    scenario = FaultScenario(t)
    fault = Fault(({"match": "connection", "kind": kind, "count": 0},), words)
    scenario.inject(fault)
    scenario.source.disconnect()
    scenario.wait_affected(fault)
    changed = scenario.change()
    scenario.require_unharmed("without connections")
    scenario.require_warning(fault)
    scenario.episode.require_backoff(at_once=0)
    attempts = scenario.source.faults()[0]["hits"]
    t.require(attempts <= scenario.episode.scaled(MOST_ATTEMPTS), f"{attempts} connections in {scenario.episode.seconds:.1f} s")
    scenario.source.clear_faults()
    scenario.source.disconnect()
    scenario.expect_arrived(changed)
    scenario.episode.require_flat_memory()


@own_daemon(None, "the TLS handshake stalls")
def handshake_stalls(t):
    connections(t, "stall", ())


@own_daemon(None, "connections are accepted and closed at once")
def closed_at_once(t):
    connections(t, "cut", ["connection"])
