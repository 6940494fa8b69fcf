# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of the test API server: a server, a client that keeps the bytes, comparison."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.environ.get(
    "SLUICE_FIXTURES", os.path.join(HERE, "..", "fixtures"))
if os.path.isdir(os.path.join(FIXTURES, "apiserver-v1.36")):
    FIXTURES = os.path.join(FIXTURES, "apiserver-v1.36")
sys.path.insert(0, HERE)
sys.path.append(os.path.join(HERE, "..", "system"))
sys.dont_write_bytecode = True

from lib import pace, shared_certificates  # noqa: E402

SELECTED = ("labelSelector=%21service.kubernetes.io%2Fheadless%2C"
            "%21service.kubernetes.io%2Fservice-proxy-name")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def equal(got, want, what=""):
    if got != want:
        raise AssertionError("%s\n   got  %.2000s\n   want %.2000s" % (what, got, want))


def fixture(name):
    with open(os.path.join(FIXTURES, name), "rb") as file:
        return file.read()


class Answer:
    """A parsed response; `chunks` is None when it was not chunked."""

    def __init__(self, data):
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.code = int(lines[0].split(" ")[1])
        self.header_names = [line.partition(": ")[0] for line in lines[1:]]
        self.headers = dict(line.split(": ", 1) for line in lines[1:])
        self.chunks = None
        self.complete = True
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.chunks = []
            self.complete = False
            while rest:
                size_text, _, rest = rest.partition(b"\r\n")
                size = int(size_text, 16)
                if size == 0:
                    self.complete = True
                    break
                self.chunks.append(rest[:size])
                rest = rest[size + 2 :]
            self.body = b"".join(self.chunks)
        else:
            self.body = rest

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        return [json.loads(line) for line in self.body.splitlines()]


def normal(data):
    """The text with everything that differs from run to run replaced."""
    text = data.decode()
    for pattern, replacement in (
        (r'"uid":"(?!0000|node)[-0-9a-f]{36}"', '"uid":"U"'),
        (r'"resourceVersion":"\d+"', '"resourceVersion":"V"'),
        (r'"continue":"[^"]+"', '"continue":"C"'),
        (r'"(time|creationTimestamp)":"[^"]+"', r'"\1":"T"'),
        (r'"generation":\d+', '"generation":G'),
        (r'"10\.96\.\d+\.\d+"', '"10.96.x.x"'),
        (r'"fd00:96::[0-9a-f]+"', '"fd00:96::x"'),
        (r'"(nodePort|healthCheckNodePort)":3[0-2]\d\d\d', r'"\1":N'),
        (r"node-a\.[a-z0-9]{5}\b", "node-a.xxxxx"),
        (r"(version: (?:99999999, current: )?)\d+( \(\d+\))?", r"\1V"),
    ):
        text = re.sub(pattern, replacement, text)
    return text


def same_answer(got, want, name):
    equal(got.line, want.line, name)
    equal(got.header_names, want.header_names, name + ": headers")
    for header in ("Content-Type", "Transfer-Encoding", "Retry-After", "Warning",
                   "Content-Encoding", "Vary", "Connection", "Cache-Control"):
        equal(got.headers.get(header), want.headers.get(header), name + ": " + header)
    equal(normal(got.body), normal(want.body), name + ": body")


