# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Requests: credentials, paths and verbs."""

import collections
import json

import event_types
import protobuf
import resources
import status
import watching
from admin import Admin
from faults import FaultList
from listing import Page, send_list
from negotiation import Form, negotiate
from object_selectors import Matcher
from objects import to_json
from request_log import RequestLog
from resources import BY_GROUP, DISCOVERY, NETWORKING, OLDER_SERVICE_CIDRS, SERVICE_CIDR_VERSIONS
from wire import Malformed, Response

PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")
EXTERNAL_IPS_WARNING = (
    "spec.externalIPs is deprecated and may no longer be implemented in some clusters")


class Target:
    """What a resource path names."""

    def __init__(self, resource, namespace, name, subresource):
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.subresource = subresource


def parse_target(path):
    parts = [part for part in path.split("/") if part]
    older = None
    if parts[:2] == ["api", "v1"]:
        group, parts = "", parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis" and parts[2] == "v1":
        group, parts = parts[1], parts[3:]
    elif parts[:4] == ["apis", NETWORKING, "v1beta1", "servicecidrs"]:
        group, parts, older = NETWORKING, parts[3:], OLDER_SERVICE_CIDRS
    else:
        raise status.no_such_path()
    namespace = ""
    if parts and parts[0] == "namespaces" and len(parts) >= 3:
        namespace, parts = parts[1], parts[2:]
    if not parts or len(parts) > 3:
        raise status.no_such_path()
    resource = older or BY_GROUP.get((group, parts[0]))
    if resource is None or (namespace and not resource.namespaced):
        raise status.no_such_path()
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    if (subresource and not (subresource == "status" and resource.status)) or (
            name and resource.namespaced and not namespace):
        raise status.no_such_path()
    return Target(resource, namespace, name, subresource)


def decode_body(request):
    content_type = request.header("content-type").partition(";")[0].strip()
    allowed = ("", "application/json", "application/merge-patch+json",
               "application/strategic-merge-patch+json", "application/x-www-form-urlencoded")
    if content_type not in allowed:
        raise status.ApiError(
            415, "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json")
    try:
        return json.loads(request.body.decode("utf-8"))
    except ValueError as error:
        raise status.bad_request("couldn't parse the request body: %s" % error) from None


