# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 54–62: load balancer addresses and the ranges of clients that may use them."""

from lib.addresses import CLUSTER_CIDR, E1, E2, EXT_OTHER, NODE as FIRST, V4, V6, Allocator, Host
from lib.cases import DROPPED, EXT, NODE, POD, UNTOUCHED, case, kept, masqueraded
from lib.differences import NODE_PASSES_RANGES, NO_LOCAL
from lib.objects import not_ready, ready
from lib.services import CLUSTER_PORT, Front

BOTH = [ready(E1), ready(E2)]
ONLY_REMOTE = [not_ready(E1), ready(E2)]
# Each contains the address of EXT and not that of EXT_OTHER.
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
NODES = {V4: "192.168.0.0/24", V6: "fd00:192:168::/64"}
ANY_ADDRESS = {V4: "0.0.0.0/0", V6: "::/0"}
OTHER_FAMILY = {V4: V6, V6: V4}


def balanced(t, endpoints, **wanted):
    return t.service(endpoints, type="LoadBalancer", external=True, **wanted)


def second_vip(t, family=None):
    return Front(Allocator.vip(t.bench.allocator.number(), family or t.family), CLUSTER_PORT, t.protocol)


@case(54, "ipMode VIP, or none: the node serves the address; ipMode Proxy: the address is left alone, node ports work",
      needs=("node-ports",))
def ip_mode(t):
    unset, virtual, proxied = (balanced(t, BOTH) for _ in range(3))
    for service, mode in ((unset, {}), (virtual, {"ipMode": "VIP"}), (proxied, {"ipMode": "Proxy"})):
        service.update(ingress=[{"ip": service.vip().ip, **mode}])
    t.settle()
    t.expect([EXT, POD], [unset.vip(), virtual.vip()], masqueraded(E1, E2))
    t.expect([EXT, POD], proxied.vip(), UNTOUCHED)
    t.expect(EXT, proxied.node(), masqueraded(E1, E2))


@case(55, "an ingress that is only a host name is ignored, two addresses are both served, each in its family")
def ingress_entries(t):
    service = balanced(t, BOTH)
    second, foreign = second_vip(t), second_vip(t, OTHER_FAMILY[t.family])
    service.update(ingress=[{"hostname": "balancer.example.com"}, {"ip": service.vip().ip}, {"ip": foreign.ip},
                            {"ip": second.ip}])
    t.settle()
    t.expect(EXT, [service.vip(), second], masqueraded(E1, E2))
    t.family = OTHER_FAMILY[t.family]
    t.expect(EXT, foreign, UNTOUCHED)


@case(56, "source ranges: clients in them are served, all others are dropped, pods and the node too", legacy=True,
      needs=("source-ranges",))
def source_ranges(t):
    service = balanced(t, BOTH, source_ranges=[CLIENTS[t.family]])
    t.settle()
    t.expect(EXT, service.vip(), masqueraded(E1, E2))
    t.expect([EXT_OTHER, POD], service.vip(), DROPPED)
    t.expect(NODE, service.vip(), t.differs(NODE_PASSES_RANGES, DROPPED, masqueraded(E1, E2)))
    t.expect(FIRST, service.vip(), t.differs(NODE_PASSES_RANGES, DROPPED, kept(E1, E2)))


@case(57, "source ranges with the node's address: the node is served, from its own and from the load balancer's address",
      legacy=True, needs=("source-ranges",))
def ranges_with_the_node(t):
    service = balanced(t, BOTH, source_ranges=[CLIENTS[t.family], NODES[t.family]])
    without = balanced(t, BOTH, source_ranges=[CLIENTS[t.family]])
    t.settle()
    # The node is masqueraded to the address that it already has.
    t.expect(FIRST, service.vip(), kept(E1, E2))
    t.expect([POD, EXT_OTHER], service.vip(), DROPPED)
    for one, expected in ((service, masqueraded(E1, E2)), (without, DROPPED)):
        t.expect(as_its_own_balancer(t, one), one.vip(), expected)


