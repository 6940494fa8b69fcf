# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client of the API server: objects and metrics, over one connection for each thread."""

import http.client
import json
import re
import ssl
import threading

from . import pace
from .failure import ClusterError
from .fleet_network import PORT, SERVER_IP

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """Samples of the Prometheus text format: (name, labels, value)."""
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if match:
            yield match[1], dict(LABEL.findall(match[2] or "")), float(match[3])


class Api:
    def __init__(self, layout, user="admin"):
        self._context = ssl.create_default_context(cafile=layout.pki / "ca.crt")
        self._context.load_cert_chain(layout.pki / f"{user}.crt", layout.pki / f"{user}.key")
        self._local = threading.local()

    def request(self, method, path, body=None, content_type="application/json"):
        """Status and text of the answer. A kept connection that the server closed is opened again."""
        data = body if isinstance(body, (str, type(None))) else json.dumps(body)
        for attempt in range(2):
            kept = getattr(self._local, "connection", None)
            connection = kept or http.client.HTTPSConnection(SERVER_IP, PORT, context=self._context, timeout=60)
            try:
                connection.request(method, path, data, {"Content-Type": content_type} if data else {})
                answer = connection.getresponse()
                text = answer.read().decode("utf-8", "replace")
                self._local.connection = connection
                return answer.status, text
            except (OSError, http.client.HTTPException):
                self._local.connection = None
                connection.close()
                if attempt or not kept:
                    raise
        raise AssertionError("not reached")

    def must(self, method, path, body=None, content_type="application/json"):
        status, text = self.request(method, path, body, content_type)
        if status >= 300:
            raise ClusterError(f"{method} {path}: {status}: {text[:300]}")
        return text

    def size(self, path, headers):
        """The size of the body of the answer, as it is sent."""
        connection = getattr(self._local, "connection", None)
        if not connection:
            self._local.connection = connection = http.client.HTTPSConnection(SERVER_IP, PORT, context=self._context)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ClusterError(f"GET {path}: {answer.status}: {answer.read()[:300]}")
        return len(answer.read())

    def save(self, path, file):
        """Writes the body of the answer to that file; it may be binary."""
        connection = http.client.HTTPSConnection(SERVER_IP, PORT, context=self._context, timeout=120)
        connection.request("GET", path)
        file.write_bytes(connection.getresponse().read())

    def get(self, path):
        return json.loads(self.must("GET", path))

    def ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self, seconds=90):
        if not pace.wait_until(self.ready, seconds, every=0.2):
            raise ClusterError("the API server does not become ready")

    def metrics(self):
        return list(samples(self.must("GET", "/metrics")))

    def memory(self):
        """Bytes that are alive after a garbage collection, of heap and stacks, and the number of goroutines."""
        self.must("GET", "/debug/pprof/heap?gc=1&debug=0")
        wanted = ("go_memstats_heap_alloc_bytes", "go_memstats_stack_inuse_bytes", "go_goroutines")
        return {name: value for name, labels, value in self.metrics() if name in wanted}
