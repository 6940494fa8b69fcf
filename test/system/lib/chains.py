# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the iptables chains of a service port, computed as the behaviour reference defines."""

import base64
import hashlib

from . import addresses as a


def name(kind, port_name, protocol, endpoint=""):
    """`kind` is SVC, SVL, EXT, FW or, with `endpoint` as address:port, SEP."""
    digest = hashlib.sha256((port_name + protocol + endpoint).encode()).digest()
    return f"KUBE-{kind}-" + base64.b32encode(digest).decode()[:16]


def of(kind, service):
    return name(kind, f"{service.namespace}/{service.name}:p80", service.protocol)


def of_endpoint(service, host):
    ip = host.ip(service.family)
    where = f"[{ip}]:{a.POD_PORT}" if service.family == a.V6 else f"{ip}:{a.POD_PORT}"
    return name("SEP", f"{service.namespace}/{service.name}:p80", service.protocol, where)


def all_of(service, hosts):
    """All chains that the Service can have with these endpoints."""
    return {of(kind, service) for kind in ("SVC", "SVL", "EXT", "FW")} | {of_endpoint(service, host) for host in hosts}


def rules(lines, chain):
    """The rules of that chain among the lines of iptables-save, in order."""
    return [line for line in lines if line.startswith(f"-A {chain} ")]
