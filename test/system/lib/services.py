# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A Service of a case: its objects at the source, and its addresses."""

import dataclasses

from . import addresses as a
from . import objects

CLUSTER_PORT = 80


@dataclasses.dataclass(frozen=True)
class Front:
    """An address that clients send to."""

    ip: str
    port: int
    protocol: str


class ServiceUnderTest:
    """Writes a Service and its slices consistently, with unique addresses.

    `wanted` has the differences from a plain ClusterIP Service; see DEFAULTS.
    """

    DEFAULTS = {
        "type": "ClusterIP",
        "external": False,  # node port, external IP and load balancer address, all three
        "node_port": False,
        "external_ip": False,
        "vip": False,
        "external_policy": None,
        "internal_policy": None,
        "source_ranges": None,
        "health_port": None,
        "ports": None,  # [(name, number, target)]; by default one port p80
        "families": None,  # the families of the Service, by default that of the case
        "protocols": None,  # by default that of the case
        "annotations": None,
        "labels": None,
        "spec": None,  # overrides, merged last
        "ingress": None,  # replaces status.loadBalancer.ingress
    }

    def __init__(self, source, number, namespace, family, protocol, endpoints=None, name="svc1",
                 node_ports=True, **wanted):
        unknown = set(wanted) - set(self.DEFAULTS)
        if unknown:
            raise TypeError(f"unknown service property {sorted(unknown)}")
        self._source = source
        self.number = number
        self.namespace = namespace
        self.name = name
        self.family = family
        self.protocol = protocol
        self.wanted = {**self.DEFAULTS, **wanted}
        self._node_ports = node_ports  # whether the backend serves node ports
        self._slices = {}
        self._service = None
        self.apply()
        if endpoints is not None:
            self.set_endpoints(endpoints)

    # Addresses.

    def cluster(self, port=CLUSTER_PORT, protocol=None, family=None):
        return Front(a.Allocator.cluster_ip(self.number, family or self.family), port, protocol or self.protocol)

    def external(self):
        return Front(a.Allocator.external_ip(self.number, self.family), CLUSTER_PORT, self.protocol)

    def vip(self):
        return Front(a.Allocator.vip(self.number, self.family), CLUSTER_PORT, self.protocol)

    def node(self, host=a.NODE):
        return Front(host.ip(self.family), self.node_port, self.protocol)

    def at(self, ip):
        """The node port on any address."""
        return Front(ip, self.node_port, self.protocol)

    @property
    def node_port(self):
        return a.Allocator.node_port(self.number)

    def externals(self):
        return [*self.node_ports(), self.external(), self.vip()]

    def node_ports(self):
        """None where the backend serves none."""
        return [self.node()] if self._node_ports else []

    # Changes.

    def update(self, **wanted):
        self.wanted.update(wanted)
        self.apply()

    def apply(self):
        self._service = self._build()
        self._source.put(self._service)

    def set_endpoints(self, endpoints, slice_name="slice1", ports=None, family=None, labelled=True):
        """Writes one slice; `ports` is [(name, target)], by default the ports of the Service."""
        family = family or self.family
        pairs = ports if ports is not None else [(name, target) for name, _, target in self._ports()]
        listed = [objects.port(name, target, protocol) for name, target in pairs for protocol in self._protocols()]
        self.put_slice(objects.endpoint_slice(self.namespace, f"{self.name}-{slice_name}", self.name if labelled else "",
                                              family, listed, endpoints), slice_name)

    def put_slice(self, made, slice_name):
        self._slices[slice_name] = made
        self._source.put(made)

    def delete_slice(self, slice_name="slice1"):
        self._source.delete(self._slices.pop(slice_name))

    def delete_service(self):
        self._source.delete(self._service)
        self._service = None

    def delete(self):
        for slice_name in list(self._slices):
            self.delete_slice(slice_name)
        if self._service is not None:
            self.delete_service()

    # Objects.

    def slices(self):
        """Names of the existing slices."""
        return set(self._slices)

    def slice_object(self, slice_name="slice1"):
        return self._slices[slice_name]

    def _families(self):
        return self.wanted["families"] or [self.family]

    def _protocols(self):
        return self.wanted["protocols"] or [self.protocol]

    def _ports(self):
        return self.wanted["ports"] or [("p80", CLUSTER_PORT, a.POD_PORT)]

    def _build(self):
        want = self.wanted
        cluster_ips = [a.Allocator.cluster_ip(self.number, family) for family in self._families()]
        spec = {
            "type": want["type"],
            "clusterIP": cluster_ips[0],
            "clusterIPs": cluster_ips,
            "ipFamilies": ["IPv4" if family == a.V4 else "IPv6" for family in self._families()],
            "ports": self._port_objects(),
        }
        if want["external"] or want["external_ip"]:
            spec["externalIPs"] = [self.external().ip]
        for field, value in (("externalTrafficPolicy", want["external_policy"]),
                             ("internalTrafficPolicy", want["internal_policy"]),
                             ("loadBalancerSourceRanges", want["source_ranges"]),
                             ("healthCheckNodePort", want["health_port"])):
            if value is not None:
                spec[field] = value
        spec.update(want["spec"] or {})
        ingress = want["ingress"]
        if ingress is None and (want["external"] or want["vip"]):
            ingress = [{"ip": self.vip().ip, "ipMode": "VIP"}]
        made = objects.service(self.namespace, self.name, spec, ingress or (), want["annotations"])
        if want["labels"]:
            made["metadata"]["labels"] = want["labels"]
        return made

    def _port_objects(self):
        made = []
        for name, number, target in self._ports():
            for protocol in self._protocols():
                more = {"targetPort": target}
                # Only the first port of the Service has the node port.
                if (self.wanted["external"] or self.wanted["node_port"]) and (name, number, target) == self._ports()[0]:
                    more["nodePort"] = self.node_port
                made.append(objects.port(name, number, protocol, **more))
        return made
