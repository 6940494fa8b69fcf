# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The object store: serialised objects, versions, change history and old snapshots."""

import bisect
import collections
import json
import random
import time
import uuid

import managed_fields
import status
from defaults import Allocator, apply_static, canonical_order
from resources import BY_GROUP, RESOURCES
from validation import check

NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def to_json(value):
    """JSON as the server writes it: compact, UTF-8, with <, > and & escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.encode("utf-8", "replace")


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class StoredObject:
    """One version of an object; `item` is its JSON without kind and apiVersion, as in a list."""

    __slots__ = ("key", "namespace", "name", "labels", "selectable", "rv", "item")

    def __init__(self, resource, obj, rv):
        metadata = obj["metadata"]
        self.name = str(metadata.get("name", ""))
        self.namespace = str(metadata.get("namespace", ""))
        self.key = object_key(self.namespace, self.name)
        labels = metadata.get("labels")
        self.labels = labels if isinstance(labels, dict) else {}
        self.selectable = None
        spec = obj.get("spec")
        if len(resource.selectable) > 2 and isinstance(spec, dict):
            self.selectable = {
                path: field_text(spec.get(path.partition(".")[2])) for path in resource.selectable[2:]
            }
        self.rv = rv
        self.item = to_json({k: v for k, v in obj.items() if k not in ("kind", "apiVersion")})

    def field(self, path):
        if path == "metadata.name":
            return self.name
        if path == "metadata.namespace":
            return self.namespace
        return (self.selectable or {}).get(path, "")

    def full(self, resource):
        """The JSON with kind and apiVersion, as a GET or a watch event carries it."""
        return b'{"kind":"%s","apiVersion":"%s",%s' % (
            resource.kind.encode(), resource.api_version.encode(), self.item[1:])

    def decode(self, resource):
        return json.loads(self.full(resource))

    def at_version(self, rv):
        """The same content under another resource version (the final state of a deletion)."""
        copy = StoredObject.__new__(StoredObject)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.rv = rv
        # Quotes inside JSON strings are escaped, so the first match is the member of metadata.
        copy.item = self.item.replace(
            b'"resourceVersion":"%d"' % self.rv, b'"resourceVersion":"%d"' % rv, 1)
        return copy


Change = collections.namedtuple("Change", "rv current previous")


def object_key(namespace, name):
    return "/%s/%s" % (namespace, name) if namespace else "/" + name


def field_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class Collection:
    """All objects of one type, and the changes that led to them."""

    def __init__(self, history, first_rv):
        self.objects = {}
        self.keys = []
        self.sorted = True
        self.history = collections.deque()
        self.history_limit = history
        # Nothing is known about versions below this one.
        self.floor = first_rv
        self.last_rv = first_rv
        self.watchers = set()

    def apply(self, change):
        if change.current is None:
            key = change.previous.key
            del self.objects[key]
            self.sort()
            del self.keys[bisect.bisect_left(self.keys, key)]
        else:
            key = change.current.key
            if key not in self.objects:
                self.sorted = self.sorted and (not self.keys or self.keys[-1] < key)
                self.keys.append(key)
            self.objects[key] = change.current
        self.last_rv = change.rv
        self.history.append(change)
        while len(self.history) > self.history_limit:
            self.floor = self.history.popleft().rv
        for watcher in self.watchers:
            watcher.offer(change)

    def sort(self):
        if not self.sorted:
            self.keys.sort()
            self.sorted = True

    def snapshot(self):
        """The objects of now, by key order."""
        self.sort()
        return [self.objects[key] for key in self.keys]

    def snapshot_at(self, rv):
        """The objects as of an older version, or None when the history does not reach it."""
        if rv < self.floor:
            return None
        if rv >= self.last_rv:
            return self.snapshot()
        state = dict(self.objects)
        for change in reversed(self.history):
            if change.rv <= rv:
                break
            if change.previous is None:
                del state[change.current.key]
            else:
                state[change.previous.key] = change.previous
        return [state[key] for key in sorted(state)]

    def changes_since(self, rv):
        """Changes after a version, or None when the history does not reach it."""
        if rv < self.floor:
            return None
        tail = []
        for change in reversed(self.history):
            if change.rv <= rv:
                break
            tail.append(change)
        tail.reverse()
        return tail


    def restore(self, state, rv):
        """Replaces all objects by `state` and drops the history."""
        self.objects = {stored.key: stored for stored in state}
        self.keys = list(self.objects)
        self.history.clear()
        self.floor = self.last_rv = rv


class Store:
    def __init__(self, history=20000, first_rv=500, validate=False):
        self.rv = first_rv
        self.first_rv = first_rv
        self.validate = validate
        self.allocator = Allocator()
        self.collections = {
            resource.collection: Collection(history, first_rv) for resource in RESOURCES
        }

    def collection(self, resource):
        return self.collections[resource.collection]

    def find(self, resource, namespace, name):
        stored = self.collection(resource).objects.get(object_key(namespace, name))
        if stored is None:
            raise status.not_found(resource, name)
        return stored

    def create(self, resource, namespace, obj, manager, raw=False):
        """`raw` stores the object as given, without defaults, allocation or validation."""
        metadata = obj.setdefault("metadata", {})
        prepare_metadata(resource, metadata, namespace)
        if not metadata.get("name") and metadata.get("generateName"):
            suffix = "".join(random.choice(NAME_ALPHABET) for _ in range(5))
            metadata["name"] = str(metadata["generateName"]) + suffix
        if not raw:
            check(resource, obj, self.validate)
        name = str(metadata.get("name", ""))
        if object_key(namespace, name) in self.collection(resource).objects:
            raise status.already_exists(resource, name)
        metadata["uid"] = str(uuid.UUID(int=random.getrandbits(128), version=4))
        metadata["creationTimestamp"] = now_text()
        if resource.has_generation:
            metadata["generation"] = 1
        return self.write(resource, obj, None, manager, "", raw)

    def replace(self, resource, namespace, name, obj, manager, subresource="", raw=False):
        previous = self.find(resource, namespace, name)
        old = previous.decode(resource)
        metadata = obj.setdefault("metadata", {})
        prepare_metadata(resource, metadata, namespace)
        metadata["name"] = name
        wanted = metadata.get("resourceVersion")
        if wanted and wanted != str(previous.rv):
            raise status.conflict(resource, name)
        if subresource:
            obj = {**old, subresource: obj.get(subresource)}
            metadata = obj["metadata"]
        else:
            for field in ("uid", "creationTimestamp", "generation"):
                if field in old["metadata"]:
                    metadata[field] = old["metadata"][field]
            metadata["managedFields"] = old["metadata"].get("managedFields", [])
            if "status" in old:
                obj.setdefault("status", old["status"])
        if not raw:
            check(resource, obj, self.validate)
        return self.write(resource, obj, previous, manager, subresource, raw)

    def write(self, resource, obj, previous, manager, subresource, raw):
        old = previous.decode(resource) if previous else None
        metadata = obj["metadata"]
        metadata.pop("resourceVersion", None)
        obj["kind"] = resource.kind
        obj["apiVersion"] = resource.api_version
        if not raw:
            apply_static(obj, resource.kind)
            record = managed_fields.entry(obj, manager, now_text(), subresource)
            self.allocator.fill(obj, resource.kind, old)
        if old is not None:
            if same_content(old, obj):
                return previous
            if resource.has_generation and not same_content(old, obj, beyond_metadata=True):
                metadata["generation"] = old["metadata"].get("generation", 0) + 1
        if not raw:
            held = metadata.get("managedFields") if old is not None else None
            metadata["managedFields"] = managed_fields.merged(held, record)
        self.rv += 1
        metadata["resourceVersion"] = str(self.rv)
        stored = StoredObject(resource, canonical_order(obj, resource.kind), self.rv)
        if old is not None:
            self.allocator.track(old, add=False)
        self.allocator.track(obj, add=True)
        self.collection(resource).apply(Change(self.rv, stored, previous))
        return stored

    def delete(self, resource, namespace, name):
        previous = self.find(resource, namespace, name)
        self.allocator.track(previous.decode(resource), add=False)
        self.rv += 1
        self.collection(resource).apply(Change(self.rv, None, previous))
        return previous.at_version(self.rv)

    def compact(self):
        """Forgets every version handed out so far, the newest included."""
        self.rv += 1
        for collection in self.collections.values():
            collection.history.clear()
            collection.floor = self.rv
            collection.last_rv = self.rv


    def restore(self, version):
        """Restores the state of that version. Returns whether the history reaches it. Watches receive no events."""
        states = {name: collection.snapshot_at(version)
                  for name, collection in self.collections.items()}
        if version > self.rv or any(state is None for state in states.values()):
            return False
        self.rv = version
        for name, state in states.items():
            self.collections[name].restore(state, version)
        self.allocator = Allocator()
        services = BY_GROUP[("", "services")]
        for stored in states[services.collection]:
            self.allocator.track(stored.decode(services), add=True)
        return True


def prepare_metadata(resource, metadata, namespace):
    if resource.namespaced:
        given = metadata.get("namespace")
        if given and given != namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)


def same_content(old, new, beyond_metadata=False):
    """Whether a write changes nothing; such a write gets no new version."""
    for name in set(old) | set(new):
        if name == "metadata":
            if beyond_metadata:
                continue
            ignored = ("resourceVersion", "managedFields", "generation")
            left = {k: v for k, v in old["metadata"].items() if k not in ignored}
            right = {k: v for k, v in new["metadata"].items() if k not in ignored}
            if left != right:
                return False
        elif old.get(name) != new.get(name):
            return False
    return True


def seed(store):
    """The objects a real server creates for itself."""
    service = {
        "metadata": {"name": "kubernetes",
                     "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": "10.96.0.1",
                 "ports": [{"name": "https", "port": 443, "targetPort": 6443}],
                 "ipFamilyPolicy": "SingleStack"},
    }
    endpoints = {
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.200.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": 6443}],
    }
    ranges = {"metadata": {"name": "kubernetes"},
              "spec": {"cidrs": ["10.96.0.0/16", "fd00:96::/112"]}}
    manager = "kube-apiserver"
    store.create(BY_GROUP[("", "services")], "default", service, manager)
    store.create(BY_GROUP[("discovery.k8s.io", "endpointslices")], "default", endpoints, manager)
    store.create(BY_GROUP[("networking.k8s.io", "servicecidrs")], "", ranges, manager)
