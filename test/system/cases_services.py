# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""`sluicectl services`: where packets go, in words. In mode nftables it is read from the kernel."""

import json

from lib.addresses import E1, E2, FAMILIES, POD_PORT, V4, V6
from lib.cases import Skip, case, own_daemon
from lib.objects import ready
from cases_affinity import remembering

BOTH = [ready(E1), ready(E2)]
SOURCES = {"protocols": ["tcp"], "sources": ["manifests"]}
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
DROPPED = "dropped, no endpoints on this node"


def ask(t, *words):
    if not t.has_status:
        raise Skip("the program under test has no sluicectl")
    return t.bench.daemon.services(*words)


def number(family):
    return "4" if family == V4 else "6"


def host_port(ip, port):
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def pods(t, *hosts):
    return ", ".join(sorted(host_port(host.ip(t.family), POD_PORT) for host in hosts))


def expect_lines(t, service, *rest):
    """Exactly these lines about the service, each (frontend, or None for the node port; what follows)."""
    name = f"{service.namespace}/{service.name}"
    wanted = []
    for front, text in rest:
        where = host_port(front.ip, front.port) if front else f":{service.node_port}"
        wanted.append(f"{name}:p80 {where}/{t.protocol} {text}")
    heading = {False: "what the kernel has, read by backend nftables:", True: "; the kernel has not been read:"}
    for told in (True, False):
        done = ask(t, name, "--family", number(t.family), *(["--told"] if told else []))
        t.require(done.returncode == 0 and not done.stderr, f"{name}: status {done.returncode}: {done.stderr}")
        first, *lines = done.stdout.splitlines()
        ending = heading[told or t.bench.backend != "nftables"]
        t.require(first.endswith(ending), f"the heading does not end in '{ending}': {first}")
        t.require(sorted(lines) == sorted(wanted), "\n".join([f"{name}{' --told' if told else ''} says:", *lines,
                                                              "and not:", *wanted]))


@case(None, "every address of a Service has a line with its endpoints, policies, affinity and source ranges; in mode "
      "nftables the kernel has what the backend has been told", **SOURCES)
def lines_of_services(t):
    plain = t.service(BOTH, type="LoadBalancer", external=True)
    local = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local")
    remote = t.service([ready(E2)], type="LoadBalancer", vip=True, external_policy="Local")
    inside = t.service([ready(E2)], internal_policy="Local")
    empty = t.service()
    sticky = t.service(BOTH, spec=remembering())
    ranged = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    t.settle()
    both, masqueraded = f"-> {pods(t, E1, E2)}", f"masqueraded -> {pods(t, E1, E2)}"
    expect_lines(t, plain, (plain.cluster(), both), (plain.external(), masqueraded), (plain.vip(), masqueraded),
                 (None, masqueraded))
    expect_lines(t, local, (local.cluster(), both), (None, f"-> {pods(t, E1)}; from this node {both}"))
    expect_lines(t, remote, (remote.cluster(), f"-> {pods(t, E2)}"),
                 (remote.vip(), f"from this node -> {pods(t, E2)}; else {DROPPED}"))
    expect_lines(t, inside, (inside.cluster(), f"-> {DROPPED}"))
    expect_lines(t, empty, (empty.cluster(), "-> rejected, no endpoints"))
    expect_lines(t, sticky, (sticky.cluster(), f"sticky for 10800 s {both}"))
    expect_lines(t, ranged, (ranged.cluster(), both), (ranged.vip(), f"{masqueraded}; only for {CLIENTS[t.family]}"))
    plain.set_endpoints([ready(E2)])
    t.settle()
    less = f"-> {pods(t, E2)}"
    expect_lines(t, plain, (plain.cluster(), less), (plain.external(), f"masqueraded {less}"),
                 (plain.vip(), f"masqueraded {less}"), (None, f"masqueraded {less}"))


@own_daemon(None, "Services are chosen by name, port and family, as a page and as a document; what is not there is said, with status 1",
            families=[V4], **SOURCES)
def chosen(t):
    # Both families: otherwise one of them has nothing to say.
    one = t.service(BOTH, families=FAMILIES, ports=[("a", 81, POD_PORT), ("b", 82, POD_PORT)])
    t.service(BOTH)
    t.settle()
    name = f"{one.namespace}/{one.name}"
    page = ask(t, name)
    t.require([line.split(" ")[0] for line in page.stdout.splitlines() if line.startswith(name)] ==
              [f"{name}:a", f"{name}:b"] * 2, page.stdout)
    document = json.loads(ask(t, f"{name}:b", "--json").stdout)["families"]
    t.require([part["family"] for part in document] == ["IPv4", "IPv6"], document)
    view = "kernel" if t.bench.backend == "nftables" else "told"
    for part in document:
        t.require(part["view"] == view and part["backend"] == t.bench.backend, part)
        for line in part["lines"]:
            t.require(line.startswith(f"{name}:b "), line)
    t.require(len(document[0]["lines"]) == 1, document)
    everything = ask(t, "--family", "4")
    t.require(everything.returncode == 0 and "svc1:p80 " in everything.stdout and name in everything.stdout, everything.stdout)
    t.require("IPv6" not in everything.stdout, everything.stdout)
    t.require("of nobody" not in everything.stdout, everything.stdout)
    for words, status, sentence in ((["no/such"], 1, "no/such is not among them"), (["such"], 2, "NAMESPACE/NAME"),
                                    (["--family", "5"], 2, "allowed: 4, 6")):
        done = ask(t, *words)
        t.require(done.returncode == status and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
