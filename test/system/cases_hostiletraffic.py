# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A user that controls Services and EndpointSlices of one namespace receives no traffic of another Service, of the node or of
the API server beyond what the API allows. Objects are stored unchecked: the API server would reject some of them."""

import http.client
import ssl
import time

from lib import netns_http
from lib.addresses import E1, E2, E4, EXT, FAMILIES, LOOPBACK, NODE as FIRST, NODE2, POD_PORT, V4, V6, Allocator
from lib.apiserver import PORT as API_PORT
from lib.cases import NODE, POD, REJECTED, case, kept, masqueraded, untouched
from lib.hostile import CONFIG, LONG, restart, settle
from lib.objects import Endpoint, port, ready
from lib.services import Front

ONLY = {"config": CONFIG, "protocols": ["tcp"], "sources": ["apiserver"], "exclusive": True, "legacy": ("ipvs",)}
V4_ONLY = {**ONLY, "families": [V4]}
BOTH_IN_LONG = {**ONLY, "families": FAMILIES if LONG else [V4]}
# Addresses that are invalid for Services and endpoints: of the node itself, of no host, of many hosts.
SPECIAL = {V4: ["127.0.0.1", "0.0.0.0", "224.0.0.1", "169.254.7.7"], V6: ["::1", "::", "ff02::1", "fe80::7"]}

LINK_LOCAL = ("169.254.", "fe80:")


def claim(thief, *ips):
    """Gives the Service these addresses as external IPs, and the valid ones as load balancer addresses."""
    thief.update(type="LoadBalancer", spec={"externalIPs": list(ips)},
                 ingress=[{"ip": ip, "ipMode": "VIP"} for ip in ips if not ip.startswith(LINK_LOCAL)])


def named(t, namespace, *texts):
    """Each of the texts is in a log line that names an object of the namespace."""
    def missing():
        lines = [line for line in t.bench.daemon.log().splitlines() if f"{namespace}/" in line]
        return [text for text in texts if not any(text in line for line in lines)]

    t.wait_until(lambda: not missing(), f"no line names {namespace} and one of {', '.join(texts)}")


@case(None, "no external or load balancer address takes over the cluster IP of another Service: with or without endpoints, "
      "created before or after it, also after a restart", **BOTH_IN_LONG)
def cluster_ip_is_its_own(t):
    early, empty = t.service([ready(E1)]), t.service([])
    thief = t.service([ready(E2)])
    claim(thief, early.cluster().ip, empty.cluster().ip, Allocator.cluster_ip(thief.number + 1, t.family))
    settle(t)
    late = t.service([ready(E1)])
    settle(t)

    def check():
        t.expect(POD, [early.cluster(), late.cluster()], kept(E1))
        t.expect(NODE, [early.cluster(), late.cluster()], masqueraded(E1))
        t.expect(POD, empty.cluster(), REJECTED)
        t.expect(POD, thief.cluster(), kept(E2))

    check()
    named(t, thief.namespace, *(victim.cluster().ip for victim in (early, empty, late)))
    restart(t)
    check()
    # An address without another owner is served again: the API allows every external IP.
    early.delete()
    settle(t)
    t.expect(POD, early.cluster(), masqueraded(E2))


@case(None, "the address of another Service's endpoint as external IP and load balancer address: that Service still reaches its "
      "endpoint, from pods, from the node and from outside", **BOTH_IN_LONG)
def endpoint_of_another(t):
    victim = t.service([ready(E1)], type="LoadBalancer", external=True)
    thief = t.service([ready(E2)])
    claim(thief, E1.ip(t.family), thief.vip().ip)
    settle(t)
    t.expect(POD, thief.vip(), masqueraded(E2))
    t.expect(POD, victim.cluster(), kept(E1))
    t.expect(NODE, victim.cluster(), masqueraded(E1))
    t.expect(EXT, [victim.vip(), *victim.node_ports()], masqueraded(E1))


@case(None, "two Services with one external address and port: the first keeps it, the log names both, the oldest has it after a "
      "restart, the second gets it when the first goes", **BOTH_IN_LONG)
def first_keeps_external_address(t):
    first = t.service([ready(E1)], external=True, type="LoadBalancer")
    settle(t)
    # Creation timestamps of the API server are whole seconds.
    began = int(time.time())
    t.wait_until(lambda: int(time.time()) > began, "the next second begins")
    second = t.service([ready(E2)])
    claim(second, first.external().ip, first.vip().ip)
    settle(t)

    def check(owner):
        t.expect(EXT, [first.external(), first.vip()], masqueraded(owner))

    check(E1)
    t.expect(POD, second.cluster(), kept(E2))
    named(t, second.namespace, first.external().ip, first.vip().ip)
    restart(t)
    check(E1)
    first.delete()
    settle(t)
    check(E2)


@case(None, "two Services with one node port: the first keeps it, the log names both, the second gets it when the first goes",
      **V4_ONLY)
def first_keeps_node_port(t):
    first = t.service([ready(E1)], type="NodePort", node_port=True)
    settle(t)
    second = t.service([ready(E2)], type="NodePort", spec={
        "ports": [port("p80", 80, t.protocol, targetPort=POD_PORT, nodePort=first.node_port)]})
    settle(t)
    t.expect(EXT, first.node(), masqueraded(E1))
    t.expect(POD, second.cluster(), kept(E2))
    named(t, second.namespace, str(first.node_port))
    first.delete()
    settle(t)
    t.expect(EXT, first.node(), masqueraded(E2))


@case(None, "loopback, unspecified, multicast and link-local addresses are not served for a Service: a listener there on the "
      "node is reached as before", **V4_ONLY)
def special_frontends(t):
    thief = t.service([ready(E2)])
    number = thief.node_port
    server = t.listen("node", f"local-{number}", number, [LOOPBACK[V4]])
    thief.update(ports=[("p80", number, POD_PORT)])
    claim(thief, *SPECIAL[V4], *SPECIAL[V6], thief.vip().ip)
    settle(t)
    t.expect(NODE, Front(LOOPBACK[V4], number, t.protocol), untouched(server))
    t.expect(POD, Front(thief.vip().ip, number, t.protocol), masqueraded(E2))
    text = t.bench.daemon.services(f"{thief.namespace}/{thief.name}").stdout
    t.require(thief.vip().ip in text, f"the Service is not listed: {text}")
    for ip in SPECIAL[V4] + SPECIAL[V6]:
        t.require(f" {ip}:" not in text and f"[{ip}]:" not in text, f"{ip} is an address of a Service: {text}")
    named(t, thief.namespace, *(f'"{ip}"' for ip in SPECIAL[V4] + SPECIAL[V6]))


@case(None, "loopback, unspecified, multicast and link-local addresses are no endpoints: nothing that listens on the node's loopback "
      "address can be reached through a Service; an address of the node can", **V4_ONLY)
def special_endpoints(t):
    number = Allocator.node_port(t.bench.allocator.number())
    local = t.listen("node", f"local-{number}", number, [LOOPBACK[V4]])
    own = t.listen("node", f"own-{number}", number, [FIRST.ip(V4)])
    mixed = t.service(ports=[("p80", 80, number)])
    only = t.service(ports=[("p80", 80, number)])
    bad = [Endpoint(E1, address=ip) for ip in SPECIAL[V4]]
    only.set_endpoints(bad)
    mixed.set_endpoints([*bad, Endpoint(E1, address=FIRST.ip(V4))])
    settle(t)
    t.expect(POD, only.cluster(), REJECTED)
    t.expect(POD, mixed.cluster(), kept(own))
    t.expect(NODE, Front(LOOPBACK[V4], number, t.protocol), untouched(local))
    named(t, only.namespace, *(f'"{ip}"' for ip in SPECIAL[V4]))


def api_answers(t, place):
    """The status code of the API server for a client there that verifies its certificate; 0 without an answer."""
    tls = ssl.create_default_context(cafile=f"{t.bench.source.tls_dir}/ca.crt")
    tls.load_cert_chain(f"{t.bench.source.tls_dir}/client.crt", f"{t.bench.source.tls_dir}/client.key")
    connection = netns_http.NamespaceConnection(t.topology.namespace(place), NODE2.v4, API_PORT, tls)
    try:
        connection.request("GET", "/version")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


@case(None, "no Service takes over the address and port of the API server: node and pods still reach it, and "
      "the daemon connects again after its watches end", **V4_ONLY)
def api_server_is_its_own(t):
    thief = t.service([ready(E2)], ports=[("p80", API_PORT, POD_PORT)])
    thief.update(external_ip=True, spec={"externalIPs": [NODE2.v4, thief.external().ip]})
    settle(t)
    t.expect(POD, Front(thief.external().ip, API_PORT, t.protocol), masqueraded(E2))
    for place in ("node", POD.place):
        t.require(api_answers(t, place) == 200, f"the API server does not answer a client on {place}")
    named(t, thief.namespace, f"{NODE2.v4}:{API_PORT}")
    t.bench.source.cut()
    later = t.service([ready(E1)])
    settle(t)
    t.expect(POD, later.cluster(), kept(E1))


@case(None, "ExternalName and Services without selector leak nothing: a Service that becomes ExternalName has no address, slices "
      "of one namespace are no endpoints of a Service in another", **V4_ONLY)
def external_name_and_selectorless(t):
    victim = t.service([ready(E1)])
    thief = t.service([ready(E1), ready(E4)], name="svc1")  # of the victim's endpoints: the API allows it
    settle(t)
    t.expect(POD, thief.cluster(), kept(E1, E4))
    # The victim's name, in the tenant's own namespace and as a path out of it.
    for number, label in enumerate((victim.name, f"{victim.namespace}/{victim.name}", f"../{victim.namespace}/{victim.name}")):
        made = thief.slice_object()
        thief.put_slice({**made, "metadata": {"namespace": thief.namespace, "name": f"{victim.name}-slice{number}",
                                              "labels": {"kubernetes.io/service-name": label}},
                         "endpoints": [ready(E2).as_object(V4)]}, f"slice-{number}")
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
    claim(thief, victim.cluster().ip, thief.vip().ip)
    thief.update(type="ExternalName", spec={"externalName": f"{victim.name}.{victim.namespace}.svc.cluster.local",
                                            "externalIPs": [victim.cluster().ip, thief.external().ip]})
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
    text = t.bench.daemon.services(f"{thief.namespace}/{thief.name}").stdout
    t.require(thief.cluster().ip not in text, f"an ExternalName Service has addresses: {text}")
    thief.delete()
    settle(t)
    t.expect(POD, victim.cluster(), kept(E1))
