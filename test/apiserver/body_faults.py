# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Faults inside a body: between, within and instead of the objects of a list or a watch."""

import asyncio

import status
from gzip_sink import GzipSink
from objects import to_json
from wire import Closed

DRIP_PAUSE = 0.05


class StreamEnd(Exception):
    """The fault ended the body; the response is completed normally."""


class BodyFault:
    """Applies a fault while a body is written; `unit()` is called between its objects."""

    def __init__(self, fault, response, resource, watching):
        self.fault = fault
        self.response = response
        self.resource = resource
        self.watching = watching
        # Writes another object (or invalid data in its place) into the body; set by the code that writes the body.
        self.put = response.write
        self.gzip = None
        self.units = 0
        self.fired = fault is None or fault.before_body

    @property
    def kind(self):
        return None if self.fault is None else self.fault.kind

    def sink(self, sink):
        """The sink for the body: `sink`, or one that compresses into it."""
        if self.kind != "broken-gzip":
            return sink
        self.gzip = sink if isinstance(sink, GzipSink) else GzipSink(self.response, prompt=True)
        return self.gzip

    def begin(self, body_length):
        """Before the first byte; `body_length` is None for an endless body."""
        if self.fired or self.kind != "wrong-content-length":
            return
        delta = self.fault.length_delta
        if body_length is not None:
            self.response.forced_length = max(0, body_length + delta)
        else:
            self.response.forced_length = abs(delta)
        # A watch that announces more bytes than it sends must end here.
        self.fired = body_length is not None or delta < 0
        self.response.keep_alive = False

    async def unit(self, sent, data=b""):
        """Called after `sent` more objects; `data` is the last one."""
        self.units += sent
        if self.kind == "duplicate":
            if data and self.units > self.fault.after_events:
                self.put(data)
        elif not self.fired and self.units >= self.fault.after_events:
            self.fired = True
            await self.fire()

    async def fire(self):
        kind = self.kind
        response, connection = self.response, self.response.connection
        if kind == "slow-drip":
            await response.flush()
            connection.watch_for_eof()
            connection.drip = self.fault.seconds if self.fault.seconds is not None else DRIP_PAUSE
        elif kind == "stall":
            await response.flush()
            connection.watch_for_eof()
            await connection.pause(self.fault.seconds)
        elif kind == "reset":
            await response.flush()
            await asyncio.sleep(0.05)  # fixed time: clients read the bytes sent so far before they notice the reset
            connection.reset()
            raise Closed
        elif kind in ("cut", "cut-mid-line", "wrong-content-length"):
            if kind == "cut-mid-line":
                self.put(self.half_object())
            await response.flush()
            raise Closed
        elif kind == "half-line":
            self.put(self.half_object())
            raise StreamEnd
        elif kind in ("410-event", "error-event"):
            error = self.fault.error(500)
            if kind == "410-event":
                error = status.expired(self.fault.message or "too old resource version: 1 (2)")
            self.put(error_event(error))
            raise StreamEnd
        elif kind == "end":
            raise StreamEnd
        elif kind == "broken-gzip":
            self.gzip.corrupt()
        else:
            self.put(self.odd_object(kind))

    def envelope(self, kind=None, version=None):
        return b'{"type":"MODIFIED","object":{"kind":"%s","apiVersion":"%s",' % (
            (kind or self.resource.kind).encode(), (version or self.resource.api_version).encode())

    def half_object(self):
        head = self.envelope() if self.watching else b"{"
        return head + b'"metadata":{"name":"cut-h'

    def odd_object(self, kind):
        if kind == "unknown-event":
            return b'{"type":"RENAMED","object":{"metadata":{"name":"odd"}}}\n'
        if kind == "garbage-line":
            return b"<html>502 bad gateway</html>\n" if self.watching else b"{nonsense}"
        if kind == "foreign-kind":
            data = b'"metadata":{"name":"odd-pod","namespace":"default","resourceVersion":"1"}}'
            if self.watching:
                return self.envelope("Pod", "v1") + data + b"}\n"
            return b'{"kind":"Pod","apiVersion":"v1",' + data
        if kind == "huge-object":
            filler = b"x" * self.fault.size
            data = b'"metadata":{"name":"huge","namespace":"default","annotations":{"filler":"%s"}}' % filler
        else:
            data = b'"metadata":{"name":"broken-\xff\xc0utf8","namespace":"default"}'
        return self.envelope() + data + b"}}\n" if self.watching else b"{" + data + b"}"


def error_event(error):
    return b'{"type":"ERROR","object":%s}\n' % to_json(error.status())