def as_its_own_balancer(t, service):
    """The node as cloud providers set it up: with the load balancer's address on it, as the source address."""
    ip = service.vip().ip
    if t.bench.profile.binds:  # the address is there already
        return Host("node-with-vip", ip, ip, namespace="node")
    # Neither address is used to masquerade other clients.
    length, unused = ("/32", ["scope", "host"]) if t.family == V4 else ("/128", ["nodad", "preferred_lft", "0"])
    t.topology.run("node", "ip", "addr", "add", ip + length, "dev", "lo", *unused)
    t.defer(lambda: t.topology.run("node", "ip", "addr", "del", ip + length, "dev", "lo"))
    # An IPv6 address may be a source address shortly before its route is there; answers would go elsewhere.
    t.wait_until(lambda: t.topology.run("node", "ip", "-6" if t.family == V6 else "-4", "route", "show", "table", "local",
                                        ip).stdout, f"there is a route to {ip}")
    return Host("node-with-vip", ip, ip, namespace="node")


@case(58, "source ranges restrict the load balancer's address only: not node port, cluster IP and external IP",
      needs=("node-ports", "source-ranges"))
def ranges_guard_the_vip_only(t):
    service = balanced(t, BOTH, source_ranges=[CLIENTS[t.family]])
    t.settle()
    t.expect(EXT_OTHER, [service.node(), service.cluster(), service.external()], masqueraded(E1, E2))
    t.expect(EXT_OTHER, service.vip(), DROPPED)


@case(59, "a range of all addresses lifts the restriction; ranges of the other family are ignored", needs=("source-ranges",))
def ranges_that_do_not_restrict(t):
    unrestricted = balanced(t, BOTH, source_ranges=[CLIENTS[t.family], ANY_ADDRESS[t.family]])
    other_family = balanced(t, BOTH, source_ranges=[CLIENTS[OTHER_FAMILY[t.family]]])
    t.settle()
    t.expect([EXT, EXT_OTHER, POD, NODE], [unrestricted.vip(), other_family.vip()], masqueraded(E1, E2))


@case(60, "blanks around a source range are ignored", needs=("source-ranges",))
def range_with_blanks(t):
    service = balanced(t, BOTH, source_ranges=[f" {CLIENTS[t.family]} "])
    t.settle()
    t.expect(EXT, service.vip(), masqueraded(E1, E2))
    t.expect(EXT_OTHER, service.vip(), DROPPED)


@case(61, "source ranges with external policy Local and no local endpoint: only pods in the ranges are served",
      legacy=True, needs=("source-ranges",))
def ranges_with_external_local(t):
    service = balanced(t, ONLY_REMOTE, external_policy="Local",
                       source_ranges=[CLIENTS[t.family], CLUSTER_CIDR[t.family]])
    t.settle()
    t.expect(POD, service.vip(), kept(E2))
    t.expect(EXT, service.vip(), t.differs(NO_LOCAL, DROPPED, kept(E2)))
    t.expect(EXT_OTHER, service.vip(), DROPPED)
    service.set_endpoints(BOTH)
    t.settle()
    t.expect(EXT, service.vip(), kept(E1))
    t.expect(EXT_OTHER, service.vip(), DROPPED)


@case(62, "an address that leaves the status is not served any more; nothing else changes", needs=("node-ports",))
def address_removed(t):
    service = balanced(t, BOTH)
    second = second_vip(t)
    service.update(ingress=[{"ip": service.vip().ip}, {"ip": second.ip}])
    t.settle()
    t.expect(EXT, [service.vip(), second], masqueraded(E1, E2))
    service.update(ingress=[{"ip": second.ip}])
    t.settle()
    t.expect([EXT, POD], service.vip(), UNTOUCHED)
    t.expect(EXT, [second, service.node(), service.external()], masqueraded(E1, E2))
    service.update(ingress=[{"hostname": "balancer.example.com"}])
    t.settle()
    t.expect(EXT, second, UNTOUCHED)
    t.expect(EXT, service.node(), masqueraded(E1, E2))
    t.expect(POD, service.cluster(), kept(E1, E2))
