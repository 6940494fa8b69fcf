# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 1–12: the cluster IP, and which of its clients are masqueraded."""

import socket

from lib.addresses import ALT_PORT, E1, E2, E3, POD_PORT, V4, V6
from lib.cases import EXT, IN_KERNEL, NODE, POD, REJECTED, UNTOUCHED, Skip, case, kept, masqueraded
from lib.differences import OTHER_PORT
from lib.objects import Endpoint, endpoint_slice, port, ready

BOTH = [ready(E1), ready(E2)]


@case(1, "a pod reaches all endpoints of a cluster IP equally often, and keeps its source address", legacy=True)
def pod_to_cluster_ip(t):
    service = t.service(BOTH)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.expect_shares(POD, service.cluster(), [E1, E2])


@case(2, "the node and outside clients are masqueraded on a cluster IP", legacy=True)
def node_and_outside_to_cluster_ip(t):
    service = t.service(BOTH)
    t.settle()
    t.expect([NODE, EXT], service.cluster(), masqueraded(E1, E2))


@case(3, "--masquerade-all masquerades pods too", config="masquerade-all", sources=["manifests"])
def masquerade_all(t):
    service = t.service(BOTH)
    t.settle()
    t.expect([POD, NODE, EXT], service.cluster(), masqueraded(E1, E2))


@case(3, "without a cluster CIDR no client is masqueraded on a cluster IP", config="no-detector", sources=["manifests"])
def no_detector(t):
    service = t.service(BOTH)
    t.settle()
    t.expect([POD, NODE, EXT], service.cluster(), kept(E1, E2))


@case(4, "a pod that is balanced to itself is masqueraded, balanced to another it is not", legacy=True)
def hairpin(t):
    alone = t.service([ready(E1)])
    both = t.service(BOTH)
    t.settle()
    t.expect(E1, alone.cluster(), masqueraded(E1))
    t.expect(E1, both.cluster(), masqueraded(E1) | kept(E2))


@case(5, "each port of a Service reaches its own target port; other ports are left alone")
def two_ports(t):
    service = t.service(ports=[("p80", 80, ALT_PORT), ("p443", 443, POD_PORT)])
    service.set_endpoints([ready(E1)], "slice1", ports=[("p80", ALT_PORT)])
    service.set_endpoints([ready(E2)], "slice2", ports=[("p443", POD_PORT)])
    t.settle()
    t.expect(POD, service.cluster(80), kept("e1-alt"))
    t.expect(POD, service.cluster(443), kept(E2))
    t.expect(t.differs(OTHER_PORT, POD, [POD, NODE, EXT]), service.cluster(81), t.differs(OTHER_PORT, UNTOUCHED, REJECTED))


@case(6, "TCP and UDP ports of the same number are independent", protocols=["tcp"])
def tcp_and_udp_with_one_number(t):
    both = t.service(protocols=["tcp", "udp"])
    tcp_slice = [port("p80", POD_PORT, "tcp")]
    udp_slice = [port("p80", POD_PORT, "udp")]
    both.put_slice(endpoint_slice(both.namespace, "tcp", both.name, t.family, tcp_slice, [ready(E1)]), "tcp")
    both.put_slice(endpoint_slice(both.namespace, "udp", both.name, t.family, udp_slice, [ready(E2)]), "udp")
    only_tcp = t.service([ready(E1)])
    t.settle()
    t.expect(POD, both.cluster(protocol="tcp"), kept(E1))
    t.expect(POD, both.cluster(protocol="udp"), kept(E2))
    t.expect(POD, only_tcp.cluster(protocol="tcp"), kept(E1))
    t.expect(POD, only_tcp.cluster(protocol="udp"), t.differs(OTHER_PORT, UNTOUCHED, REJECTED))


@case(7, "an unnamed port is served")
def unnamed_port(t):
    service = t.service(BOTH, ports=[("", 80, POD_PORT)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))


@case(8, "an SCTP Service is served", protocols=["sctp"], backends=IN_KERNEL, needs=("sctp",))
def sctp(t):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError as error:
        raise Skip(f"this kernel has no SCTP sockets ({error.strerror})") from error
    # At its own address: the case runs in both families at the same time.
    t.listen(E1.name, "e1-sctp", 8080, [E1.ip(t.family)])
    service = t.service([ready(E1)], ports=[("p80", 80, 8080)])
    t.settle()
    t.expect(POD, service.cluster(), kept("e1-sctp"))


@case(9, "an IPv6 Service is served by IPv6 endpoints, whatever IPv4 slices there are", families=[V6])
def ipv6_only(t):
    service = t.service()
    service.set_endpoints([ready(E1)], "slice-v6", family=V6)
    service.set_endpoints([ready(E2)], "slice-v4", family=V4)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))


@case(9, "one dual-stack Service is served in each family by the endpoints of that family", families=[V4],
      needs=("dual-stack",))
def dual_stack(t):
    service = t.service(families=[V4, V6])
    service.set_endpoints([ready(E1)], "slice-v4", family=V4)
    service.set_endpoints([ready(E2)], "slice-v6", family=V6)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.family = V6
    t.expect(POD, service.cluster(family=V6), kept(E2))


@case(10, "leading zeros in addresses are decimal", families=[V4], needs=("source-ranges",))
def leading_zeros(t):
    service = t.service([Endpoint(E1, address="010.180.000.001")], type="LoadBalancer", external=True)
    plain = service.cluster().ip
    zeros = {ip: ".".join(part.zfill(3) for part in ip.split("."))
             for ip in (plain, service.external().ip, service.vip().ip)}
    service.update(
        spec={"clusterIP": zeros[plain], "clusterIPs": [zeros[plain]], "externalIPs": [zeros[service.external().ip]]},
        ingress=[{"ip": zeros[service.vip().ip], "ipMode": "VIP"}], source_ranges=["203.000.113.000/25"])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    t.expect(EXT, [service.external(), service.vip()], masqueraded(E1))


@case(11, "three endpoints get a third of the connections each")
def three_endpoints(t):
    service = t.service([ready(E1), ready(E2), ready(E3)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2, E3))
    t.expect_shares(POD, service.cluster(), [E1, E2, E3])


@case(12, "BridgeInterface: only traffic from other interfaces is masqueraded", config="bridge-detector",
      sources=["manifests"])
def bridge_detector(t):
    service = t.service([ready(E2)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E2))
    t.expect([E1, NODE, EXT], service.cluster(), masqueraded(E2))


@case(12, "InterfaceNamePrefix: only traffic from other interfaces is masqueraded",
      config="prefix-detector", sources=["manifests"])
def prefix_detector(t):
    service = t.service([ready(E2)])
    t.settle()
    t.expect([POD, E1], service.cluster(), kept(E2))
    t.expect([NODE, EXT], service.cluster(), masqueraded(E2))
