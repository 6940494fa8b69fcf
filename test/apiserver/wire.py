# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 on an asyncio stream, framed the way the server library of kube-apiserver frames it."""

import asyncio
import email.utils
import socket
import struct
import urllib.parse
import uuid

REASONS = {
    100: "Continue", 200: "OK", 201: "Created", 301: "Moved Permanently", 302: "Found",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 409: "Conflict", 410: "Gone", 415: "Unsupported Media Type",
    422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}
MAX_BODY = 256 * 1024 * 1024
# Chunks are cut from a buffer of this size; a larger write into the empty buffer is one chunk.
CHUNK_BUFFER = 2048
SEND_BATCH = 64 * 1024


class Closed(Exception):
    """The connection cannot or must not be used any more."""


class Malformed(Exception):
    """The bytes received are not an HTTP request."""


class Request:
    def __init__(self, method, target, headers, body):
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        path, _, query = target.partition("?")
        self.path = urllib.parse.unquote(path)
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))

    def header(self, name):
        return self.headers.get(name, "")

    @property
    def keep_alive(self):
        return "close" not in self.header("connection").lower()

    def flag(self, name):
        return self.query.get(name, "").lower() in ("1", "true", "t")


class Connection:
    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.prefix = b""
        self.gone = asyncio.Event()
        self.eof_task = None
        # Set by a fault: pause between the few bytes sent at a time.
        self.drip = None
        self.number = 0
        # The entry of the request log for the current request.
        self.entry = None

    @property
    def client_certificate(self):
        ssl_object = self.writer.get_extra_info("ssl_object")
        return ssl_object.getpeercert() if ssl_object else None

    def certificate_names(self):
        """Serial number and subject of the client's certificate, or None without one."""
        certificate = self.client_certificate
        if not certificate:
            return None
        subject = "/".join("%s=%s" % pair for part in certificate["subject"] for pair in part)
        return {"serial": certificate["serialNumber"], "subject": subject}

    async def read_request(self):
        """The next request, or None when the client closed between requests."""
        try:
            head = self.prefix + await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise Malformed("request header too long") from None
        self.prefix = b""
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            raise Malformed("malformed request line")
        headers = {}
        for line in lines[1:-2]:
            name, separator, value = line.partition(":")
            if not separator:
                raise Malformed("malformed header line")
            name, value = name.strip().lower(), value.strip()
            # Repeated headers stay separate, so that a test can distinguish them from one header with commas.
            headers[name] = headers[name] + "\n" + value if name in headers else value
        if headers.get("expect", "").lower() == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Request(parts[0], parts[1], headers, await self.read_body(headers))

    async def read_body(self, headers):
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await self.read_chunks()
        try:
            length = int(headers.get("content-length", "0"))
        except ValueError:
            raise Malformed("malformed Content-Length") from None
        if not 0 <= length <= MAX_BODY:
            raise Malformed("request body too large")
        return await self.reader.readexactly(length) if length else b""

    async def read_chunks(self):
        body = bytearray()
        while True:
            line = await self.reader.readuntil(b"\r\n")
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise Malformed("malformed chunk size") from None
            if not 0 <= size <= MAX_BODY - len(body):
                raise Malformed("request body too large")
            data = await self.reader.readexactly(size + 2)
            if size == 0:
                return bytes(body)
            body += data[:-2]

    async def send(self, data):
        try:
            if self.drip is None:
                self.writer.write(data)
                # Lets other connections proceed, and detects that this one is closed.
                await asyncio.sleep(0)
                await self.writer.drain()
                return
            for start in range(0, len(data), 16):
                if self.gone.is_set():
                    raise Closed
                self.writer.write(data[start : start + 16])
                await self.writer.drain()
                await self.pause(self.drip)
        except OSError:
            raise Closed from None

    async def pause(self, seconds):
        """Sleeps (forever if None), but not after the client has disconnected."""
        try:
            await asyncio.wait_for(self.gone.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Closed

    def watch_for_eof(self, on_gone=None):
        """Detects that the client closes while nothing is expected from it."""
        if self.eof_task is not None:
            return

        async def wait():
            try:
                byte = await self.reader.read(1)
            except OSError:
                byte = b""
            if byte:
                # A pipelined request; it is answered after the running response.
                self.prefix = byte
                return
            self.gone.set()
            if on_gone:
                on_gone()

        self.eof_task = asyncio.create_task(wait())

    async def end_watch_for_eof(self):
        task, self.eof_task = self.eof_task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def reset(self):
        """Closes with a TCP reset instead of an orderly end."""
        sock = self.writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def abort(self):
        try:
            self.writer.transport.abort()
        except AttributeError:
            # A TLS transport of Python 3.11 that was closed twice has lost its protocol.
            pass

    async def close(self):
        await self.end_watch_for_eof()
        try:
            self.writer.close()
            await asyncio.wait_for(self.writer.wait_closed(), 2)
        except asyncio.TimeoutError:
            self.abort()
        except OSError:
            # The client has already closed the connection.
            pass


class Response:
    """One response: headers are sent with the first bytes, so short bodies get a length."""

    def __init__(self, connection, request, code=200, headers=(), content_type="application/json",
                 flow_control=True):
        self.connection = connection
        self.code = code
        self.headers = {
            "Audit-Id": str(uuid.uuid4()),
            "Cache-Control": "no-cache, private",
            "Content-Type": content_type,
        }
        if flow_control:
            self.headers["X-Kubernetes-Pf-Flowschema-Uid"] = "f9be1e72-2f5d-4aad-9083-1d46e8a2351e"
            self.headers["X-Kubernetes-Pf-Prioritylevel-Uid"] = "b8a1d7f4-302e-495f-8cab-da5f21d66c8f"
        self.headers.update(headers)
        self.keep_alive = request is not None and request.keep_alive
        self.head_only = request is not None and request.method == "HEAD"
        self.started = False
        # A fault may announce a wrong length; the body is then sent without framing.
        self.forced_length = None
        self.buffer = bytearray()
        self.out = bytearray()

    def start(self, length=None):
        self.started = True
        if self.connection.entry is not None:
            self.connection.entry["code"] = self.code
            self.connection.entry["content_type"] = self.headers["Content-Type"]
        lines = ["HTTP/1.1 %d %s" % (self.code, REASONS.get(self.code, "Unknown"))]
        lines += ["%s: %s" % (name, self.headers[name]) for name in sorted(self.headers)]
        lines.append("Date: " + email.utils.formatdate(usegmt=True))
        if length is not None:
            lines.append("Content-Length: %d" % length)
        if not self.keep_alive:
            lines.append("Connection: close")
        if length is None:
            lines.append("Transfer-Encoding: chunked")
        self.out += ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def frame(self, data):
        if not self.started:
            self.start(self.forced_length)
        if self.head_only:
            return
        if self.forced_length is None:
            self.out += b"%x\r\n" % len(data)
            self.out += data
            self.out += b"\r\n"
        else:
            self.out += data

    def write(self, data):
        """Buffers; the bytes leave with pump(), flush() or finish()."""
        room = CHUNK_BUFFER - len(self.buffer)
        while len(data) > room:
            if self.buffer:
                self.buffer += data[:room]
                data = data[room:]
                self.frame(self.buffer)
                self.buffer.clear()
            else:
                self.frame(data)
                return
            room = CHUNK_BUFFER
        self.buffer += data

    async def send_out(self):
        if self.out:
            data, self.out = bytes(self.out), bytearray()
            await self.connection.send(data)

    async def pump(self):
        if len(self.out) >= SEND_BATCH or self.connection.drip is not None:
            await self.send_out()

    def end_chunk(self):
        """Ends the chunk: later data goes into another one."""
        if self.buffer:
            self.frame(self.buffer)
            self.buffer.clear()

    async def flush(self):
        self.end_chunk()
        if not self.started:
            self.start(self.forced_length)
        await self.send_out()

    async def finish(self):
        if not self.started and self.forced_length is None:
            self.start(len(self.buffer))
            if not self.head_only:
                self.out += self.buffer
            self.buffer.clear()
        else:
            self.end_chunk()
            if self.forced_length is None and not self.head_only:
                self.out += b"0\r\n\r\n"
        await self.send_out()
