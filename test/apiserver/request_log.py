# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The newest requests with time, client and headers, for tests to inspect."""

import collections
import time

KEPT = 20000


class RequestLog:
    def __init__(self):
        self.entries = collections.deque(maxlen=KEPT)
        self.next = 0
        self.started = time.monotonic()

    def add(self, connection, request, verb, resource):
        """`code` and `content_type` are filled in when the answer begins; 0 is a request that never got one."""
        entry = {
            "number": self.next,
            "seconds": round(time.monotonic() - self.started, 4),
            "verb": verb,
            "resource": resource,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": request.headers,
            "connection": connection.number,
            "certificate": connection.certificate_names(),
            "code": 0,
            "content_type": "",
        }
        self.next += 1
        self.entries.append(entry)
        connection.entry = entry

    def since(self, number):
        return [entry for entry in self.entries if entry["number"] >= number]
