# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The health and metrics addresses as probes, load balancers and scrapers use them: cases 110 to 115."""

import math
import os
import re
import socket
import statistics
import subprocess
import sys
import time

from lib import health, netns_http, objects, observed, shell
from lib.addresses import E1, E2, E4, EXT, LOOPBACK, NODE, V4, V6
from lib.bench import PERIOD
from lib.cases import POD, case, kept, own_daemon
from lib.episode import WATCHED
from lib.metrics import CONTENT_TYPE
from lib.objects import ready

ABOVE_BACKENDS = True

IPTABLES = ["iptables"]
LATE = 2 * PERIOD  # seconds
TAINT = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"

BOTH = ("IPv4", "IPv6")


def restart_with(t, *flags):
    t.bench.daemon.stop()
    t.bench.flags += flags
    t.bench.start_daemon()


def checked(t, endpoints):
    """A load balancer Service with policy Local and its health check port."""
    service = t.service(endpoints, type="LoadBalancer", external=True, external_policy="Local")
    port = health.port_for(service)
    service.update(health_port=port)
    t.settle()
    return service, port


@own_daemon((110, 113), "healthy while idle, unhealthy on both paths once a change waits for two "
            "sync periods, healthy with the next success; health check node ports follow and keep the weight",
            sources=["manifests"], backends=IPTABLES)
def late(t):
    service, port = checked(t, [ready(E1), ready(E4)])
    answer = health.expect(t, port, 200)
    t.require(answer.get("localEndpoints") == 2, f"two local endpoints, and it says {answer}")
    _, quiet = observed.wait_status(t, 200)
    tools = t.topology.tools
    with tools.wrapped():
        tools.refuse(".", "nothing")
        t.defer(tools.accept_all)
        began = time.monotonic()
        service.set_endpoints([ready(E1)])
        t.wait_until(lambda: age(t, "IPv4") > 0.2, "the change is seen to wait")
        early = observed.health(t)
        if time.monotonic() - began < LATE:
            t.require(early.status == 200, f"before its time: {early}")
        refused, seen = observed.wait_status(t, 503)
        t.require(seen - began >= LATE, f"503 after {seen - began:.2f} s, {LATE} s being the limit")
        said = refused.json()
        t.require(said["healthy"] is False and said["nodeEligible"] is True, f"it says {refused.body}")
        t.require(age(t, "IPv4") >= LATE, f"/sync says {age(t, 'IPv4')}")
        t.require(observed.health(t, "/livez").status == 503, "/livez is not 503")
        weight = observed.ask(t, observed.url(NODE.ip(t.family), port, "/"), place=EXT.place)
        t.require(weight.status == 503 and weight.headers.get("x-load-balancing-endpoint-weight") == "2" and
                  weight.json()["serviceProxyHealthy"] is False, f"the health check port says {weight}")
        tools.accept_all()
        observed.wait_status(t, 200)
    t.require(observed.health(t, "/livez").status == 200, "/livez is not 200 again")
    health.expect(t, port, 200)
    t.wait_until(lambda: age(t, "IPv4") == 0, "nothing waits any more")
    service.set_endpoints([])
    health.expect(t, port, 503)
    none = observed.ask(t, observed.url(NODE.ip(t.family), port, "/"), place=EXT.place)
    t.require(none.headers.get("x-load-balancing-endpoint-weight") == "0", f"without endpoints: {none}")


def age(t, family):
    """Seconds that the oldest change of the family has waited, from the daemon's own path."""
    return observed.health(t, "/sync").json()["families"][family]["oldestPendingSeconds"]


@own_daemon(111, "IPv6 late while IPv4 is fine: 503, and the answer names the family", families=[V6], sources=["manifests"],
            backends=IPTABLES)
def one_family_late(t):
    service = t.service([ready(E1)])
    t.settle()
    tools = t.topology.tools
    with tools.wrapped():
        tools.refuse(re.escape(service.cluster().ip), "nothing")
        t.defer(tools.accept_all)
        service.set_endpoints([ready(E2)])
        answer, _ = observed.wait_status(t, 503)
        status = {family: one["healthy"] for family, one in answer.json()["status"].items()}
        t.require(status == {"IPv4": True, "IPv6": False}, f"the answer is {answer.body}")
        t.require(age(t, "IPv4") == 0 and age(t, "IPv6") >= LATE, "/sync does not say which family waits")
        tools.accept_all()
        observed.wait_status(t, 200)


