# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Events are kept once, as events.k8s.io/v1; core/v1 shows them under other member names."""

import json

from objects import to_json
from resources import EVENTS_CORE, EVENTS_V1

# (events.k8s.io/v1, core/v1)
RENAMED = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)
TO_CORE = dict(RENAMED)
FROM_CORE = {core: v1 for v1, core in RENAMED}


def renamed(obj, names):
    return {names.get(name, name): value for name, value in obj.items()}


def from_request(obj, resource):
    """The form to store, for an object written at `resource`."""
    return renamed(obj, FROM_CORE) if resource is EVENTS_CORE else obj


def storage_resource(resource):
    return EVENTS_V1 if resource is EVENTS_CORE else resource


def item_for(stored, resource):
    """The list item of a stored object as `resource` shows it."""
    if resource is not EVENTS_CORE:
        return stored.item
    return to_json(renamed(json.loads(stored.item), TO_CORE))


def full_for(stored, resource):
    if resource is not EVENTS_CORE:
        return stored.full(resource)
    return b'{"kind":"Event","apiVersion":"v1",' + item_for(stored, resource)[1:]
