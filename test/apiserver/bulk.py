# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Many Services and EndpointSlices with predictable names and addresses."""

import status

DEFAULTS = {
    "services": 0,
    "endpoints": 1,
    "slice_size": 100,
    "start": 0,
    "namespace": "bulk",
    "port": 80,
    "target_port": 8080,
    "nodes": 10,
    "node_prefix": "node-",
}


def address(second_octet, number):
    """The number-th address counted from 10.<second_octet>.0.0."""
    return "10.%d.%d.%d" % (second_octet + (number >> 16), number >> 8 & 255, number & 255)


def objects(values):
    """Yields Service i, `svc-<i>`, then its slices `svc-<i>-<k>`."""
    unknown = set(values) - set(DEFAULTS)
    if unknown:
        raise status.bad_request("unknown member: " + ", ".join(sorted(unknown)))
    plan = {**DEFAULTS, **values}
    return generate(plan)


def generate(plan):
    for index in range(plan["start"], plan["start"] + plan["services"]):
        name = "svc-%d" % index
        yield service(plan, name, index)
        first = index * plan["endpoints"]
        numbers = range(first, first + plan["endpoints"])
        for position in range(0, len(numbers), plan["slice_size"]):
            part = numbers[position : position + plan["slice_size"]]
            yield endpoint_slice(plan, name, position // plan["slice_size"], part)


def service(plan, name, index):
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": plan["namespace"], "labels": {"app": name}},
        "spec": {
            "ports": [{"name": "http", "protocol": "TCP", "port": plan["port"],
                       "targetPort": plan["target_port"]}],
            "selector": {"app": name},
            "clusterIP": address(100, index),
        },
    }


def endpoint_slice(plan, service_name, number, endpoints):
    return {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": "%s-%d" % (service_name, number),
            "namespace": plan["namespace"],
            "labels": {"kubernetes.io/service-name": service_name},
        },
        "addressType": "IPv4",
        "endpoints": [
            {
                "addresses": [address(200, endpoint)],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": "%s%d" % (plan["node_prefix"], endpoint % plan["nodes"]),
            }
            for endpoint in endpoints
        ],
        "ports": [{"name": "http", "protocol": "TCP", "port": plan["target_port"]}],
    }
