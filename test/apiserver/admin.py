# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The control interface under /_test/: faults, bulk data, statistics."""

import asyncio
import json
import time

import bulk
import event_types
import status
from faults import KINDS
from objects import object_key, to_json
from resources import BY_TYPE, RESOURCES
from wire import Response

MANAGER = "test-control"
# Long jobs let other connections proceed after this many objects.
SLICE = 500


class Admin:
    def __init__(self, server):
        self.server = server
        self.routes = {
            ("GET", "stats"): self.stats,
            ("GET", "fault"): self.list_faults,
            ("POST", "fault"): self.add_fault,
            ("DELETE", "fault"): self.clear_faults,
            ("POST", "cut"): self.cut,
            ("POST", "compact"): self.compact,
            ("POST", "inject"): self.inject,
            ("POST", "bulk"): self.bulk,
            ("POST", "load"): self.load,
            ("POST", "reset"): self.reset,
        }

    async def handle(self, connection, request):
        route = self.routes.get((request.method, request.path[len("/_test/"):].rstrip("/")))
        if route is None:
            known = ", ".join("%s /_test/%s" % key for key in self.routes)
            raise status.ApiError(404, "NotFound", "known are: " + known)
        try:
            body = json.loads(request.body) if request.body else {}
        except ValueError as error:
            raise status.bad_request("request body is not JSON: %s" % error) from None
        answer = await route(body)
        response = Response(connection, request, flow_control=False)
        response.write(to_json(answer) + b"\n")
        await response.finish()
        return response

    async def stats(self, _):
        server = self.server
        running = {}
        for resource in server.watches.values():
            running[resource.plural] = running.get(resource.plural, 0) + 1
        return {
            "requests": dict(sorted(server.requests.items())),
            "watches": running,
            "connections": len(server.connections),
            "accepted": server.accepted,
            "resourceVersion": server.store.rv,
            "objects": {
                name: len(collection.objects)
                for name, collection in server.store.collections.items()
            },
            "faults": [fault.describe() for fault in server.faults.faults],
        }

    async def list_faults(self, _):
        return {"faults": [fault.describe() for fault in self.server.faults.faults], "kinds": KINDS}

    async def add_fault(self, body):
        entries = body if isinstance(body, list) else [body]
        return {"faults": [self.server.faults.add(entry).describe() for entry in entries]}

    async def clear_faults(self, _):
        self.server.faults.clear()
        return {"faults": []}

    def chosen_watches(self, body):
        wanted = body.get("resource", "")
        return [
            watcher for watcher, resource in self.server.watches.items()
            if not wanted or resource.plural == wanted
        ]

    async def cut(self, body):
        how = body.get("how", "abrupt")
        if how not in ("abrupt", "clean", "reset"):
            raise status.bad_request("how must be abrupt, clean or reset")
        watchers = self.chosen_watches(body)
        for watcher in watchers:
            watcher.end(how)
        return {"cut": len(watchers)}

    async def compact(self, _):
        self.server.store.compact()
        return {"resourceVersion": self.server.store.rv}

    async def inject(self, body):
        if "raw" in body:
            line = str(body["raw"]).encode("utf-8", "surrogateescape")
        elif "event" in body:
            line = to_json(body["event"]) + b"\n"
        else:
            raise status.bad_request("give raw (text) or event (an object)")
        watchers = self.chosen_watches(body)
        for watcher in watchers:
            watcher.inject(line)
        return {"injected": len(watchers)}

    async def bulk(self, body):
        started = time.monotonic()
        created = await self.put_all(bulk.objects(body), False)
        return {"created": created, "seconds": round(time.monotonic() - started, 3),
                "resourceVersion": self.server.store.rv}

    async def load(self, body):
        raw = False
        if isinstance(body, dict):
            raw = bool(body.get("raw", False))
            entries = body.get("items", body.get("objects"))
            if entries is None:
                entries = [body]
        else:
            entries = body
        count = await self.put_all(entries, raw)
        return {"stored": count, "resourceVersion": self.server.store.rv}

    async def put_all(self, entries, raw):
        count = 0
        for obj in entries:
            self.put(obj, raw)
            count += 1
            if count % SLICE == 0:
                await asyncio.sleep(0)
        return count

    def put(self, obj, raw):
        """Creates or replaces one object."""
        store = self.server.store
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise status.bad_request("an entry is not an object")
        resource = BY_TYPE.get((obj.get("apiVersion"), obj.get("kind")))
        if resource is None:
            raise status.bad_request("unknown type %s %s" % (obj.get("apiVersion"), obj.get("kind")))
        obj = event_types.from_request(obj, resource)
        resource = event_types.storage_resource(resource)
        metadata = obj.setdefault("metadata", {})
        metadata.pop("resourceVersion", None)
        namespace = (metadata.get("namespace") or "default") if resource.namespaced else ""
        name = str(metadata.get("name", ""))
        if object_key(namespace, name) in store.collection(resource).objects:
            store.replace(resource, namespace, name, obj, MANAGER, raw=raw)
        else:
            store.create(resource, namespace, obj, MANAGER, raw=raw)

    async def reset(self, _):
        """Deletes every object (watches see it) and drops all faults."""
        store = self.server.store
        deleted = 0
        for resource in RESOURCES:
            if event_types.storage_resource(resource) is not resource:
                continue
            for stored in store.collection(resource).snapshot():
                store.delete(resource, stored.namespace, stored.name)
                deleted += 1
        self.server.faults.clear()
        return {"deleted": deleted}
