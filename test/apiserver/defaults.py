# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What the server fills in on objects, and the order it writes their members in."""

import ipaddress

from resources import EMPTY_NODE_STATUS

METADATA_ORDER = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers", "managedFields",
)
SERVICE_SPEC_ORDER = (
    "ports", "selector", "clusterIP", "clusterIPs", "type", "externalIPs", "sessionAffinity",
    "loadBalancerIP", "loadBalancerSourceRanges", "externalName", "externalTrafficPolicy",
    "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig", "ipFamilies",
    "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass",
    "internalTrafficPolicy", "trafficDistribution",
)
SERVICE_PORT_ORDER = ("name", "protocol", "appProtocol", "port", "targetPort", "nodePort")
NODE_STATUS_ORDER = (
    "capacity", "allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo",
)
SLICE_ORDER = ("addressType", "endpoints", "ports")
ENDPOINT_ORDER = (
    "addresses", "conditions", "hostname", "targetRef", "deprecatedTopology", "nodeName", "zone",
    "hints",
)
SLICE_PORT_ORDER = ("name", "protocol", "port", "appProtocol")


def ordered(value, order):
    """The members named in `order` first, in that order, then the others."""
    result = {name: value[name] for name in order if name in value}
    for name in value:
        if name not in result:
            result[name] = value[name]
    return result


def dicts_in(value):
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def reorder_list(value, order):
    if not isinstance(value, list):
        return value
    return [ordered(item, order) if isinstance(item, dict) else item for item in value]


def canonical_order(obj, kind):
    """Members in the order of the server's types, map keys sorted."""
    metadata = ordered(obj["metadata"], METADATA_ORDER)
    for name in ("labels", "annotations"):
        if isinstance(metadata.get(name), dict):
            metadata[name] = {k: metadata[name][k] for k in sorted(metadata[name])}
    obj["metadata"] = metadata
    if kind == "Service" and isinstance(obj.get("spec"), dict):
        spec = ordered(obj["spec"], SERVICE_SPEC_ORDER)
        if "ports" in spec:
            spec["ports"] = reorder_list(spec["ports"], SERVICE_PORT_ORDER)
        obj["spec"] = spec
    elif kind == "Node" and isinstance(obj.get("status"), dict):
        obj["status"] = ordered(obj["status"], NODE_STATUS_ORDER)
    elif kind == "EndpointSlice":
        obj["endpoints"] = reorder_list(obj.get("endpoints"), ENDPOINT_ORDER)
        obj["ports"] = reorder_list(obj.get("ports"), SLICE_PORT_ORDER)
        obj = ordered(obj, ("kind", "apiVersion", "metadata") + SLICE_ORDER)
    return ordered(obj, ("kind", "apiVersion", "metadata"))


def apply_static(obj, kind):
    """Defaults that depend on the object alone; they count as set by the writer."""
    if kind == "Service":
        service_static(obj)
    elif kind == "EndpointSlice":
        for port in dicts_in(obj.get("ports")):
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")
        for endpoint in dicts_in(obj.get("endpoints")):
            endpoint.setdefault("conditions", {})
    elif kind == "Endpoints":
        for subset in dicts_in(obj.get("subsets")):
            for port in dicts_in(subset.get("ports")):
                port.setdefault("protocol", "TCP")
    elif kind == "Node":
        spec = obj.setdefault("spec", {})
        if isinstance(spec, dict) and spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]
        elif isinstance(spec, dict) and spec.get("podCIDRs") and not spec.get("podCIDR"):
            spec["podCIDR"] = spec["podCIDRs"][0]


def service_static(obj):
    spec = obj.setdefault("spec", {})
    if not isinstance(spec, dict):
        return
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {})
        if isinstance(config, dict):
            client = config.setdefault("clientIP", {})
            if isinstance(client, dict):
                client.setdefault("timeoutSeconds", 10800)
    for port in dicts_in(spec.get("ports")):
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    elif spec["type"] == "ClusterIP" and spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    status = obj.get("status")
    balancer = status.get("loadBalancer") if isinstance(status, dict) else None
    for ingress in dicts_in(balancer.get("ingress") if isinstance(balancer, dict) else None):
        if ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")


