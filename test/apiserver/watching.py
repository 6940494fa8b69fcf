# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""WATCH: live changes, resumption, initial events, bookmarks and the end at the deadline."""

import asyncio
import collections
import random
import time

import event_types
import protobuf_stream
import status
from body_faults import BodyFault, StreamEnd, error_event
from listing import forbidden_option, parse_version
from objects import Change, to_json
from wire import Closed, Response

INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}
# The last bookmark comes this long before the deadline.
PRE_DEADLINE = 2.0
# The deadline, in seconds, of a watch that does not ask for one.
DEFAULT_DEADLINE = (1800, 3600)


class Watcher:
    """A running watch: its pending events, and whether it must stop."""

    def __init__(self, connection):
        self.connection = connection
        self.pending = collections.deque()
        self.wake = asyncio.Event()
        self.stop = None

    def offer(self, change):
        self.pending.append(change)
        self.wake.set()

    def inject(self, line):
        """Sends bytes as they are."""
        self.pending.append(line)
        self.wake.set()

    def end(self, how):
        self.stop = how
        self.wake.set()
        if how != "clean":
            # Also ends a stall or a slow transmission.
            self.connection.gone.set()


def without_unknown(query):
    """The query without the options that a server without initial events does not know."""
    return {name: value for name, value in query.items()
            if name not in ("sendInitialEvents", "resourceVersionMatch")}


def check_options(query, watch_list):
    initial = query.get("sendInitialEvents")
    match = query.get("resourceVersionMatch", "")
    if initial is None:
        if match:
            raise forbidden_option(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        return
    if not watch_list:
        raise forbidden_option(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
    if match != "NotOlderThan":
        raise forbidden_option(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")


class WatchStream:
    def __init__(self, server, connection, request, resource, namespace, matcher, fault, form, headers):
        self.server = server
        self.connection = connection
        self.resource = resource
        self.prefix = "/" + namespace + "/" if namespace else "/"
        self.matcher = matcher
        self.watcher = Watcher(connection)
        self.collection = server.store.collection(resource)
        content_type = protobuf_stream.CONTENT_TYPE if form.protobuf else "application/json"
        self.response = Response(connection, request, headers=headers, content_type=content_type)
        self.fault = BodyFault(fault, self.response, resource, watching=True)
        sink = self.fault.sink(self.response)
        self.put = self.fault.put = (protobuf_stream.FrameSink(sink) if form.protobuf else sink).write
        self.bookmarks = request.flag("allowWatchBookmarks")
        try:
            seconds = int(request.query.get("timeoutSeconds") or 0)
        except ValueError:
            raise status.bad_request("timeoutSeconds must be a number") from None
        self.started = time.monotonic()
        self.deadline = self.started + (seconds or random.randint(*DEFAULT_DEADLINE))
        self.next_bookmark = self.bookmark_time(self.started)
        # The initial events get a chunk each; a backlog of changes is packed.
        self.initial_events = 0
        self.from_rv = 0
        self.prepare(request)

    def prepare(self, request):
        """Queues the events before live changes; must not await before the watcher is registered."""
        version = parse_version(request.query.get("resourceVersion", ""))
        initial = request.query.get("sendInitialEvents")
        current = self.server.store.rv
        if initial is not None and version and version > current:
            raise status.too_large_version(version, current)
        if request.flag("sendInitialEvents") or (initial is None and not version):
            for stored in self.collection.snapshot():
                self.watcher.pending.append(Change(stored.rv, stored, None))
            if request.flag("sendInitialEvents") and self.bookmarks:
                self.watcher.pending.append(self.bookmark(INITIAL_EVENTS_END))
            self.initial_events = len(self.watcher.pending)
        elif version:
            changes = self.collection.changes_since(version)
            if changes is None:
                message = "too old resource version: %d (%d)" % (version, self.collection.floor)
                self.watcher.pending.append(error_event(status.expired(message)))
                self.watcher.end("clean")
            else:
                self.watcher.pending.extend(changes)
            # Does not wait for a version of the future; sends only changes after it.
            self.from_rv = version
        self.collection.watchers.add(self.watcher)

    def bookmark_time(self, now):
        regular = now + self.server.options.bookmark_interval
        last = self.deadline - PRE_DEADLINE
        # A watch that is too short has no last bookmark.
        return last if now + 1 < last < regular else regular

    def bookmark(self, annotations=None):
        metadata = {"resourceVersion": str(self.server.store.rv)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {"kind": self.resource.kind, "apiVersion": self.resource.api_version,
               "metadata": metadata, **self.resource.empty}
        return b'{"type":"BOOKMARK","object":%s}\n' % to_json(obj)

    def line(self, change):
        """The event of a change for this watch, or None."""
        current, previous = change.current, change.previous
        if not (current or previous).key.startswith(self.prefix):
            return None
        is_match = current is not None and self.matcher.matches(current)
        was_match = previous is not None and self.matcher.matches(previous)
        if is_match:
            kind, stored = (b"MODIFIED" if was_match else b"ADDED"), current
        elif was_match:
            kind, stored = b"DELETED", previous.at_version(change.rv)
        else:
            return None
        return b'{"type":"%s","object":%s}\n' % (kind, event_types.full_for(stored, self.resource))

    async def run(self):
        watcher, response = self.watcher, self.response
        self.server.watches[watcher] = self.resource
        try:
            self.connection.watch_for_eof(watcher.wake.set)
            self.fault.begin(None)
            await response.flush()
            await self.fault.unit(0)
            await self.loop()
            if watcher.stop in ("reset", "abrupt"):
                raise Closed
        except StreamEnd:
            pass
        except Closed:
            if watcher.stop == "reset":
                self.connection.reset()
            raise
        finally:
            self.collection.watchers.discard(watcher)
            self.server.watches.pop(watcher, None)
        await response.finish()
        return response

    async def loop(self):
        watcher = self.watcher
        while True:
            while watcher.pending and watcher.stop in (None, "clean"):
                entry = watcher.pending.popleft()
                self.initial_events -= 1
                if isinstance(entry, Change):
                    if entry.rv <= self.from_rv:
                        continue
                    entry = self.line(entry)
                    if entry is None:
                        continue
                self.put(entry)
                if self.initial_events >= 0:
                    self.response.end_chunk()
                await self.response.pump()
                await self.fault.unit(1, entry)
            if watcher.stop:
                return
            await self.response.flush()
            if self.connection.gone.is_set():
                raise Closed
            now = time.monotonic()
            if now >= self.deadline:
                return
            if self.bookmarks and now >= self.next_bookmark:
                self.next_bookmark = self.bookmark_time(now)
                watcher.pending.append(self.bookmark())
                continue
            if watcher.pending:
                continue
            watcher.wake.clear()
            due = min(self.deadline, self.next_bookmark) if self.bookmarks else self.deadline
            try:
                await asyncio.wait_for(watcher.wake.wait(), due - now)
            except asyncio.TimeoutError:
                pass
