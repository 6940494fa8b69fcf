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
from resources import BY_TYPE, RESOURCES, SERVICE_CIDR_VERSIONS
from wire import Response

MANAGER = "test-control"
# Long jobs let other connections proceed after this many objects.
SLICE = 500


CHANGEABLE = ("bookmark_interval", "no_protobuf", "no_watchlist", "ignore_watchlist", "no_endpointslices",
              "no_clusterip_field_selector", "service_cidrs")


class Admin:
    def __init__(self, server):
        self.server = server
        self.routes = {
            ("GET", "stats"): self.stats,
            ("GET", "fault"): self.list_faults,
            ("POST", "fault"): self.add_fault,
            ("DELETE", "fault"): self.clear_faults,
            ("POST", "cut"): self.cut,
            ("POST", "disconnect"): self.disconnect,
            ("POST", "compact"): self.compact,
            ("POST", "inject"): self.inject,
            ("GET", "requests"): self.list_requests,
            ("POST", "options"): self.set_options,
            ("POST", "certificate"): self.renew_certificate,
            ("POST", "restore"): self.restore,
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
            body = json.loads(request.body) if request.body else dict(request.query)
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

    async def list_requests(self, body):
        log = self.server.request_log
        try:
            since = int(body.get("since", 0))
        except ValueError:
            raise status.bad_request("since must be a number") from None
        return {"requests": log.since(since), "next": log.next}

    async def set_options(self, body):
        """Changes flags while the server runs, as after an upgrade."""
        unknown = sorted(set(body) - set(CHANGEABLE))
        if unknown:
            raise status.bad_request("options are %s, and not %s" % (
                ", ".join(CHANGEABLE), ", ".join(unknown)))
        if body.get("service_cidrs", "v1") not in SERVICE_CIDR_VERSIONS:
            raise status.bad_request("service_cidrs is one of " + ", ".join(SERVICE_CIDR_VERSIONS))
        for name, value in body.items():
            setattr(self.server.options, name, value)
        return {name: getattr(self.server.options, name) for name in CHANGEABLE}

    async def renew_certificate(self, body):
        """Makes a new server certificate for new connections, or a new client certificate in the folder."""
        if self.server.pki is None:
            raise status.bad_request("the server runs without TLS")
        unknown = sorted(set(body) - {"name", "authority", "valid_from", "valid_until", "revoke_others", "issue"})
        if unknown or body.get("name") not in ("server", "client") or \
                body.get("authority", "ca") not in ("ca", "other-ca"):
            raise status.bad_request("give name (server or client), and if you like authority "
                                     "(ca or other-ca), valid_from, valid_until (seconds from now), "
                                     "revoke_others (of a client), issue (false: the one in the folder stays)")
        revoke = body.pop("revoke_others", False)
        if body.pop("issue", True):
            self.server.pki.issue(**body)
            if body["name"] == "client":
                self.server.pki.only_client = None
        if revoke and body["name"] == "client":
            self.server.pki.revoke_others()
        if body["name"] == "server":
            self.server.listener.renew_certificate()
        return {}

    async def restore(self, body):
        """Restores an older state, including its version, and ends every watch, like a restore from a backup."""
        version = body.get("resourceVersion")
        if not isinstance(version, int) or not self.server.store.restore(version):
            raise status.bad_request("resourceVersion must be a version that the history still has")
        return await self.cut({})

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

    async def disconnect(self, _):
        """Closes every connection with requests, which also ends stalled and slow responses."""
        asking = [one for one in self.server.connections if one.entry is not None]
        for connection in asking:
            connection.gone.set()
            connection.abort()
        self.server.listener.release_held()
        return {"disconnected": len(asking)}

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
