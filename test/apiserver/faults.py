# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Injected faults: which one, on which requests, and how often."""

import asyncio
import socket
import struct

import status
from wire import Closed, Response

KINDS = {
    "status": "answer with an error status",
    "redirect": "answer with a redirect",
    "html": "answer with a page of HTML, as a proxy on the way does",
    "empty": "answer 200 without a body",
    "reset": "TCP reset",
    "stall": "send nothing for a while",
    "slow-drip": "send a few bytes at a time",
    "cut": "close without the end of the body",
    "cut-mid-line": "close in the middle of an object",
    "half-line": "end in good order, but in the middle of an object",
    "end": "end the watch in good order",
    "410-event": "ERROR event with code 410, then the end",
    "error-event": "ERROR event with a chosen code, then the end",
    "garbage-line": "something that is not JSON between the objects",
    "unknown-event": "a watch event of unknown type",
    "foreign-kind": "an object of another kind",
    "duplicate": "every object twice",
    "huge-object": "an object of many megabytes",
    "invalid-utf8": "an object with broken UTF-8",
    "broken-gzip": "compressed, with corrupt data inside",
    "wrong-content-length": "announce a length that is not the body's",
}
# These replace the response, unless after_events moves them into the body.
BEFORE_BODY = ("status", "redirect", "html", "empty", "reset", "stall")
ALWAYS_BEFORE_BODY = ("status", "redirect", "html", "empty")
WATCH_ONLY = ("end", "410-event", "error-event", "unknown-event")
ON_CONNECTION = ("stall", "reset", "cut")
CONNECTION = "connection"
HTML = (b"<html><head><title>%d %s</title></head><body>"
        b"<h1>%d %s</h1>The proxy server could not handle the request.</body></html>\n")


class Fault:
    FIELDS = {
        "match": "all", "resource": "", "kind": None, "code": 0, "message": "", "reason": "",
        "retry_after": None, "location": "", "count": 1, "after_events": 0, "seconds": None,
        "length_delta": 100, "size": 32 << 20, "skip": 0,
    }

    def __init__(self, values):
        unknown = set(values) - set(self.FIELDS)
        if unknown:
            raise status.bad_request("unknown fault member: " + ", ".join(sorted(unknown)))
        for name, default in self.FIELDS.items():
            setattr(self, name, values.get(name, default))
        if self.kind not in KINDS:
            raise status.bad_request("fault kind must be one of " + ", ".join(sorted(KINDS)))
        if self.match == CONNECTION and self.kind not in ON_CONNECTION:
            raise status.bad_request("a connection can " + ", ".join(ON_CONNECTION) + " only")
        self.hits = 0
        self.endless = self.count == 0

    def applies(self, verb, resource, initial):
        """`initial`: whether the request is for a watch that begins with the objects there are."""
        names = {"all", verb}
        if verb in ("list", "watch"):
            names.add("read")
        if verb == "watch":
            names.add("initial" if initial else "resume")
        if self.match not in names or (self.resource and self.resource != resource):
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
        return self.kind in BEFORE_BODY and (not self.after_events or self.kind in ALWAYS_BEFORE_BODY)

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

    async def answer(self, connection, request):
        """Applies a fault that replaces the response; returns None if the response follows late."""
        if self.kind == "reset":
            connection.reset()
            raise Closed
        if self.kind == "stall":
            connection.watch_for_eof()
            await connection.pause(self.seconds)
            await connection.end_watch_for_eof()
            return None
        if self.kind in ("html", "empty"):
            return await self.send_page(connection, request)
        error = self.error(307 if self.kind == "redirect" else 500)
        if self.kind == "redirect":
            error.headers.append(("Location", self.location or "/healthz"))
        raise error

    async def send_page(self, connection, request):
        if self.kind == "empty":
            response = Response(connection, request, self.code or 200, flow_control=False)
        else:
            code = self.code or 502
            response = Response(connection, request, code, content_type="text/html", flow_control=False)
            title = status.REASON_BY_CODE.get(code, "Bad Gateway").encode()
            response.write(HTML % (code, title, code, title))
        await response.finish()
        return response

    async def hold(self, sock):
        """What happens to a connection that is not served at all, not even a TLS handshake."""
        try:
            if self.kind == "stall":
                await asyncio.wait_for(until_closed(sock), self.seconds)
        except asyncio.TimeoutError:
            # The time of the fault has expired.
            pass
        finally:
            if self.kind == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()


async def until_closed(sock):
    while await asyncio.get_running_loop().sock_recv(sock, 4096):
        continue


class FaultList:
    def __init__(self):
        self.faults = []

    def add(self, values):
        fault = Fault(values)
        self.faults.append(fault)
        return fault

    def clear(self):
        self.faults.clear()

    def take(self, verb, resource, initial=False):
        """The fault for this request, if any; each use counts it down."""
        for fault in self.faults:
            if fault.applies(verb, resource, initial) and self.use(fault):
                return fault
        return None

    def take_connection(self):
        for fault in self.faults:
            if fault.match == CONNECTION and self.use(fault):
                return fault
        return None

    def use(self, fault):
        if fault.skip > 0:
            fault.skip -= 1
            return False
        fault.hits += 1
        fault.count -= 1
        if fault.count <= 0 and not fault.endless:
            self.faults.remove(fault)
        return True
