# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects in JSON form: Service, EndpointSlice, Node."""

import dataclasses

from . import addresses as a

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One endpoint of a slice; conditions that are None are omitted."""

    host: a.Host
    ready: bool | None = True
    serving: bool | None = None
    terminating: bool | None = None
    zones: tuple = ()
    nodes: tuple = ()
    node_name: str | None = ""  # "" = the pod's own node, None = omitted
    address: str = ""  # "" = the pod's own address

    def as_object(self, family):
        conditions = {"ready": self.ready, "serving": self.serving, "terminating": self.terminating}
        made = {
            "addresses": [self.address or self.host.ip(family)],
            "conditions": {name: value for name, value in conditions.items() if value is not None},
        }
        node_name = self.host.node if self.node_name == "" else self.node_name
        if node_name is not None:
            made["nodeName"] = node_name
        hints = {}
        if self.zones:
            hints["forZones"] = [{"name": zone} for zone in self.zones]
        if self.nodes:
            hints["forNodes"] = [{"name": node} for node in self.nodes]
        if hints:
            made["hints"] = hints
        return made


def ready(host, **more):
    return Endpoint(host, **more)


def not_ready(host, **more):
    return Endpoint(host, ready=False, serving=False, terminating=False, **more)


def terminating(host, **more):
    """Terminating but still serving: "T" in the conformance cases."""
    return Endpoint(host, ready=False, serving=True, terminating=True, **more)


def gone(host, **more):
    """Terminating and no longer serving: "X" in the conformance cases."""
    return Endpoint(host, ready=False, serving=False, terminating=True, **more)


def service(namespace, name, spec, ingress=(), annotations=None):
    made = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": list(ingress)} if ingress else {}},
    }
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def endpoint_slice(namespace, name, service_name, family, ports, endpoints):
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {SERVICE_NAME_LABEL: service_name} if service_name else {},
        },
        "addressType": "IPv4" if family == a.V4 else "IPv6",
        "ports": ports,
        "endpoints": [endpoint.as_object(family) for endpoint in endpoints],
    }


def port(name, number, protocol, **more):
    return {"name": name, "port": number, "protocol": protocol.upper(), **more}


def node(labels):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": a.NODE_NAME, "labels": {"kubernetes.io/hostname": a.NODE_NAME, **labels}},
        "spec": {},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": a.NODE.v4},
                {"type": "InternalIP", "address": a.NODE.v6},
                {"type": "Hostname", "address": a.NODE_NAME},
            ]
        },
    }


def key(made):
    """The identity of an object: kind, namespace, name."""
    return made["kind"], made["metadata"].get("namespace", ""), made["metadata"]["name"]
