# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A model of which servers answer which client, computed only from the objects of a cluster, independently of any backend.

It implements the chapters of the behaviour reference about endpoints and policies. kit_test.py compares it with the
expectations of the numbered cases, for each backend of this tree.
"""

import ipaddress

from . import addresses as a
from . import outcomes
from .differences import (EMPTY_BEHIND_RANGES, INTERNAL_REJECTED, INTERNAL_USES_OTHERS, LOCAL_FOR_ALL, NODE_PASSES_RANGES,
                          NODE_REJECTED, NO_LOCAL, OTHER_PORT, PRIMARY_ONLY)
from .objects import SERVICE_NAME_LABEL, ZONE_LABEL, key
from .services import Front

PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
CLUSTER, EXTERNAL, BALANCER, NODE_PORT = "cluster IP", "external IP", "balancer", "node port"
POD, NODE, OUTSIDE = "a pod", "the node", "an outside client"
SUFFIX = {a.POD_PORT: "", a.ALT_PORT: "-alt"}  # suffix of the name of the server at that port of a pod
PODS = a.LOCAL_PODS + a.REMOTE_PODS
ADDRESS_TYPE = {a.V4: "IPv4", a.V6: "IPv6"}


class World:
    """Forwards objects to a source, and keeps a copy of them for the model."""

    def __init__(self, source, profile):
        self._source = source
        self._profile = profile
        self._objects = {}

    def put(self, *made):
        self._objects |= {key(one): one for one in made}
        self._source.put(*made)

    def delete(self, *made):
        for one in made:
            self._objects.pop(key(one), None)
        self._source.delete(*made)

    def fronts(self, family):
        """All addresses and ports of Services, sorted."""
        found = set()
        for service in self._services():
            for port in service["spec"]["ports"] if ADDRESS_TYPE[family] in service["spec"]["ipFamilies"] else []:
                for ip in (*_addresses(service, CLUSTER), *_addresses(service, EXTERNAL), *_addresses(service, BALANCER)):
                    found.add(Front(ip, port["port"], port["protocol"].lower()))
                if "nodePort" in port and "node-ports" not in self._profile.lacks:
                    found.add(Front(a.NODE.ip(family), port["nodePort"], port["protocol"].lower()))
        return sorted((one for one in found if (":" in one.ip) == (family == a.V6)), key=lambda one: (one.ip, one.port, one.protocol))

    def expected(self, sender, front, family):
        """The expected outcome for that sender at that front; None if the model does not define it."""
        kind, service, port = self._owner(front, family)
        where = _place(sender, family)
        if service is None:
            return self._unowned(front, family, where)
        return self._outcome(sender, where, kind, service, port, family)

    # Owners of addresses.

    def _services(self):
        for service in self._of_kind("Service"):
            spec = service["spec"]
            if spec.get("type") != "ExternalName" and spec.get("clusterIP") not in (None, "", "None") and \
                    PROXY_NAME_LABEL not in service["metadata"].get("labels", {}):
                yield service

    def _of_kind(self, kind):
        return [one for (its, _, _), one in sorted(self._objects.items()) if its == kind]

    def _owner(self, front, family):
        """(kind of address, Service, port); addresses of Services take precedence over node ports."""
        by_node_port = (None, None, None)
        for service in self._services():
            if ADDRESS_TYPE[family] not in service["spec"]["ipFamilies"]:
                continue  # addresses of the other family are ignored
            for port in service["spec"]["ports"]:
                if port["protocol"].lower() != front.protocol:
                    continue
                for kind in (CLUSTER, EXTERNAL, BALANCER):
                    if port["port"] == front.port and front.ip in _addresses(service, kind):
                        return kind, service, port
                if port.get("nodePort") == front.port and front.ip in self._node_port_addresses(family):
                    by_node_port = (NODE_PORT, service, port)
        return by_node_port

    def _node_port_addresses(self, family):
        return {a.NODE.ip(family)} if self._profile.meets(PRIMARY_ONLY) else a.node_addresses(family)

    def _unowned(self, front, family, where):
        if front.ip in (a.LOOPBACK[family], *a.node_addresses(family)):
            return outcomes.VACANT
        if ipaddress.ip_address(front.ip) in ipaddress.ip_network(a.CLUSTER_CIDR[family]) or where is None:
            return None
        known = any(front.ip in _addresses(service, CLUSTER) for service in self._services())
        if known and self._profile.meets(OTHER_PORT):
            return outcomes.REJECTED
        return outcomes.UNTOUCHED

    # Endpoints and outcomes.

    def _outcome(self, sender, where, kind, service, port, family):
        profile = self._profile
        every, local = self._endpoints(service, port, family)
        inside = kind == CLUSTER
        spec = service["spec"]
        policy_local = spec.get("internalTrafficPolicy" if inside else "externalTrafficPolicy") == "Local"
        outside_ranges = kind == BALANCER and not self._in_ranges(sender, where, spec, family)
        if outside_ranges and (every or profile.meets(EMPTY_BEHIND_RANGES)):
            return outcomes.DROPPED
        if not every:
            if where == NODE and kind in (EXTERNAL, BALANCER) and not profile.meets(NODE_REJECTED):
                return outcomes.UNTOUCHED
            return outcomes.REJECTED
        if inside:
            return self._inside(sender, where, spec, every, local if policy_local else every)
        if not policy_local:
            return _served(sender, every, outcomes.MASQUERADED, family)
        return self._local_only(sender, where, every, local, family)

    def _inside(self, sender, where, spec, every, members):
        kept = outcomes.KEPT if where == POD else outcomes.MASQUERADED
        if members:
            return _served(sender, members, kept)
        reachable = spec.get("type") in ("NodePort", "LoadBalancer") or spec.get("externalIPs")
        if reachable and self._profile.meets(INTERNAL_USES_OTHERS):
            return _served(sender, every, kept)
        if not reachable and self._profile.meets(INTERNAL_REJECTED):
            return outcomes.REJECTED
        return outcomes.DROPPED

    def _local_only(self, sender, where, every, local, family):
        """External policy Local."""
        if where != OUTSIDE and not self._profile.meets(LOCAL_FOR_ALL):
            return _served(sender, every, outcomes.KEPT if where == POD else outcomes.MASQUERADED, family)
        if local:
            return _served(sender, local, outcomes.KEPT, family)
        return _served(sender, every, outcomes.KEPT, family) if self._profile.meets(NO_LOCAL) else outcomes.DROPPED

    def _in_ranges(self, sender, where, spec, family):
        ranges = [ipaddress.ip_network(text.strip(), strict=False) for text in spec.get("loadBalancerSourceRanges", [])]
        ranges = [one for one in ranges if one.version == (4 if family == a.V4 else 6)]
        if not ranges or where == NODE and self._profile.meets(NODE_PASSES_RANGES):
            return True
        return any(ipaddress.ip_address(sender.ip(family)) in one for one in ranges)

    def _endpoints(self, service, port, family):
        """(list for policy Cluster, list for policy Local), each as server name → host."""
        ready, ending = {}, {}
        for one in self._slices(service, family):
            for target in one["ports"]:
                if target.get("name") != port["name"] or target["protocol"] != port["protocol"] or \
                        target.get("port") not in SUFFIX:
                    continue
                for endpoint in one["endpoints"]:
                    host = next((pod for pod in PODS if endpoint["addresses"][:1] == [pod.ip(family)]), None)
                    if host is None:
                        continue
                    conditions = endpoint["conditions"]
                    name = host.name + SUFFIX[target["port"]]
                    if conditions.get("ready", True):
                        ready[name] = (host, endpoint)
                    elif conditions.get("serving") and conditions.get("terminating"):
                        ending[name] = (host, endpoint)

        def local(found):
            return {name: one for name, one in found.items() if one[1].get("nodeName") == a.NODE_NAME}

        every = self._hinted(ready) if ready else ending
        return ({name: host for name, (host, _) in every.items()},
                {name: host for name, (host, _) in (local(ready) or local(ending)).items()})

    def _slices(self, service, family):
        return [one for one in self._of_kind("EndpointSlice")
                if one["metadata"]["namespace"] == service["metadata"]["namespace"] and
                one["metadata"]["labels"].get(SERVICE_NAME_LABEL) == service["metadata"]["name"] and
                one["addressType"] == ADDRESS_TYPE[family]]

    def _hinted(self, ready):
        zone = next((node["metadata"]["labels"].get(ZONE_LABEL) for node in self._of_kind("Node")), None)
        for field, name in (("forNodes", a.NODE_NAME), ("forZones", zone)):
            hints = {server: [one["name"] for one in endpoint.get("hints", {}).get(field, [])]
                     for server, (_, endpoint) in ready.items()}
            if name and all(hints.values()) and any(name in named for named in hints.values()):
                return {server: ready[server] for server, named in hints.items() if name in named}
        return ready


def _addresses(service, kind):
    if kind == CLUSTER:
        return service["spec"].get("clusterIPs", [])
    if kind == EXTERNAL:
        return service["spec"].get("externalIPs", [])
    ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    return [one["ip"] for one in ingress if one.get("ip") and one.get("ipMode", "VIP") == "VIP"]


def _place(sender, family):
    if sender.place == a.NODE.place:
        return NODE
    inside = ipaddress.ip_address(sender.ip(family)) in ipaddress.ip_network(a.CLUSTER_CIDR[family])
    return POD if inside else OUTSIDE


def _served(sender, servers, source, family=a.V4):
    """Served by all these servers. Hairpin traffic is masqueraded; a client with the masquerade address keeps its source."""
    def of(host):
        if host == sender:
            return outcomes.MASQUERADED
        return outcomes.KEPT if sender.ip(family) == a.NODE.ip(family) else source

    return outcomes.Expected("served", tuple(sorted((name, of(host)) for name, host in servers.items())))