class Allocator:
    """Cluster IPs, node ports and health check ports; given values are kept as they are."""

    FIRST_NODE_PORT = 30000
    LAST_NODE_PORT = 32767

    def __init__(self, cidr_v4="10.96.0.0/16", cidr_v6="fd00:96::/112"):
        self.networks = {"IPv4": ipaddress.ip_network(cidr_v4), "IPv6": ipaddress.ip_network(cidr_v6)}
        # Low addresses stay free for well-known services such as DNS.
        self.next_host = {"IPv4": 256, "IPv6": 256}
        self.used_addresses = set()
        # Downwards, because the system tests choose node ports from the other end. The daemon would hold a health check port
        # in their range when a test listens there.
        self.next_port = self.LAST_NODE_PORT
        self.used_ports = set()

    def address(self, family):
        network = self.networks[family]
        for _ in range(network.num_addresses):
            self.next_host[family] = (self.next_host[family] + 1) % network.num_addresses
            candidate = str(network[self.next_host[family]])
            if candidate not in self.used_addresses and self.next_host[family]:
                self.used_addresses.add(candidate)
                return candidate
        raise RuntimeError("no free cluster address")

    def port(self):
        span = self.LAST_NODE_PORT - self.FIRST_NODE_PORT + 1
        for _ in range(span):
            candidate = self.next_port
            self.next_port = self.FIRST_NODE_PORT + (candidate - 1 - self.FIRST_NODE_PORT) % span
            if candidate not in self.used_ports:
                self.used_ports.add(candidate)
                return candidate
        raise RuntimeError("no free node port")

    def track(self, obj, add):
        """Adds or removes the values of an object, so that none is allocated twice."""
        spec = obj.get("spec")
        if obj.get("kind") != "Service" or not isinstance(spec, dict):
            return
        addresses = spec.get("clusterIPs") or [spec.get("clusterIP")]
        ports = [port.get("nodePort") for port in dicts_in(spec.get("ports"))]
        ports.append(spec.get("healthCheckNodePort"))
        for held, values in ((self.used_addresses, addresses), (self.used_ports, ports)):
            for value in values if isinstance(values, list) else []:
                if isinstance(value, (str, int)) and value:
                    (held.add if add else held.discard)(value)

    def fill(self, obj, kind, previous):
        """Sets the values that the server allocates; an update without them keeps those of `previous`."""
        if kind == "Service" and isinstance(obj.get("spec"), dict):
            self.fill_service(obj["spec"], (previous or {}).get("spec"))
            obj.setdefault("status", {"loadBalancer": {}})
        elif kind == "Node":
            fill_node(obj, previous is None)
        elif kind == "Event":
            obj.setdefault("eventTime", None)
            obj.setdefault("regarding", {})
            obj.setdefault("deprecatedSource", {})
            obj.setdefault("deprecatedFirstTimestamp", None)
            obj.setdefault("deprecatedLastTimestamp", None)
        elif kind == "EndpointSlice":
            obj.setdefault("addressType", "")
            obj.setdefault("endpoints", None)
            obj.setdefault("ports", None)
        elif kind == "ServiceCIDR":
            obj.setdefault("spec", {})
            obj.setdefault("status", {})

    def fill_service(self, spec, previous):
        if spec.get("type") == "ExternalName":
            return
        if isinstance(previous, dict) and previous.get("type") != "ExternalName":
            keep_allocated(spec, previous)
        self.fill_addresses(spec)
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            wanted = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts")
            for port in dicts_in(spec.get("ports")) if wanted else []:
                if not port.get("nodePort"):
                    port["nodePort"] = self.port()
        if (spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
                and not spec.get("healthCheckNodePort")):
            spec["healthCheckNodePort"] = self.port()

    def fill_addresses(self, spec):
        addresses = spec.get("clusterIPs")
        addresses = list(addresses) if isinstance(addresses, list) else []
        if spec.get("clusterIP") and not addresses:
            addresses = [spec["clusterIP"]]
        families = spec.get("ipFamilies")
        families = list(families) if isinstance(families, list) else []
        policy = spec.get("ipFamilyPolicy")
        headless = addresses[:1] == ["None"]
        if headless and not spec.get("selector") and not policy and not families:
            families, policy = ["IPv4", "IPv6"], "RequireDualStack"
        for address in addresses[len(families):] if not headless else []:
            families.append("IPv6" if ":" in str(address) else "IPv4")
        if not families:
            families = ["IPv4"]
        if policy in ("PreferDualStack", "RequireDualStack") and len(families) == 1:
            families.append("IPv4" if families[0] == "IPv6" else "IPv6")
        if not headless:
            for family in families[len(addresses):]:
                if family in self.networks:
                    addresses.append(self.address(family))
        if addresses:
            if not spec.get("clusterIP"):
                spec["clusterIP"] = addresses[0]
            spec["clusterIPs"] = addresses
        spec["ipFamilies"] = families
        spec["ipFamilyPolicy"] = policy or ("SingleStack" if len(families) == 1 else "RequireDualStack")


def keep_allocated(spec, previous):
    for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
        if not spec.get(name) and previous.get(name):
            spec[name] = previous[name]
    if "ipFamilies" not in spec and "ipFamilyPolicy" not in spec:
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in previous:
                spec[name] = previous[name]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        held = {
            (port.get("protocol"), port.get("port")): port.get("nodePort")
            for port in dicts_in(previous.get("ports"))
        }
        for port in dicts_in(spec.get("ports")):
            node_port = held.get((port.get("protocol"), port.get("port")))
            if not port.get("nodePort") and node_port:
                port["nodePort"] = node_port


def fill_node(obj, created):
    spec = obj.get("spec")
    if isinstance(spec, dict) and created:
        # A new node is tainted; the controller that removes the taint does not run here.
        spec.setdefault("taints", [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    status = obj.setdefault("status", {})
    if isinstance(status, dict):
        for name, value in EMPTY_NODE_STATUS.items():
            status.setdefault(name, value)
