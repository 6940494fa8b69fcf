# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""LIST: versions, paging, and bodies streamed out object by object."""

import base64
import json

import event_types
import protobuf
import status
from body_faults import BodyFault, StreamEnd
from gzip_sink import GzipSink
from objects import to_json
from wire import Response

# Only bodies beyond this size are compressed.
GZIP_THRESHOLD = 128 * 1024


def parse_version(text):
    if not text:
        return None
    try:
        version = int(text)
    except ValueError:
        version = -1
    if version < 0:
        raise status.bad_request(
            'Invalid value: "%s": strconv.ParseUint: parsing "%s": invalid syntax' % (text, text))
    return version


def encode_continue(rv, key):
    token = to_json({"v": "meta.k8s.io/v1", "rv": rv, "start": key + "\0"})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def decode_continue(text):
    try:
        padded = text + "=" * (-len(text) % 4)
        token = json.loads(base64.urlsafe_b64decode(padded.encode()))
        return int(token["rv"]), str(token["start"])
    except (ValueError, KeyError, TypeError):
        raise status.bad_request("continue key is not valid") from None


class Page:
    """The objects one list request answers with."""

    def __init__(self, store, resource, namespace, query, matcher):
        collection = store.collection(resource)
        try:
            limit = max(0, int(query.get("limit") or 0))
        except ValueError:
            raise status.bad_request("limit must be a number") from None
        version = parse_version(query.get("resourceVersion", ""))
        match = query.get("resourceVersionMatch", "")
        if match and match not in ("Exact", "NotOlderThan"):
            raise forbidden_option("resourceVersionMatch", "unknown value")
        if match and version is None:
            raise forbidden_option(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided")
        start = ""
        if query.get("continue"):
            if version:
                raise status.bad_request(
                    "specifying resource version is not allowed when using continue")
            self.rv, objects, start = self.resume(store, collection, query["continue"])
        elif version is not None and version > store.rv:
            raise status.too_large_version(version, store.rv)
        elif version and (match == "Exact" or (limit and match != "NotOlderThan")):
            self.rv, objects = version, collection.snapshot_at(version)
            if objects is None:
                raise status.expired("The resourceVersion for the provided list is too old.")
        else:
            # A response from the cache has only versions of its own type, and no pages.
            from_cache = version is not None and match != "Exact"
            self.rv = max(collection.last_rv, version or 0) if from_cache else store.rv
            if version == 0:
                limit = 0
            objects = collection.snapshot()
        prefix = "/" + namespace + "/" if namespace else "/"
        self.items = []
        self.next = self.remaining = None
        for position, stored in enumerate(objects):
            if stored.key < start or not stored.key.startswith(prefix) or not matcher.matches(stored):
                continue
            if limit and len(self.items) == limit:
                self.next = encode_continue(self.rv, self.items[-1].key)
                if matcher.empty:
                    self.remaining = sum(
                        1 for later in objects[position:] if later.key.startswith(prefix))
                break
            self.items.append(stored)

    @staticmethod
    def resume(store, collection, token):
        rv, start = decode_continue(token)
        if rv < 0:
            return store.rv, collection.snapshot(), start
        objects = collection.snapshot_at(rv)
        if objects is None:
            raise status.expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue "
                "token in this response to retrieve the remainder of the results. Continuing "
                "with the provided token results in an inconsistent list - objects that were "
                "created, modified, or deleted between the time the first chunk was returned and "
                "now may show up in the list.",
                {"continue": encode_continue(-1, start.rstrip("\0"))})
        return rv, objects, start

    def metadata(self):
        metadata = {"resourceVersion": str(self.rv)}
        if self.next:
            metadata["continue"] = self.next
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return metadata


def forbidden_option(field, text):
    return status.invalid("ListOptions", "", [(field, "FieldValueForbidden", "Forbidden: " + text)],
                          "meta.k8s.io")


def list_head(kind, api_version, metadata):
    head = to_json({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return head[:-1] + b',"items":['


def item_bytes(stored, resource, metadata_only):
    if metadata_only:
        metadata = json.loads(stored.item)["metadata"]
        return to_json({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                        "metadata": metadata})
    return event_types.item_for(stored, resource)


async def send_protobuf(connection, request, page, resource, headers):
    items = [json.loads(event_types.item_for(stored, resource)) for stored in page.items]
    response = Response(connection, request, headers=headers, content_type=protobuf.MEDIA_TYPE)
    body = protobuf.list_body(resource.kind, resource.api_version, page.metadata(), items)
    wants_gzip = "gzip" in request.header("accept-encoding") and len(body) > GZIP_THRESHOLD
    sink = GzipSink(response) if wants_gzip else response
    sink.write(body)
    if wants_gzip:
        sink.finish()
    await response.finish()
    return response


async def send_list(connection, request, page, resource, fault, form, headers):
    # Faults cut and insert JSON.
    if form.protobuf and fault is None:
        return await send_protobuf(connection, request, page, resource, headers)
    metadata_only = form.metadata_only
    response = Response(connection, request, headers=headers)
    kind = "PartialObjectMetadataList" if metadata_only else resource.kind + "List"
    version = "meta.k8s.io/v1" if metadata_only else resource.api_version
    head = list_head(kind, version, page.metadata())
    items = [item_bytes(stored, resource, metadata_only) for stored in page.items]
    size = len(head) + sum(map(len, items)) + max(0, len(items) - 1) + 3
    wants_gzip = "gzip" in request.header("accept-encoding")
    if (wants_gzip and size <= GZIP_THRESHOLD or metadata_only) and fault is None:
        response.write(head + b",".join(items) + b"]}\n")
        await response.finish()
        return response
    sink = response
    if wants_gzip and size > GZIP_THRESHOLD:
        sink = GzipSink(response)
    body_fault = BodyFault(fault, response, resource, watching=False)
    sink = body_fault.sink(sink)
    written = 0

    def put(data):
        nonlocal written
        if written:
            sink.write(b",")
        sink.write(data)
        written += 1

    body_fault.put = put
    body_fault.begin(size)
    sink.write(head)
    try:
        await body_fault.unit(0)
        for item in items:
            put(item)
            await response.pump()
            await body_fault.unit(1, item)
    except StreamEnd:
        await response.finish()
        return response
    sink.write(b"]}\n")
    if sink is not response:
        sink.finish()
    await response.finish()
    return response
