# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Misbehaviour on request: what goes wrong, on which requests, and how often."""

import asyncio

import status
from objects import to_json
from wire import Closed

KINDS = {
    "status": "answer with an error status",
    "redirect": "answer with a redirect",
    "reset": "TCP reset",
    "stall": "send nothing for a while",
    "slow-drip": "send a few bytes at a time",
    "cut": "close without the end of the body",
    "cut-mid-line": "close in the middle of an object",
    "end": "end the watch in good order",
    "410-event": "ERROR event with code 410, then the end",
    "error-event": "ERROR event with a chosen code, then the end",
    "garbage-line": "something that is not JSON between the objects",
    "unknown-event": "a watch event of unknown type",
    "invalid-utf8": "an object with broken UTF-8",
    "wrong-content-length": "announce a length that is not the body's",
}
# These replace the answer as long as no after_events postpones them into the body.
BEFORE_BODY = ("status", "redirect", "reset", "stall")
WATCH_ONLY = ("end", "410-event", "error-event", "unknown-event")


class StreamEnd(Exception):
    """The fault ended the watch; the response is completed in good order."""


class Fault:
    FIELDS = {
        "match": "all", "resource": "", "kind": None, "code": 0, "message": "", "reason": "",
        "retry_after": None, "location": "", "count": 1, "after_events": 0, "seconds": None,
        "length_delta": 100, "skip": 0,
    }

    def __init__(self, values):
        unknown = set(values) - set(self.FIELDS)
        if unknown:
            raise status.bad_request("unknown fault member: " + ", ".join(sorted(unknown)))
        for name, default in self.FIELDS.items():
            setattr(self, name, values.get(name, default))
        if self.kind not in KINDS:
            raise status.bad_request("fault kind must be one of " + ", ".join(sorted(KINDS)))
        self.hits = 0

    def applies(self, verb, resource):
        if self.match not in ("all", verb):
            return False
        if self.resource and self.resource != resource:
            return False
        if verb == "watch":
            return True
        if verb == "list":
            return self.kind not in WATCH_ONLY
        return self.kind in BEFORE_BODY

    def describe(self):
        shown = {name: getattr(self, name) for name in self.FIELDS}
        shown["hits"] = self.hits
        return shown

    @property
    def before_body(self):
        return self.kind in BEFORE_BODY and (not self.after_events or self.kind in ("status", "redirect"))

    def error(self, default_code):
        code = self.code or default_code
        details = None
        headers = []
        if self.retry_after is not None:
            details = {"retryAfterSeconds": self.retry_after}
            headers = [("Retry-After", str(self.retry_after))]
        reason = self.reason or status.REASON_BY_CODE.get(code, "")
        message = self.message or "injected fault: " + (reason or str(code))
        return status.ApiError(code, reason, message, details, headers)

    async def answer(self, connection):
        """The faults that come instead of (or, for a stall, before) the answer."""
        if self.kind == "reset":
            connection.reset()
            raise Closed
        if self.kind == "stall":
            connection.watch_for_eof()
            await connection.pause(self.seconds)
            await connection.end_watch_for_eof()
            return
        error = self.error(307 if self.kind == "redirect" else 500)
        if self.kind == "redirect":
            error.headers.append(("Location", self.location or "/healthz"))
        raise error


class FaultList:
    def __init__(self):
        self.faults = []

    def add(self, values):
        fault = Fault(values)
        self.faults.append(fault)
        return fault

    def clear(self):
        self.faults.clear()

    def take(self, verb, resource):
        """The fault this request suffers, if any; each use counts it down."""
        for fault in self.faults:
            if not fault.applies(verb, resource):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.hits += 1
            fault.count -= 1
            if fault.count <= 0:
                self.faults.remove(fault)
            return fault
        return None


class BodyFault:
    """Applies a fault while a body is written; `unit()` is called between its objects."""

    def __init__(self, fault, response, resource, watching, put):
        """`put` writes one more object (or what poses as one) into the body."""
        self.fault = fault
        self.response = response
        self.put = put
        self.resource = resource
        self.watching = watching
        self.units = 0
        self.fired = fault is None or fault.before_body

    def begin(self, body_length):
        """Before the first byte; `body_length` is None for an endless body."""
        if self.fired or self.fault.kind != "wrong-content-length":
            return
        self.fired = True
        length = body_length if body_length is not None else 0
        self.response.forced_length = max(0, length + self.fault.length_delta)
        self.response.keep_alive = False

    async def unit(self, sent):
        """After `sent` objects more."""
        self.units += sent
        if not self.fired and self.units >= self.fault.after_events:
            self.fired = True
            await self.fire()

    async def fire(self):
        kind = self.fault.kind
        response, connection = self.response, self.response.connection
        if kind == "slow-drip":
            await response.flush()
            connection.watch_for_eof()
            connection.drip = self.fault.seconds if self.fault.seconds is not None else 0.05
        elif kind == "stall":
            await response.flush()
            connection.watch_for_eof()
            await connection.pause(self.fault.seconds)
        elif kind == "reset":
            await response.flush()
            # The bytes sent so far should be seen before the reset.
            await asyncio.sleep(0.05)
            connection.reset()
            raise Closed
        elif kind in ("cut", "cut-mid-line"):
            if kind == "cut-mid-line":
                self.put(self.half_object())
            await response.flush()
            raise Closed
        elif kind in ("410-event", "error-event"):
            error = self.fault.error(500)
            if kind == "410-event":
                error = status.expired(self.fault.message or "too old resource version: 1 (2)")
            self.put(error_event(error))
            raise StreamEnd
        elif kind == "end":
            raise StreamEnd
        else:
            self.put(self.odd_object(kind))

    def envelope(self):
        return b'{"type":"MODIFIED","object":{"kind":"%s","apiVersion":"%s",' % (
            self.resource.kind.encode(), self.resource.api_version.encode())

    def half_object(self):
        head = self.envelope() if self.watching else b"{"
        return head + b'"metadata":{"name":"cut-h'

    def odd_object(self, kind):
        if kind == "unknown-event":
            return b'{"type":"RENAMED","object":{"metadata":{"name":"odd"}}}\n'
        if kind == "garbage-line":
            return b"<html>502 bad gateway</html>\n" if self.watching else b"{nonsense}"
        data = b'"metadata":{"name":"broken-\xff\xc0utf8","namespace":"default"}'
        return self.envelope() + data + b"}}\n" if self.watching else b"{" + data + b"}"


def error_event(error):
    return b'{"type":"ERROR","object":%s}\n' % to_json(error.status())