@own_daemon(112, "a tainted, a deleted and an unknown Node are not eligible; /livez is not affected")
def node_eligible(t):
    def expect(eligible, occasion):
        status = 200 if eligible else 503
        answer, _ = observed.wait_status(t, status)
        t.require(answer.status == status and answer.json()["nodeEligible"] is eligible and
                  answer.json()["healthy"] is True, f"{occasion}: {answer.body}")
        alive = observed.health(t, "/livez")
        t.require(alive.status == 200 and "nodeEligible" not in alive.json(), f"{occasion}: /livez says {alive}")

    usual = objects.node({objects.ZONE_LABEL: "a"})
    expect(True, "at the start")
    t.bench.source.put({**usual, "spec": {"taints": [TAINT]}})
    expect(False, "with the taint")
    t.bench.source.put({**usual, "spec": {"taints": [{**TAINT, "key": "example.com/other"}]}})
    expect(True, "with another taint")
    t.bench.source.put_raw({**usual, "metadata": {**usual["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    expect(False, "being deleted")
    t.bench.daemon.stop()
    t.bench.source.delete(usual)
    t.bench.start_daemon()
    expect(False, "never seen")
    t.bench.source.put(usual)
    expect(True, "seen at last")


@case(114, "a changed or removed health check node port is closed; one that another process holds is reported, retried, and "
      "does not affect others", protocols=["tcp"])
def port_moves(t):
    service, port = checked(t, [ready(E1)])
    _, steady = checked(t, [ready(E1)])
    health.expect(t, port, 200)
    moved = port + 2000
    taken = netns_http.made_in(t.topology.namespace(NODE.place), lambda: listener(t.family, moved))
    t.defer(taken.close)
    service.update(health_port=moved)
    t.settle()
    t.wait_until(lambda: health.answer_of(t, port) is None, "the old port is closed")
    name = f"{service.namespace}/{service.name}"
    said = t.bench.daemon.wait_logged(name, f":{moved}", "in use")
    t.require(said is not None, f"no log line says that {moved} is in use")
    health.expect(t, steady, 200)
    taken.close()
    t.wait_until(lambda: (health.answer_of(t, moved) or [0])[0] == 200, "the new port is open", seconds=20)
    service.update(type="ClusterIP", health_port=None, external_policy=None, external=False)
    t.settle()
    t.wait_until(lambda: health.answer_of(t, moved) is None, "the port of what has none is closed")
    health.expect(t, steady, 200)


def listener(family, port):
    made = socket.socket(socket.AF_INET if family == V4 else socket.AF_INET6)
    if family == V6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("", port))
    made.listen()
    return made


@own_daemon(115, "with nodePortAddresses 127.0.0.0/8 the health check node port listens on 127.0.0.1 only",
            sources=["manifests"])
def loopback_only(t):
    restart_with(t, "--nodeport-addresses", "127.0.0.0/8")
    _, port = checked(t, [ready(E1)])
    inside = observed.url(LOOPBACK[V4], port, "/")
    t.wait_until(lambda: observed.ask(t, inside).status == 200, "it answers on 127.0.0.1")
    for ip in (NODE.v4, LOOPBACK[V6]):
        t.require(observed.ask(t, observed.url(ip, port, "/")) == observed.NO_ANSWER, f"it answers on {ip}")


@own_daemon(None, "every path of both addresses answers as specified, in both families, while Services change",
            sources=["manifests"])
def every_path(t):
    # A change that waits for two sync periods makes the daemon unhealthy: on a busy machine no change may wait that long.
    period = ["--ipvs-sync-period" if t.ipvs else "--iptables-sync-period", "60s"]
    restart_with(t, "--metrics-bind-address", "[::]:10249", "--profiling", *period)
    changing = t.service([ready(E1)])
    for family in (V4, V6):
        for path in ("/healthz", "/livez"):
            for method in ("GET", "HEAD", "POST", "DELETE", "BREW"):
                changing.set_endpoints([ready(E1 if method in ("GET", "POST") else E2)])
                answer = observed.health(t, path, method, family=family)
                t.require(answer.status == 200 and answer.headers["content-type"] == "application/json" and
                          answer.headers["x-content-type-options"] == "nosniff", f"{method} {path}: {answer}")
            eligible = '"nodeEligible":true,' if path == "/healthz" else ""
            status = ",".join(f'"{name}":{{"lastUpdated":"{TIME}","healthy":true}}' for name in BOTH)
            wanted = (f'{{"lastUpdated":"{TIME}","currentTime":"{TIME}",{eligible}'
                      f'"healthy":true,"status":{{{status}}}}}')
            body = observed.health(t, path, family=family).body
            t.require(re.fullmatch(wanted, body) is not None, f"{path} says {body}")
        for path in ("/", "/healthz/", "/metrics", "/livez/x"):
            t.require(observed.health(t, path, family=family).status == 404, f"{path} of the health address is not 404")
        ages = observed.health(t, "/sync", family=family)
        t.require(ages.status == 200 and set(ages.json()["families"]) == set(BOTH), f"/sync says {ages}")
        pages(t, family)
    verbosity(t)


def pages(t, family):
    def page(path, status=200):
        answer = observed.metrics(t, path, family=family)
        t.require(answer.status == status, f"{path}: {answer}")
        return answer

    text = page("/metrics")
    t.require(text.headers["content-type"] == CONTENT_TYPE, f"/metrics: {text.headers}")
    t.require("kubeproxy_proxy_healthz_total" in text.body, "/metrics lacks kubeproxy_proxy_healthz_total")
    t.require(page("/healthz").body == "ok", "/healthz of the metrics address is not ok")
    slis = page("/metrics/slis").body
    t.require('kubernetes_healthcheck{name="ping",type="healthz"} 1' in slis, f"/metrics/slis says {slis}")
    mode = page("/proxyMode")
    t.require(mode.body == t.bench.backend and mode.headers["content-type"] == "text/plain; charset=utf-8" and
              mode.headers["x-content-type-options"] == "nosniff", f"/proxyMode: {mode}")
    configuration = page("/configz").json()["kubeproxy.config.k8s.io"]
    t.require(configuration.get("kind") == "KubeProxyConfiguration" and
              configuration.get("metricsBindAddress") == "[::]:10249", f"/configz says {configuration}")
    t.require("metrics-bind-address=[::]:10249" in page("/flagz").body, "/flagz lacks a flag")
    status = page("/statusz").body
    t.require(status.startswith("\nsluiced statusz\nWarning: "), f"/statusz does not name the program: {status}")
    for words in ("Started: ", "Up: 0 hr 0", "Binary version: sluiced ", "Emulation version: 1.36", "Paths: /configz /flagz /healthz "):
        t.require(f"\n{words}" in status, f"/statusz lacks {words}: {status}")
    answer = observed.metrics(t, "/statusz", headers={"Accept": "application/json;as=Statusz;v=v1beta1;g=config.k8s.io"}, family=family)
    t.require(answer.headers["content-type"] == "application/json" and answer.json()["kind"] == "Statusz" and
              answer.json()["metadata"]["name"] == "sluiced", f"/statusz as JSON: {answer}")
    t.require("not a Go program" in page("/debug/pprof/heap", 404).body, "/debug/pprof does not give the reason")
    page("/nowhere", 404)


def verbosity(t):
    service = t.service([ready(E1)])
    t.settle()
    before = t.bench.daemon.log().count(" delta, ")
    answer = observed.set_verbosity(t, "4")
    t.require(answer.status == 200 and answer.body.endswith(" to 4\n"), f"verbosity 4: {answer}")
    service.set_endpoints([ready(E2)])
    t.wait_until(lambda: t.bench.daemon.log().count(" delta, ") > before, "lines of verbosity 4")
    t.require(observed.set_verbosity(t, "loud").status == 400, "a verbosity of \"loud\" is taken")
    t.require(observed.metrics(t, "/debug/flags/v").status == 406, "GET changes the verbosity")


@own_daemon(None, "an address that is in use: reported once, retried every few seconds; with bindAddressHardFail exit 1",
            sources=["manifests"])
def address_taken(t):
    t.bench.daemon.stop()
    taken = netns_http.made_in(t.topology.namespace(NODE.place), lambda: listener(V4, observed.HEALTH_PORT))
    t.defer(taken.close)
    daemon = t.bench.daemon
    flags = [*t.bench.flags, "--bind-address-hard-fail"]
    ended = daemon.run(daemon.command(t.bench.source.daemon_flags(), flags)[1:])
    t.require(ended.returncode == 1, f"with bindAddressHardFail it ends with {ended.returncode}")
    t.require(f"0.0.0.0:{observed.HEALTH_PORT}" in ended.stderr and "bindAddressHardFail" in ended.stderr,
              f"and says {ended.stderr[-300:]}")
    t.bench.start_daemon()
    said = daemon.wait_logged("cannot listen on", str(observed.HEALTH_PORT))
    t.require(said is not None, "no line about the address")
    service = t.service([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.require(observed.metrics(t, "/healthz").status == 200, "the metrics address suffers")
    taken.close()
    observed.wait_status(t, 200, seconds=20)
    t.require(daemon.log().count("cannot listen on") == 1, "it was reported more than once")


CROWDS = {"silent": 10_000, "half": 500, "oversized": 500, "malformed": 500}
READERS = 500
PROBES = 200
# Of both addresses: 128 clients each with a request buffer, and 2 MiB of unread answers.
GROWTH_KIB = 8 << 10


@own_daemon(None, f"{CROWDS['silent']} idle clients, and hundreds of slow, oversized and malformed ones, delay no client "
            "and cost the daemon almost nothing", sources=["apiserver"])
def crowds(t):
    restart_with(t, "--metrics-bind-address", "0.0.0.0:10249")
    service = t.service([ready(E1)])
    t.settle()
    # The first requests allocate memory that stays.
    quiet = sorted(probe_times(t, 50))
    for _ in range(10):
        observed.metrics(t)
    before = resources(t)
    running = [(crowd(t, kind, count, observed.HEALTH_PORT), count) for kind, count in CROWDS.items()]
    running.append((crowd(t, "unread", READERS, observed.METRICS_PORT), READERS))
    times = []
    while any(process.poll() is None and not arrived(process) for process, _ in running) or len(times) < PROBES:
        times += probe_times(t, 20)
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))
    t.require(observed.metrics(t).status == 200, "metrics are not served")
    after = resources(t)
    for process, count in running:
        made = int(process.said.split()[1])
        # A server may reject an unreadable request before all of it is sent.
        refusable = process.kind in ("oversized", "malformed")
        t.require(refusable or made == count, f"{made} of {count} {process.kind} clients")
    times.sort()
    worst = times[len(times) * 99 // 100]
    print(f"# crowds: {len(times)} probes meanwhile: median {statistics.median(times) * 1000:.1f} ms, "
          f"99 % within {worst * 1000:.1f} ms (quiet: {statistics.median(quiet) * 1000:.1f} ms); resident "
          f"{before[0]} KiB before, {after[0]} KiB after; descriptors {before[1]} and {after[1]}", flush=True)
    # A client that delays others does so for its timeout of 10 s or more; a busy machine delays all clients.
    t.require(worst < t.busiest.stretched(2), f"99 % of the probes were answered within {worst:.2f} s only")
    t.require(after[0] - before[0] < GROWTH_KIB or WATCHED, f"resident memory grew from {before[0]} KiB to {after[0]} KiB")
    t.require(after[1] - before[1] < 300, f"open descriptors: {before[1]} before, {after[1]} after")


class Crowd(subprocess.Popen):
    kind = ""
    said = ""


def crowd(t, kind, count, port):
    program = os.path.join(os.path.dirname(os.path.abspath(netns_http.__file__)), "idle_clients.py")
    words = [sys.executable, program, kind, str(count), NODE.ip(t.family), str(port)]
    process = Crowd(shell.inside(t.topology.namespace(EXT.place), words), text=True, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE)
    os.set_blocking(process.stdout.fileno(), False)
    process.kind = kind
    t.defer(lambda: shell.stop(process))
    return process


def arrived(process):
    try:
        process.said += os.read(process.stdout.fileno(), 100).decode()
    except BlockingIOError:
        # Not yet.
        pass
    return process.said.endswith("\n")


def probe_times(t, count):
    """Seconds that /healthz takes on a new connection each; infinite for a probe without an answer."""
    out = []
    for _ in range(count):
        began = time.monotonic()
        place = t.topology.namespace(EXT.place)
        connection = netns_http.NamespaceConnection(place, NODE.ip(t.family), observed.HEALTH_PORT)
        try:
            connection.request("GET", "/healthz")
            answered = connection.getresponse().status == 200
        except OSError:
            answered = False
        connection.close()
        out.append(time.monotonic() - began if answered else math.inf)
    return out


def resources(t):
    """(its private resident memory in KiB, open descriptors)"""
    process = f"/proc/{t.bench.daemon.pid}"
    with open(f"{process}/status", encoding="ascii") as file:
        memory = next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))
    return memory, len(os.listdir(f"{process}/fd"))