def merge_patch(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


class ApiServer:
    def __init__(self, store, options, pki):
        self.store = store
        self.options = options
        self.pki = pki
        self.listener = None
        self.faults = FaultList()
        self.watches = {}
        self.requests = collections.Counter()
        self.request_log = RequestLog()
        self.connections = set()
        self.accepted = 0
        self.admin = Admin(self)

    async def serve(self, connection):
        """All requests of one connection."""
        self.connections.add(connection)
        self.accepted += 1
        connection.number = self.accepted
        try:
            while True:
                request = await connection.read_request()
                if request is None:
                    break
                connection.entry = None
                response = await self.answer(connection, request)
                # Settings that a fault made for this response end with it.
                connection.drip = None
                await connection.end_watch_for_eof()
                if not response.keep_alive:
                    break
        except Malformed as error:
            response = Response(connection, None, 400, content_type="text/plain; charset=utf-8",
                                flow_control=False)
            response.write(("400 Bad Request: %s" % error).encode())
            await response.finish()
        finally:
            self.connections.discard(connection)

    async def answer(self, connection, request):
        try:
            if request.path.startswith("/_test/"):
                return await self.admin.handle(connection, request)
            try:
                self.authenticate(connection, request)
            except status.ApiError:
                self.request_log.add(connection, request, "", "")
                raise
            return await self.dispatch(connection, request)
        except status.ApiError as error:
            body, content_type = self.error_body(request, error)
            response = Response(connection, request, error.code, headers=error.headers, content_type=content_type,
                                flow_control=error.code != 401)
            response.write(body)
            await response.finish()
            return response

    def error_body(self, request, error):
        try:
            as_protobuf = self.negotiate(request).protobuf
        except status.ApiError:
            as_protobuf = False
        if as_protobuf:
            return protobuf.document(error.status()), protobuf.MEDIA_TYPE
        return to_json(error.status()) + b"\n", "application/json"

    def negotiate(self, request):
        return negotiate(request.header("accept"), not self.options.no_protobuf)

    def authenticate(self, connection, request):
        if self.options.plain or self.options.anonymous or request.path in PUBLIC_PATHS:
            return
        scheme, _, credential = request.header("authorization").partition(" ")
        if scheme.lower() == "bearer":
            if credential.strip() == self.pki.token():
                return
        elif self.pki.accepts(connection.certificate_names()):
            return
        raise status.unauthorized()

    async def reply(self, connection, request, body, code=200, headers=(), newline=True,
                    content_type="application/json"):
        response = Response(connection, request, code, headers, content_type)
        response.write(body + b"\n" if newline else body)
        await response.finish()
        return response

    async def dispatch(self, connection, request):
        document = self.document(request.path)
        if document is not None:
            return await self.reply_document(connection, request, document)
        target = self.target(connection, request)
        verb = self.verb(request, target)
        plural = target.resource.plural
        self.requests[verb + " " + plural] += 1
        self.request_log.add(connection, request, verb, plural)
        fault = self.faults.take(verb, plural, request.flag("sendInitialEvents"))
        if fault is not None and fault.before_body:
            response = await fault.answer(connection, request)
            if response is not None:
                return response
        return await getattr(self, "do_" + verb)(connection, request, target, fault)

    async def reply_document(self, connection, request, document):
        self.requests["get " + request.path] += 1
        self.request_log.add(connection, request, "get", request.path)
        body, content_type = document
        fault = self.faults.take("get", request.path)
        if fault is not None:
            response = await fault.answer(connection, request)
            if response is not None:
                return response
        newline = content_type == "application/json" and request.path != "/version"
        return await self.reply(connection, request, body, newline=newline, content_type=content_type)

    def target(self, connection, request):
        try:
            target = parse_target(request.path)
            if self.options.no_endpointslices and target.resource.group == DISCOVERY:
                raise status.no_such_path()
            if target.resource.plural == "servicecidrs" and (
                    target.resource.version not in SERVICE_CIDR_VERSIONS[self.options.service_cidrs]):
                raise status.no_such_path()
            return target
        except status.ApiError:
            self.request_log.add(connection, request, "", "")
            raise

    def document(self, path):
        if path in ("/healthz", "/livez", "/readyz"):
            return b"ok", "text/plain; charset=utf-8"
        if path == "/version":
            return resources.VERSION_TEXT, "application/json"
        hidden = (DISCOVERY,) if self.options.no_endpointslices else ()
        groups = [group for group in resources.GROUPS if group not in hidden]
        parts = [part for part in path.split("/") if part]
        document = None
        if parts == ["api"]:
            document = resources.api_versions()
        elif parts == ["api", "v1"]:
            document = resources.resource_list("")
        elif parts == ["apis"]:
            document = resources.group_list(groups)
        elif len(parts) in (2, 3) and parts[0] == "apis" and parts[1] in groups:
            if len(parts) == 2:
                document = {"kind": "APIGroup", "apiVersion": "v1", **resources.api_group(parts[1])}
            elif parts[2] == "v1":
                document = resources.resource_list(parts[1])
        return None if document is None else (to_json(document), "application/json")

    @staticmethod
    def verb(request, target):
        method = request.method
        if method in ("GET", "HEAD"):
            if target.name:
                return "get"
            return "watch" if request.flag("watch") else "list"
        if method == "POST" and not target.name:
            return "create"
        if method == "DELETE":
            return "delete" if target.name else "deletecollection"
        if method in ("PUT", "PATCH") and target.name:
            return "update" if method == "PUT" else "patch"
        raise status.ApiError(405, "MethodNotAllowed",
                              "the server does not allow this method on the requested resource")

    def matcher(self, request, resource):
        supported = resource.selectable
        if self.options.no_clusterip_field_selector:
            supported = tuple(name for name in supported if name != "spec.clusterIP")
        return Matcher(request.query.get("labelSelector", ""),
                       request.query.get("fieldSelector", ""), supported)

    @staticmethod
    def warnings(resource, obj=None):
        if resource.warning:
            return {"Warning": '299 - "%s"' % resource.warning}
        spec = obj.get("spec") if obj else None
        if resource.kind == "Service" and isinstance(spec, dict) and spec.get("externalIPs"):
            return {"Warning": '299 - "%s"' % EXTERNAL_IPS_WARNING}
        return {}

    async def do_list(self, connection, request, target, fault):
        form = self.negotiate(request)
        matcher = self.matcher(request, target.resource)
        page = Page(self.store, target.resource, target.namespace, request.query, matcher)
        return await send_list(connection, request, page, target.resource, fault, form,
                               self.warnings(target.resource))

    async def do_watch(self, connection, request, target, fault):
        form = self.negotiate(request)
        matcher = self.matcher(request, target.resource)
        if self.options.ignore_watchlist:
            request.query = watching.without_unknown(request.query)
        watching.check_options(request.query, not self.options.no_watchlist)
        stream = watching.WatchStream(self, connection, request, target.resource,
                                      target.namespace, matcher, fault, form,
                                      self.warnings(target.resource))
        return await stream.run()

    async def do_get(self, connection, request, target, fault):
        negotiate(request.header("accept"))
        stored = self.store.find(target.resource, target.namespace, target.name)
        return await self.reply(connection, request,
                                event_types.full_for(stored, target.resource),
                                headers=self.warnings(target.resource))

    def body_object(self, request, target):
        obj = decode_body(request)
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise status.bad_request("the request body is not an object")
        return event_types.from_request(obj, target.resource)

    @staticmethod
    def manager(request):
        return request.header("user-agent").partition("/")[0] or "unknown"

    async def do_create(self, connection, request, target, fault):
        obj = self.body_object(request, target)
        namespace = target.namespace
        if target.resource.namespaced and not namespace:
            raise status.ApiError(405, "MethodNotAllowed",
                                  "the server does not allow this method on the requested resource")
        storage = event_types.storage_resource(target.resource)
        stored = self.store.create(storage, namespace, obj, self.manager(request))
        return await self.reply(connection, request,
                                event_types.full_for(stored, target.resource), 201,
                                self.warnings(target.resource, obj))

    async def do_update(self, connection, request, target, fault):
        obj = self.body_object(request, target)
        return await self.write_existing(connection, request, target, obj)

    async def do_patch(self, connection, request, target, fault):
        content_type = request.header("content-type").partition(";")[0].strip()
        if content_type not in ("application/merge-patch+json",
                                "application/strategic-merge-patch+json"):
            raise status.ApiError(
                415, "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: "
                "application/merge-patch+json, application/strategic-merge-patch+json")
        patch = self.body_object(request, target)
        storage = event_types.storage_resource(target.resource)
        current = self.store.find(storage, target.namespace, target.name).decode(storage)
        if "resourceVersion" not in patch.get("metadata", {}):
            current["metadata"].pop("resourceVersion", None)
        return await self.write_existing(connection, request, target, merge_patch(current, patch))

    async def write_existing(self, connection, request, target, obj):
        storage = event_types.storage_resource(target.resource)
        manager = self.manager(request)
        code = 200
        try:
            stored = self.store.replace(storage, target.namespace, target.name, obj, manager,
                                        target.subresource)
        except status.ApiError as error:
            missing = error.code == 404 and request.method == "PUT" and not target.subresource
            if not (missing and storage.create_on_update):
                raise
            obj.setdefault("metadata", {})["name"] = target.name
            stored = self.store.create(storage, target.namespace, obj, manager)
            code = 201
        return await self.reply(connection, request,
                                event_types.full_for(stored, target.resource), code,
                                self.warnings(target.resource, obj))

    async def do_delete(self, connection, request, target, fault):
        storage = event_types.storage_resource(target.resource)
        stored = self.store.delete(storage, target.namespace, target.name)
        if storage.returns_deleted:
            body = event_types.full_for(stored, target.resource)
        else:
            details = {"name": target.name}
            if target.resource.group:
                details["group"] = target.resource.group
            details["kind"] = target.resource.plural
            details["uid"] = stored.decode(storage)["metadata"]["uid"]
            body = to_json({"kind": "Status", "apiVersion": "v1", "metadata": {},
                            "status": "Success", "details": details})
        return await self.reply(connection, request, body)

    async def do_deletecollection(self, connection, request, target, fault):
        storage = event_types.storage_resource(target.resource)
        matcher = self.matcher(request, target.resource)
        page = Page(self.store, storage, target.namespace, {}, matcher)
        for stored in page.items:
            self.store.delete(storage, stored.namespace, stored.name)
        return await send_list(connection, request, page, target.resource, fault, Form(), {})