class Server:
    def __init__(self, *arguments, plain=True, fresh=False):
        """`fresh`: the server creates all certificates, like one that starts with an empty folder."""
        self.folder = tempfile.TemporaryDirectory(prefix="apiserver-test-")
        self.ready = os.path.join(self.folder.name, "ready")
        self.errors = os.path.join(self.folder.name, "errors")
        self.tls_dir = None if plain else os.path.join(self.folder.name, "tls")
        transport = ["--plain"] if plain else ["--tls-dir", self.tls_dir]
        if plain or fresh:
            self._start(transport, arguments)
        else:
            shared_certificates.start_with(self.tls_dir, lambda: self._start(transport, arguments))

    def _start(self, transport, arguments):
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-B", os.path.join(HERE, "apiserver.py"), *transport,
                 "--ready-file", self.ready, *arguments],
                stdout=subprocess.PIPE, stderr=errors, text=True)
        self.greeting = self.process.stdout.readline().strip()
        self.url = self.greeting.rpartition(" ")[2]
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(pace.stretched(5))
        self.process.stdout.close()
        with open(self.errors, encoding="utf-8") as file:
            errors = file.read()
        self.folder.cleanup()
        equal(errors, "", "nothing unexpected happened inside the server")

    def connect(self, certificate=True):
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=pace.stretched(15))
        if self.tls_dir is None:
            return sock
        context = ssl.create_default_context(cafile=os.path.join(self.tls_dir, "ca.crt"))
        if certificate:
            context.load_cert_chain(os.path.join(self.tls_dir, "client.crt"),
                                    os.path.join(self.tls_dir, "client.key"))
        return context.wrap_socket(sock, server_hostname="localhost")

    def exchange(self, data, certificate=True):
        """Sends bytes as they are and reads until the server closes."""
        if b"\r\nConnection: close\r\n" not in data:
            data = data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        with self.connect(certificate) as sock:
            sock.sendall(data)
            return Answer(read_all(sock))

    def ask(self, method, path, body=None, headers=()):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: x", "User-Agent: sluiced/0.1",
                 "Accept: application/json"]
        lines += list(headers)
        if body is not None:
            if not any(line.startswith("Content-Type") for line in lines):
                lines.append("Content-Type: application/json")
            lines.append("Content-Length: %d" % len(data))
        return self.exchange(("\r\n".join(lines) + "\r\n\r\n").encode() + data)

    def get(self, path, *headers):
        return self.ask("GET", path, headers=headers)

    def control(self, name, body):
        answer = self.ask("POST", "/_test/" + name, body)
        equal(answer.code, 200, answer.body)
        return answer.json

    def fault(self, **values):
        return self.control("fault", values)

    def stream(self, path):
        return Stream(self, path)


class Stream:
    """A watch read line by line."""

    def __init__(self, server, path):
        self.sock = server.connect()
        self.sock.sendall(("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).encode())
        self.file = self.sock.makefile("rb")
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            self.head += self.file.readline()

    def chunk(self):
        size = int(self.file.readline(), 16)
        data = self.file.read(size + 2)[:-2]
        return data

    def event(self):
        return json.loads(self.chunk())

    def close(self):
        self.file.close()
        self.sock.close()


def read_all(sock):
    data = b""
    while True:
        try:
            part = sock.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            break
        if not part:
            break
        data += part
    return data


def service(name, **spec):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "demo"},
            "spec": {"ports": [{"port": 80}], **spec}}


def populate(server):
    """Brings a server into the state in which the recordings were made."""
    for name in ("clusterip", "nodeport-dualstack", "headless", "ignored-proxy-name",
                 "loadbalancer", "externalname"):
        equal(server.exchange(fixture("create-service-%s.request" % name)).code, 201)
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}
    merge = ("Content-Type: application/merge-patch+json",)
    equal(server.ask("PATCH", "/api/v1/namespaces/demo/services/lb/status", status, merge).code, 200)
    for item in Answer(fixture("list-endpointslices.response")).json["items"]:
        if item["metadata"]["namespace"] == "demo":
            create_recorded(server, item, "EndpointSlice", "discovery.k8s.io/v1",
                            "/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices")
    node = Answer(fixture("get-node.response")).json
    addresses = {"addresses": node["status"]["addresses"]}
    del node["spec"]["taints"], node["status"]
    create_recorded(server, node, "Node", "v1", "/api/v1/nodes")
    equal(server.ask("PATCH", "/api/v1/nodes/node-a/status", {"status": addresses}, merge).code, 200)


def create_recorded(server, item, kind, version, path):
    item["kind"], item["apiVersion"] = kind, version
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        item["metadata"].pop(name, None)
    equal(server.ask("POST", path, item).code, 201)
