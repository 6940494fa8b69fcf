# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 63–72: node ports, and the node addresses that serve them."""

from lib import outcomes, probe
from lib.addresses import E1, E2, LOOPBACK, NEIGHBOUR, NODE as FIRST, NODE_SECOND, V4, V6
from lib.cases import DROPPED, EXT, NODE, POD, VACANT, case, masqueraded, untouched
from lib.differences import NEVER_LOOPBACK, PRIMARY_ONLY
from lib.objects import ready
from lib.services import Front

NEEDS = ("node-ports",)
BOTH = [ready(E1), ready(E2)]


def node_port_service(t):
    return t.service(BOTH, type="NodePort", node_port=True)


def route_localnet(t):
    return t.topology.run("node", "sysctl", "-n", "net.ipv4.conf.all.route_localnet").stdout.strip()


def expect_localnet(t, served):
    """If 127.0.0.1 is not served the setting stays as it is; if it is, the backend sets the value that it needs."""
    wanted = t.bench.profile.localnet if served else "0"
    t.require(wanted in (None, route_localnet(t)), f"route_localnet is {route_localnet(t)}")


def expect_untouched_at(t, sender, service, ip, held=False):
    """A process of the node listens on that address and port: it, and not the Service, gets the connection. Where the
    proxy holds the port on every address, there can be no such process: the connection fails."""
    if held:
        t.expect(sender, service.at(ip), VACANT)
        return
    name = t.listen("node", f"listener-{service.node_port}", service.node_port, [ip])
    t.expect(sender, service.at(ip), untouched(name))


@case(63, "by default a node port answers on every local address, 127.0.0.1 included, and on no other", legacy=True)
def default_addresses(t):
    service = node_port_service(t)
    pod_listener = t.listen(E1.name, "e1-itself", service.node_port)
    t.settle()
    t.expect([EXT, POD], service.node(FIRST), masqueraded(E1, E2))
    if t.differs(PRIMARY_ONLY, True, False):
        t.expect([EXT, POD], service.node(NODE_SECOND), masqueraded(E1, E2))
    else:
        expect_untouched_at(t, EXT, service, NODE_SECOND.ip(t.family))
    t.expect(POD, service.at(E1.ip(t.family)), untouched(pod_listener))
    served = t.differs(NEVER_LOOPBACK, True, False)
    if t.family == V4:
        expect_localnet(t, served)
    if t.family == V4 and served:
        t.expect(NODE, service.at(LOOPBACK[V4]), masqueraded(E1, E2))
    elif t.family == V4:
        expect_untouched_at(t, NODE, service, LOOPBACK[V4])
    else:
        expect_untouched_at(t, NODE, service, LOOPBACK[V6], held=t.relayed)


@case(64, "--iptables-localhost-nodeports=false: 127.0.0.1 is left alone and route_localnet is not set",
      config="no-localhost-nodeports", families=[V4], sources=["manifests"],
      backends=["iptables", "userspace"])
def no_localhost_node_ports(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(), masqueraded(E1, E2))
    expect_untouched_at(t, NODE, service, LOOPBACK[V4], held=t.relayed)
    t.require(route_localnet(t) == "0", "route_localnet is set")


@case(65, "node port addresses of one subnet: only the node's address in it serves", config="nodeports-one-subnet",
      sources=["manifests"])
def one_subnet(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(FIRST), masqueraded(E1, E2))
    expect_untouched_at(t, EXT, service, NODE_SECOND.ip(t.family))
    expect_untouched_at(t, NODE, service, LOOPBACK[t.family])
    t.require(route_localnet(t) == "0", "route_localnet is set")


@case(66, "a subnet and the loopback range: both serve", config="nodeports-with-loopback", families=[V4],
      sources=["manifests"])
def subnet_and_loopback(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(FIRST), masqueraded(E1, E2))
    if t.differs(NEVER_LOOPBACK, True, False):
        t.expect(NODE, service.at(LOOPBACK[V4]), masqueraded(E1, E2))
    else:
        expect_untouched_at(t, NODE, service, LOOPBACK[V4])
    expect_untouched_at(t, EXT, service, NODE_SECOND.ip(V4))


@case(67, "only IPv6 ranges, one of them ::/0: both families serve on every address",
      config="nodeports-only-ipv6", sources=["manifests"])
def only_ipv6_ranges(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, [service.node(FIRST), service.node(NODE_SECOND)], masqueraded(E1, E2))


@case(68, "::1 among the node port addresses is skipped, and the log says so", config="nodeports-with-loopback",
      families=[V6], sources=["manifests"])
def loopback_v6_skipped(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(FIRST), masqueraded(E1, E2))
    expect_untouched_at(t, NODE, service, LOOPBACK[V6])
    t.require(t.bench.daemon.wait_logged("::1", seconds=3) is not None, "no log line names ::1")


@case(69, "`primary` means the addresses of the Node object", config="nodeports-primary")
def primary(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(FIRST), masqueraded(E1, E2))
    expect_untouched_at(t, EXT, service, NODE_SECOND.ip(t.family))


@case(70, "127.0.0.1 never serves a node port", families=[V4], backends=["ipvs", "nftables"])
def loopback_never_served(t):
    service = node_port_service(t)
    t.settle()
    t.expect(EXT, service.node(), masqueraded(E1, E2))
    expect_untouched_at(t, NODE, service, LOOPBACK[V4])


@case(71, "a Service's external IP on the node takes precedence over another Service's node port of the same number", legacy=True)
def service_ip_wins(t):
    node_port = t.service([ready(E2)], type="NodePort", node_port=True)
    address = FIRST.ip(t.family)
    t.service([ready(E1)], spec={"externalIPs": [address]}, ports=[("p80", node_port.node_port, 80)])
    t.settle()
    t.expect(EXT, node_port.at(address), masqueraded(E1))
    t.expect(EXT, node_port.node(NODE_SECOND), t.differs(PRIMARY_ONLY, masqueraded(E2), VACANT))


@case(72, "a neighbour cannot reach a loopback listener, whether or not route_localnet has to be set", families=[V4],
      legacy=True)
def neighbour_to_loopback(t):
    service = node_port_service(t)
    t.settle()
    expect_localnet(t, t.differs(NEVER_LOOPBACK, True, False))
    port = 20000 + service.number
    private = t.listen("node", f"private-{port}", port, [LOOPBACK[V4]])
    t.expect(NODE, Front(LOOPBACK[V4], port, t.protocol), untouched(private))
    lines = probe.ask(t.topology, NEIGHBOUR, t.protocol, LOOPBACK[V4], port, V4, count=2, timeout_ms=350)
    wrong = outcomes.mismatch(DROPPED, lines, NEIGHBOUR.ip(V4), V4)
    t.require(wrong is None, f"from the neighbour: {wrong}")
