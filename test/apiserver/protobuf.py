# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects in Kubernetes' protobuf, from their JSON. Fields without a row in the tables are not written."""

import datetime

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


# Types of fields: functions that write one.

def text(number, value):
    # Tests send invalid UTF-8.
    return field(number, value.encode("utf-8", "surrogateescape"))


def integer(number, value):
    return varint(number << 3) + varint(int(value))


def time(number, value):
    at = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return field(number, integer(1, at.timestamp()) + integer(2, 0))


def int_or_text(number, value):
    numeric, words = (0, value) if isinstance(value, str) else (value, "")
    return field(number, integer(1, bool(words)) + integer(2, numeric) + text(3, words))


def text_by_key(number, value):
    return b"".join(field(number, text(1, key) + text(2, each)) for key, each in sorted(value.items()))


def list_of(write):
    return lambda number, values: b"".join(write(number, each) for each in values)


class Always:
    """A field that is no pointer in Kubernetes: written even if it is empty."""

    def __init__(self, write, empty):
        self.write, self.empty = write, empty


class Message:
    """`rows` are (number, key, type), ordered by number."""

    def __init__(self, *rows):
        self.rows = [(number, key, *self.parts(kind)) for number, key, kind in rows]

    @staticmethod
    def parts(kind):
        return (kind.write, kind.empty) if isinstance(kind, Always) else (kind, None)

    def content(self, value):
        out = []
        for number, key, write, empty in self.rows:
            each = value.get(key)
            if each is None:
                each = empty
            if each is not None:
                out.append(write(number, each))
        return b"".join(out)

    def __call__(self, number, value):
        return field(number, self.content(value))


WORD, COUNT = Always(text, ""), Always(integer, 0)

OBJECT_META = Message(
    (1, "name", WORD), (2, "generateName", WORD), (3, "namespace", WORD), (4, "selfLink", WORD), (5, "uid", WORD),
    (6, "resourceVersion", WORD), (7, "generation", COUNT), (8, "creationTimestamp", time), (9, "deletionTimestamp", time),
    (10, "deletionGracePeriodSeconds", integer), (11, "labels", text_by_key), (12, "annotations", text_by_key),
    (14, "finalizers", list_of(text)))
LIST_META = Message((1, "selfLink", WORD), (2, "resourceVersion", WORD), (3, "continue", WORD), (4, "remainingItemCount", integer))

SERVICE_PORT = Message((1, "name", WORD), (2, "protocol", WORD), (3, "port", COUNT), (4, "targetPort", int_or_text),
                       (5, "nodePort", COUNT), (6, "appProtocol", text))
AFFINITY = Message((1, "clientIP", Message((1, "timeoutSeconds", integer))))
SERVICE_SPEC = Message(
    (1, "ports", list_of(SERVICE_PORT)), (2, "selector", text_by_key), (3, "clusterIP", WORD), (4, "type", WORD),
    (5, "externalIPs", list_of(text)), (7, "sessionAffinity", WORD), (8, "loadBalancerIP", WORD),
    (9, "loadBalancerSourceRanges", list_of(text)), (10, "externalName", WORD), (11, "externalTrafficPolicy", WORD),
    (12, "healthCheckNodePort", COUNT), (13, "publishNotReadyAddresses", COUNT), (14, "sessionAffinityConfig", AFFINITY),
    (17, "ipFamilyPolicy", text), (18, "clusterIPs", list_of(text)), (19, "ipFamilies", list_of(text)),
    (20, "allocateLoadBalancerNodePorts", integer), (21, "loadBalancerClass", text), (22, "internalTrafficPolicy", text),
    (23, "trafficDistribution", text))
INGRESS = Message((1, "ip", WORD), (2, "hostname", WORD), (3, "ipMode", text))
SERVICE_STATUS = Message((1, "loadBalancer", Message((1, "ingress", list_of(INGRESS)))))

CONDITIONS = Message((1, "ready", integer), (2, "serving", integer), (3, "terminating", integer))
NAMED = list_of(Message((1, "name", WORD)))
TARGET = Message((1, "kind", WORD), (2, "namespace", WORD), (3, "name", WORD), (4, "uid", WORD), (5, "apiVersion", WORD),
                 (6, "resourceVersion", WORD), (7, "fieldPath", WORD))
