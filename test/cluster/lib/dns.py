# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A name server for cluster.local: Services, headless Services, host names of endpoints, and ExternalName.

Usage: dns.py SERVER ADDRESS CA CERTIFICATE KEY, with the URL of the API server and the address to listen on, UDP and TCP.
It watches the API server, so it costs the server little.
"""

import json
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.error
import urllib.request

PORT = 53
SUFFIX = "svc.cluster.local"
A, CNAME, AAAA, ANY_TYPE = 1, 5, 28, 255
TTL = 5
NAME_ERROR, ANSWER_FLAGS = 3, 0x8580
RETRY_SECONDS = 0.5
WATCH_SECONDS = 300
PATHS = {"services": "/api/v1/services", "slices": "/apis/discovery.k8s.io/v1/endpointslices"}


class Objects:
    """The current objects of one resource, kept up to date by a thread."""

    def __init__(self, server, tls, path):
        self._url, self._tls = server + path, tls
        self._objects = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._follow, daemon=True).start()

    def all(self):
        with self._lock:
            return list(self._objects.values())

    def _open(self, query=""):
        return urllib.request.urlopen(self._url + query, context=self._tls, timeout=WATCH_SECONDS + 30)

    def _follow(self):
        while True:
            try:
                self._watch(self._list())
            except (OSError, ValueError, KeyError) as error:
                print(f"{self._url}: {error}", flush=True)
            time.sleep(RETRY_SECONDS)  # poll interval

    def _list(self):
        with self._open() as answer:
            found = json.load(answer)
        with self._lock:
            self._objects = {_key(one): one for one in found["items"]}
        return found["metadata"]["resourceVersion"]

    def _watch(self, version):
        with self._open(f"?watch=1&resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}") as answer:
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                with self._lock:
                    if event["type"] == "DELETED":
                        self._objects.pop(_key(event["object"]), None)
                    else:
                        self._objects[_key(event["object"])] = event["object"]


def _key(one):
    return one["metadata"]["namespace"], one["metadata"]["name"]


def records(services, slices):
    """Addresses by name, and the names that ExternalName Services stand for."""
    addresses, aliases, ready = {}, {}, {}
    for one in slices:
        namespace = one["metadata"]["namespace"]
        service = one["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        for endpoint in one.get("endpoints") or [] if service else []:
            if endpoint.get("conditions", {}).get("ready") is False:
                continue
            ready.setdefault((namespace, service), set()).update(endpoint["addresses"])
            if endpoint.get("hostname"):
                name = f"{endpoint['hostname']}.{service}.{namespace}.{SUFFIX}"
                addresses.setdefault(name, set()).update(endpoint["addresses"])
    for one in services:
        namespace, service = _key(one)
        name, spec = f"{service}.{namespace}.{SUFFIX}", one["spec"]
        if spec.get("type") == "ExternalName":
            aliases[name] = spec["externalName"].rstrip(".").lower()
        else:
            own = {ip for ip in spec.get("clusterIPs", []) if ip != "None"}
            addresses[name] = own or ready.get((namespace, service), set())
    return addresses, aliases


def encoded(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def _record(owner, kind, content):
    return owner + struct.pack(">HHIH", kind, 1, TTL, len(content)) + content


def answer(query, addresses, aliases):
    """The answer to a query with one question."""
    labels, position = [], 12
    while query[position]:
        length = query[position]
        labels.append(query[position + 1:position + 1 + length].decode("latin1"))
        position += length + 1
    kind, = struct.unpack(">H", query[position + 1:position + 3])
    name, owner, found = ".".join(labels).lower(), b"\xc0\x0c", []
    known = name in aliases or name in addresses
    if name in aliases:
        name = aliases[name]
        found.append(_record(owner, CNAME, encoded(name)))
        owner = encoded(name)
    for ip in sorted(addresses.get(name, ())):
        if ":" in ip and kind in (AAAA, ANY_TYPE):
            found.append(_record(owner, AAAA, socket.inet_pton(socket.AF_INET6, ip)))
        elif ":" not in ip and kind in (A, ANY_TYPE):
            found.append(_record(owner, A, socket.inet_aton(ip)))
    header = query[:2] + struct.pack(">HHHHH", ANSWER_FLAGS | (0 if known else NAME_ERROR), 1, len(found), 0, 0)
    return header + query[12:position + 5] + b"".join(found)


def serve(address, reply):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((address, PORT))
    threading.Thread(target=_serve_datagrams, args=(datagrams, reply), daemon=True).start()
    listener = socket.create_server((address, PORT), family=family, backlog=50)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve_connection, args=(connection, reply), daemon=True).start()


def _serve_datagrams(datagrams, reply):
    while True:
        query, client = datagrams.recvfrom(4096)
        try:
            datagrams.sendto(reply(query), client)
        except (OSError, IndexError, struct.error) as error:
            print(f"{client}: {error}", flush=True)


def _serve_connection(connection, reply):
    with connection:
        connection.settimeout(30)
        try:
            length, = struct.unpack(">H", connection.recv(2))
            content = reply(connection.recv(length))
            connection.sendall(struct.pack(">H", len(content)) + content)
        except (OSError, IndexError, struct.error) as error:
            print(f"connection: {error}", flush=True)


def main(server, address, authority, certificate, key):
    tls = ssl.create_default_context(cafile=authority)
    tls.load_cert_chain(certificate, key)
    objects = {name: Objects(server, tls, path) for name, path in PATHS.items()}

    def reply(query):
        return answer(query, *records(objects["services"].all(), objects["slices"].all()))

    serve(address, reply)


if __name__ == "__main__":
    main(*sys.argv[1:])
