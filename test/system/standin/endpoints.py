# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The endpoints that a node uses, straight from the decision tables: slow, short, and independent of the daemon."""

import dataclasses
import ipaddress


@dataclasses.dataclass(frozen=True)
class Endpoint:
    ip: str
    port: int
    local: bool
    ready: bool
    draining: bool  # serving and terminating
    terminating: bool
    zones: frozenset
    nodes: frozenset


def address(text, family):
    """Canonical text of that family, or None. Leading zeros are decimal."""
    if not isinstance(text, str):
        return None
    try:
        if ":" not in text:
            text = ".".join(str(int(part)) for part in text.split("."))
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(parsed) if parsed.version == family else None


def network(text, family):
    base, _, length = text.strip().partition("/")
    base = address(base, family)
    return str(ipaddress.ip_network(f"{base}/{length}", strict=False)) if base else None


def of_port(slices, port_name, protocol, family, node_name):
    """The endpoints of one Service port over all its slices; of two records the non-terminating one is kept."""
    found = {}
    for one in slices:
        if one.get("addressType") != ("IPv4" if family == 4 else "IPv6"):
            continue
        for port in one.get("ports") or []:
            number = port.get("port")
            if port.get("name") != port_name or port.get("protocol", "TCP") != protocol or not number:
                continue
            for entry in one.get("endpoints") or []:
                made = _endpoint(entry, number, family, node_name)
                if made and ((made.ip, number) not in found or not made.terminating):
                    found[made.ip, number] = made
    return [found[key] for key in sorted(found)]


def _endpoint(entry, number, family, node_name):
    ip = address((entry.get("addresses") or [None])[0], family)
    if ip is None:
        return None
    conditions = entry.get("conditions") or {}
    ready = conditions.get("ready", True)
    serving, terminating = conditions.get("serving", True), conditions.get("terminating", False)
    hints = entry.get("hints") or {}
    return Endpoint(ip, number, entry.get("nodeName") == node_name, ready, serving and terminating, terminating,
                    frozenset(hint["name"] for hint in hints.get("forZones") or []),
                    frozenset(hint["name"] for hint in hints.get("forNodes") or []))


def cluster_list(endpoints, node_name, zone):
    ready = [one for one in endpoints if one.ready]
    if not ready:
        return [one for one in endpoints if one.draining]
    if all(one.nodes for one in ready):
        here = [one for one in ready if node_name in one.nodes]
        if here:
            return here
    if zone and all(one.zones for one in ready):
        here = [one for one in ready if zone in one.zones]
        if here:
            return here
    return ready


def local_list(endpoints):
    local = [one for one in endpoints if one.local]
    return [one for one in local if one.ready] or [one for one in local if one.draining]


def usable_anywhere(endpoints):
    return any(one.ready or one.draining for one in endpoints)
