# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Many Services at once, with addresses outside of the Allocator's range."""

from . import addresses as a
from . import objects
from .services import CLUSTER_PORT, Front

NAMESPACE = "zz-bulk"  # sorts after all other namespaces
FIRST_NET = 100  # from 172.30.100.0, beyond the range of the Allocator
PER_NET = 250


def cluster_front(number):
    return Front(f"172.30.{FIRST_NET + number // PER_NET}.{number % PER_NET + 1}", CLUSTER_PORT, "tcp")


def nowhere(number):
    """An endpoint without a pod: only its rules matter."""
    return objects.Endpoint(a.E2, address=f"10.190.{number >> 8}.{number & 255}")


def services(count, endpoints):
    """The objects of `count` IPv4 Services that share these endpoints."""
    made = []
    for number in range(count):
        ip = cluster_front(number).ip
        spec = {"type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"],
                "ports": [objects.port("p80", CLUSTER_PORT, "tcp", targetPort=a.POD_PORT)]}
        made += [objects.service(NAMESPACE, f"svc-{number}", spec),
                 objects.endpoint_slice(NAMESPACE, f"svc-{number}-1", f"svc-{number}", a.V4,
                                        [objects.port("p80", a.POD_PORT, "tcp")], endpoints)]
    return made