ENDPOINT = Message((1, "addresses", list_of(text)), (2, "conditions", CONDITIONS), (3, "hostname", text), (4, "targetRef", TARGET),
                   (6, "nodeName", text), (7, "zone", text), (8, "hints", Message((1, "forZones", NAMED), (2, "forNodes", NAMED))))
SLICE_PORT = Message((1, "name", text), (2, "protocol", text), (3, "port", integer), (4, "appProtocol", text))

ADDRESS = Message((1, "ip", WORD), (2, "targetRef", TARGET), (3, "hostname", WORD), (4, "nodeName", text))
ENDPOINT_PORT = Message((1, "name", WORD), (2, "port", COUNT), (3, "protocol", WORD), (4, "appProtocol", text))
SUBSET = Message((1, "addresses", list_of(ADDRESS)), (2, "notReadyAddresses", list_of(ADDRESS)), (3, "ports", list_of(ENDPOINT_PORT)))

TAINT = Message((1, "key", WORD), (2, "value", WORD), (3, "effect", WORD))
NODE_SPEC = Message((1, "podCIDR", WORD), (3, "providerID", WORD), (4, "unschedulable", COUNT), (5, "taints", list_of(TAINT)),
                    (7, "podCIDRs", list_of(text)))
NODE_STATUS = Message((3, "phase", WORD), (5, "addresses", list_of(Message((1, "type", WORD), (2, "address", WORD)))))

CAUSE = Message((1, "reason", WORD), (2, "message", WORD), (3, "field", WORD))
DETAILS = Message((1, "name", WORD), (2, "group", WORD), (3, "kind", WORD), (4, "causes", list_of(CAUSE)),
                  (5, "retryAfterSeconds", COUNT), (6, "uid", WORD))

METADATA = (1, "metadata", Always(OBJECT_META, {}))
KINDS = {
    "Service": Message(METADATA, (2, "spec", SERVICE_SPEC), (3, "status", SERVICE_STATUS)),
    "EndpointSlice": Message(METADATA, (2, "endpoints", list_of(ENDPOINT)), (3, "ports", list_of(SLICE_PORT)),
                             (4, "addressType", WORD)),
    "Endpoints": Message(METADATA, (2, "subsets", list_of(SUBSET))),
    "Node": Message(METADATA, (2, "spec", NODE_SPEC), (3, "status", NODE_STATUS)),
    "ServiceCIDR": Message(METADATA, (2, "spec", Message((1, "cidrs", list_of(text))))),
    "Status": Message((1, "metadata", Always(LIST_META, {})), (2, "status", WORD), (3, "message", WORD), (4, "reason", WORD),
                      (5, "details", DETAILS), (6, "code", COUNT)),
}
OTHER = Message(METADATA)


# The beginning of field 2, which all kinds have.
INCOMPLETE_FIELD = b"\x12\x7f"


def content(kind, obj):
    """The fields of an object. Tests load objects that no protobuf can hold: those get an incomplete field in their place."""
    try:
        return KINDS.get(kind, OTHER).content(obj)
    except (AttributeError, TypeError, ValueError):
        return OTHER.content(obj) + INCOMPLETE_FIELD


def unknown(kind, api_version, raw):
    """A body, or the object of a watch event: the magic bytes and a runtime.Unknown."""
    type_meta = text(1, api_version) + text(2, kind)
    return MAGIC + field(1, type_meta) + field(2, raw) + text(3, "") + text(4, "")


def document(obj):
    kind = obj.get("kind", "")
    return unknown(kind, obj.get("apiVersion", ""), content(kind, obj))


def list_body(kind, api_version, metadata, items):
    """`items` are the objects of the list in JSON, decoded."""
    raw = LIST_META(1, metadata) + b"".join(field(2, content(kind, each)) for each in items)
    return unknown(kind + "List", api_version, raw)


def event_frame(event):
    """A watch event with the length in front."""
    body = text(1, event["type"]) + field(2, field(1, document(event["object"])))
    return len(body).to_bytes(4, "big") + body
