# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""`sluicectl services`: destinations of packets, the endpoints in use, and the reasons."""

import json
import os
import re

from lib.addresses import E1, E2, FAMILIES, NODE, POD_PORT, V4, V6
from lib.cases import Skip, case, own_daemon
from lib.objects import not_ready, ready, terminating
from lib.profile import BUILT_IN
from cases_affinity import remembering

BOTH = [ready(E1), ready(E2)]
SOURCES = {"protocols": ["tcp"], "sources": ["manifests"]}
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schemas", "sluicectl-services.schema.json")


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


def document(t, *words):
    """The objects of one family, validated against the published schema."""
    import jsonschema  # here, because the conformance kit has these cases and does without
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    done = ask(t, *words, "--family", number(t.family), "-o", "json")
    t.require(done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema).validate(answer)
    return answer["families"][0]


def lines(t, *words):
    """The lines of one family, without the heading."""
    done = ask(t, *words, "--family", number(t.family))
    t.require(done.returncode == 0 and not done.stderr, f"{words}: status {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()[1:]


def expect_given(t, service, *rest):
    """Exactly these lines about the backend's input, each (frontend, or None for the node port; what follows)."""
    name = f"{service.namespace}/{service.name}"
    wanted = []
    for front, text in rest:
        where = host_port(front.ip, front.port) if front else f":{service.node_port}"
        at = "" if front else f" {node_port_addresses(t)}"
        wanted.append(f"{name}:p80 {where}/{t.protocol}{at} {text}")
    found = [line for line in lines(t, name, "--no-kernel") if not line.startswith("  ")]
    t.require(sorted(found) == sorted(wanted), "\n".join([f"{name} says:", *found, "and not:", *wanted]))


def node_port_addresses(t):
    """The text of a line for the addresses of node ports."""
    found = re.search(r"/(?:tcp|udp) (at (?:every address of this node|no address|[0-9a-f.:]+(?:, [0-9a-f.:]+)*)) ",
                      "\n".join(lines(t, "--no-kernel")))
    t.require(found, "no node port")
    return found.group(1)


@case(None, "every address of a Service has a line with its endpoints, policies, affinity and source ranges; a backend that "
      "reads back the kernel finds its input there", **SOURCES)
def lines_of_services(t):
    plain = t.service(BOTH, type="LoadBalancer", external=True)
    local = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local")
    remote = t.service([ready(E2)], type="LoadBalancer", vip=True, external_policy="Local")
    inside = t.service([ready(E2)], internal_policy="Local")
    empty = t.service()
    sticky = t.service(BOTH, spec=remembering())
    ranged = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    everything = [plain, local, remote, inside, empty, sticky, ranged]
    t.settle()
    both, masqueraded = f"-> {pods(t, E1, E2)}", f"masqueraded -> {pods(t, E1, E2)}"
    expect_given(t, plain, (plain.cluster(), both), (plain.external(), masqueraded), (plain.vip(), masqueraded),
                 (None, masqueraded))
    expect_given(t, local, (local.cluster(), both), (None, f"-> {pods(t, E1)}; from this node {both}"))
    expect_given(t, remote, (remote.cluster(), f"-> {pods(t, E2)}"),
                 (remote.vip(), f"from this node -> {pods(t, E2)}; else no endpoints on this node"))
    expect_given(t, inside, (inside.cluster(), "-> no endpoints on this node"))
    expect_given(t, empty, (empty.cluster(), "-> no endpoints"))
    expect_given(t, sticky, (sticky.cluster(), f"sticky for 10800 s {both}"))
    expect_given(t, ranged, (ranged.cluster(), both), (ranged.vip(), f"{masqueraded}; only for {CLIENTS[t.family]}"))
    plain.set_endpoints([ready(E2)])
    t.settle()
    less = f"-> {pods(t, E2)}"
    expect_given(t, plain, (plain.cluster(), less), (plain.external(), f"masqueraded {less}"),
                 (plain.vip(), f"masqueraded {less}"), (None, f"masqueraded {less}"))
    for service in everything:
        expect_agreement(t, service)


def expect_agreement(t, service):
    """The kernel was read back, and leads every frontend to the endpoints of the backend's input."""
    name = f"{service.namespace}/{service.name}"
    found = document(t, name)
    t.require(found["view"] == "kernel" and found["backend"] == t.bench.backend, f"{name}: {found['view']} of {found['backend']}")
    frontends = [frontend for port in found["service_ports"] for frontend in port["frontends"]]
    t.require(frontends, f"{name} has no frontend")
    odd = [frontend for frontend in frontends if frontend["kernel"] != "AsGiven"]
    t.require(not odd, f"{name}: {odd}")
    for frontend in frontends:
        expect_same_values(t, frontend)


def expect_same_values(t, frontend):
    """The values of the backend say what its line says. A plugin may have lines only."""
    line, row = frontend["kernel_line"], frontend["kernel_frontend"]
    if row is None:
        t.require(t.bench.backend not in BUILT_IN, f"no values for {line}")
        return
    listed = row["targets"]["endpoints"] + row["targets_from_this_node"]["endpoints"]
    missing = [one for one in listed if host_port(one["address"], one["port"]) not in line]
    t.require(not missing, f"{missing} is not in {line}")
    t.require(line.count(" -> ") == 0 or listed or row["without_target_text"], f"{line}, but no endpoints: {row}")
    same = (row["masqueraded"] == (" masqueraded" in line) and row["node_port"] == (frontend["kind"] == "NodePort") and
            row["restricted"] == ("; only for " in line) and row["port"] == frontend["port"] and
            (row["session_affinity_seconds"] != 0) == (" sticky for " in line))
    t.require(same, f"{line}, but {row}")


@case(None, "an unused endpoint has the reason, on the page and in the document", **SOURCES)
def reasons(t):
    service = t.service([ready(E1), not_ready(E2)])
    t.settle()
    name = f"{service.namespace}/{service.name}"
    first, second = (host_port(host.ip(t.family), POD_PORT) for host in (E1, E2))
    page = lines(t, name)
    t.require(any(line.startswith(f"  endpoint {first}") and line.endswith(": used") for line in page), f"{page}")
    t.require(any(line.startswith(f"  endpoint {second}") and line.endswith(": not used: not ready") for line in page), f"{page}")
    uses = {one["address"]: (one["cluster_list"], one["ready"], one["on_this_node"]) for one in document(t, name)["service_ports"][0]["endpoints"]}
    t.require(uses == {E1.ip(t.family): ("Used", True, True), E2.ip(t.family): ("NotReady", False, False)}, f"{uses}")
    service.set_endpoints([ready(E1), terminating(E2)])
    t.settle()
    t.require(any(": not used: terminating, and others are ready" in line for line in lines(t, name)), f"{lines(t, name)}")


@own_daemon(None, "Services are selected by name, namespace, address, endpoint, node port and family, as page, JSON and YAML; if "
            "nothing matches, the exit status is 1 and an error says so", families=[V4], **SOURCES)
def chosen(t):
    import yaml  # here, because the conformance kit does without
    # Both families: otherwise one of them has no lines.
    one = t.service([ready(E2)], families=FAMILIES, ports=[("a", 81, POD_PORT), ("b", 82, POD_PORT)])
    other = t.service([ready(E1)], type="LoadBalancer", node_port=True, vip=True)
    alias = t.service([ready(E1)], spec={"type": "ExternalName", "externalName": "example.com"})
    t.settle()
    name, other_name = (f"{service.namespace}/{service.name}" for service in (one, other))
    page = ask(t, name)
    t.require([line.split(" ")[0] for line in page.stdout.splitlines() if line.startswith(name)] ==
              [f"{name}:a", f"{name}:b"] * 2, page.stdout)
    for words, expected in (((f"{name}:b",), {name}), ((one.namespace,), {name}), ((other.vip().ip,), {other_name}),
                            ((f"{other.vip().ip}:{other.vip().port}/tcp",), {other_name}), ((E2.ip(V4),), {name}),
                            ((f"{E1.ip(V4)}:{POD_PORT}",), {other_name}), ((f":{other.node_port}",), {other_name}),
                            ((str(other.node_port),), {other_name}), ((f"{NODE.ip(V4)}:{other.node_port}",), {other_name})):
        found = {f"{port['namespace']}/{port['service']}" for port in document(t, *words)["service_ports"]}
        t.require(found == expected, f"{words}: {found}, not {expected}")
    both = {f"{port['namespace']}/{port['service']}" for port in document(t, one.name)["service_ports"]}
    t.require(one.name == other.name and {name, other_name} <= both, f"{both}")
    answers = {output: ask(t, name, "-o", output).stdout for output in ("json", "yaml")}
    t.require(json.loads(answers["json"]) == yaml.safe_load(answers["yaml"]), answers["yaml"])
    t.require([part["family"] for part in json.loads(answers["json"])["families"]] == ["IPv4", "IPv6"], answers["json"])
    everything = ask(t, "--family", "4")
    t.require(everything.returncode == 0 and name in everything.stdout and other_name in everything.stdout, everything.stdout)
    t.require("IPv6" not in everything.stdout and "not wanted by any Service" not in everything.stdout, everything.stdout)
    aliased = ask(t, f"{alias.namespace}/{alias.name}")
    t.require(f"{alias.namespace}/{alias.name} is not proxied: its type is ExternalName" in aliased.stdout, f"{aliased}")
    for words, status, sentence in ((["no/such"], 1, "nothing matches no/such"), (["a/b/c"], 1, "use NAMESPACE/NAME[:PORT]"),
                                    (["--family", "5"], 2, "allowed: 4, 6"), (["172.30.99.99"], 1, "nothing matches 172.30.99.99")):
        done = ask(t, *words)
        t.require(done.returncode == status and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
