# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The checks made on writes.

Tests store broken objects on purpose, so by default only Events are checked, as the node
proxy's own events depend on that; strict mode adds names, ports and addresses of the others.
"""

import ipaddress
import re

import status
from defaults import dicts_in

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z\Z")
SUBDOMAIN_HELP = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def check(resource, obj, strict):
    """Raises the 422 answer a real server gives."""
    metadata = obj["metadata"]
    name = metadata.get("name")
    if not name:
        causes = [("metadata.name", "FieldValueRequired",
                   "Required value: name or generateName is required")]
        raise status.invalid(resource.kind, "", causes, resource.group)
    causes = []
    if resource.plural == "events" or strict:
        causes += name_causes("metadata.generateName", metadata.get("generateName"))
        if not metadata.get("generateName"):
            causes += name_causes("metadata.name", name)
    if strict and resource.kind == "Service":
        causes += service_causes(obj.get("spec") or {})
    if strict and resource.kind == "EndpointSlice":
        causes += slice_causes(obj)
    # core/v1 shares the collection, but has fewer checks.
    if resource.plural == "events" and obj.get("apiVersion") != "v1":
        causes += event_causes(obj)
    if causes:
        # The recorded answer names the event type without its group.
        group = "" if resource.plural == "events" else resource.group
        raise status.invalid(resource.kind, name, causes, group)


def invalid_value(field, value, text):
    shown = '"%s"' % value if isinstance(value, str) else str(value)
    return field, "FieldValueInvalid", "Invalid value: %s: %s" % (shown, text)


def name_causes(field, value):
    if value and not SUBDOMAIN.match(str(value)):
        return [invalid_value(field, str(value), SUBDOMAIN_HELP)]
    return []


def required(field):
    return field, "FieldValueRequired", "Required value"


def event_causes(obj):
    """Checks an event of events.k8s.io/v1 like a real server."""
    causes = []
    for field, most in (("reportingController", 63), ("reportingInstance", 128), ("action", 128),
                        ("reason", 128), ("note", 1024)):
        value = obj.get(field) or ""
        if not value and field != "note":
            causes.append(required(field))
        elif len(value.encode()) > most:
            causes.append(invalid_value(field, "", "can have at most %d characters" % most))
    if not MICRO_TIME.match(str(obj.get("eventTime") or "")):
        causes.append(required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        causes.append(invalid_value("type", str(obj.get("type")), "has invalid value"))
    involved = (obj.get("regarding") or {}).get("namespace") or "default"
    if involved != obj["metadata"].get("namespace"):
        causes.append(invalid_value("involvedObject.namespace", involved, "does not match event.namespace"))
    series = obj.get("series")
    if series is not None:
        if not isinstance(series.get("count"), int) or series["count"] < 2:
            causes.append(invalid_value("series.count", series.get("count"), "should be at least 2"))
        if not MICRO_TIME.match(str(series.get("lastObservedTime") or "")):
            causes.append(required("series.lastObservedTime"))
    return causes


def port_causes(field, port):
    value = port.get("port")
    if not isinstance(value, int) or not 1 <= value <= 65535:
        return [invalid_value(field + ".port", value, "must be between 1 and 65535, inclusive")]
    return []


def is_address(value, family=None):
    try:
        version = ipaddress.ip_address(value).version
    except ValueError:
        return False
    return family in (None, "IPv%d" % version)


def service_causes(spec):
    causes = []
    for index, port in enumerate(dicts_in(spec.get("ports"))):
        causes += port_causes("spec.ports[%d]" % index, port)
    for field in ("clusterIPs", "externalIPs"):
        for index, address in enumerate(spec.get(field) or []):
            if address != "None" and not is_address(address):
                causes.append(invalid_value(
                    "spec.%s[%d]" % (field, index), address, "must be a valid IP address"))
    return causes


def slice_causes(obj):
    causes = []
    for index, port in enumerate(dicts_in(obj.get("ports"))):
        if port.get("port") is not None:
            causes += port_causes("ports[%d]" % index, port)
    family = obj.get("addressType")
    for index, endpoint in enumerate(dicts_in(obj.get("endpoints"))):
        for position, address in enumerate(endpoint.get("addresses") or []):
            if family in ("IPv4", "IPv6") and not is_address(address, family):
                causes.append(invalid_value(
                    "endpoints[%d].addresses[%d]" % (index, position), address,
                    "must be a valid %s address" % family))
    return causes
