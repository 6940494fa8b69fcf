# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""metadata.managedFields entries of the shape a real server writes.

A client skips them, but they are a large part of every real object, so bodies without them would
not exercise its parser in the same way.
"""

# Lists merged by key; every other list is replaced as a whole and appears as an empty leaf.
MAP_LISTS = {
    ("Service", "spec.ports"): ("port", "protocol"),
    ("Node", "status.addresses"): ("type",),
    ("Node", "status.conditions"): ("type",),
}
SET_LISTS = {("Node", "spec.podCIDRs")}
ATOMIC_MAPS = {
    ("Service", "spec.selector"),
    ("Event", "regarding"),
    ("Event", "deprecatedSource"),
}
# Members that are always written, but have no manager while they are zero.
OMITS_ZERO = {("Node", "status")}
# Plain structs have no "." member of their own, maps and optional structs have.
PLAIN_STRUCTS = ("metadata", "spec", "status", "status.loadBalancer")
UNMANAGED_METADATA = frozenset((
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
))


def compact(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return '"%s"' % value


def fields_of(kind, path, value):
    if isinstance(value, dict):
        if not value or (kind, path) in ATOMIC_MAPS:
            return {}
        fields = {} if path in PLAIN_STRUCTS else {".": {}}
        for name, child in value.items():
            if path == "metadata" and name in UNMANAGED_METADATA:
                continue
            if (kind, path) in OMITS_ZERO and is_zero(child):
                continue
            fields["f:" + str(name)] = fields_of(kind, path + "." + str(name), child)
        return fields
    if isinstance(value, list):
        if (kind, path) in SET_LISTS:
            return {".": {}, **{"v:" + compact(item): {} for item in value}}
        keys = MAP_LISTS.get((kind, path))
        if keys and all(isinstance(item, dict) for item in value):
            fields = {".": {}}
            for item in value:
                label = ",".join('"%s":%s' % (k, compact(item[k])) for k in keys if k in item)
                members = {".": {}}
                for name, child in item.items():
                    members["f:" + str(name)] = fields_of(kind, path + "[]." + name, child)
                fields["k:{%s}" % label] = members
            return fields
    return {}


def fields_v1(obj, subresource):
    kind = obj.get("kind", "")
    fields = {}
    for name, value in obj.items():
        if name in ("kind", "apiVersion") or (subresource and name != subresource):
            continue
        child = fields_of(kind, name, value)
        if name == "metadata" and not child:
            continue
        if name == "status" and is_zero(value):
            continue
        fields["f:" + name] = child
    return fields


def is_zero(value):
    """Whether nothing in it was set by the writer."""
    if isinstance(value, dict):
        return all(is_zero(child) for child in value.values())
    return not value


def entry(obj, manager, now, subresource=""):
    record = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": obj.get("apiVersion", ""),
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": sort_keys(fields_v1(obj, subresource)),
    }
    if subresource:
        record["subresource"] = subresource
    return record


def sort_keys(value):
    return {name: sort_keys(value[name]) for name in sorted(value)}


def merged(previous, record):
    """The entry list after a write: the record replaces the one of its own subresource."""
    kept = [
        old for old in previous or []
        if isinstance(old, dict) and old.get("subresource") != record.get("subresource")
    ]
    if record.get("subresource"):
        return kept + [record]
    return [record] + kept
