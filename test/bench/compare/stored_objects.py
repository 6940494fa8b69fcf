# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes copies of objects into etcd, as kube-apiserver stores them.

kube-apiserver lists every cluster IP in use when it creates a Service, so that 44,125 Services would take more than an hour
through its API. Clients see no difference: copies have all fields of an object that was created through the API, with a UID of
their own. Each Service has its IPAddress, too; otherwise kube-apiserver would create it later, during measurements.
"""

import base64
import copy
import http.client
import json
import uuid

from network import BenchError

# Limits of etcd: 128 operations, 1.5 MiB.
MOST_OPERATIONS, MOST_BYTES = 100, 512 << 10
SECONDS = 60


def key_of(kind, namespace, name):
    """The key in etcd; the place of Services is older than the rule."""
    if kind == "Service":
        return f"/registry/services/specs/{namespace}/{name}"
    if kind == "EndpointSlice":
        return f"/registry/endpointslices/{namespace}/{name}"
    return f"/registry/ipaddresses/{name}"


def as_stored(created, body):
    """What kube-apiserver would have stored for `body`: the fields that it added to `created`, an object of the same form."""
    made = copy.deepcopy(created)
    del made["metadata"]["resourceVersion"]  # etcd's
    made |= {name: value for name, value in body.items() if name not in ("metadata", "spec")}
    made["metadata"] |= body["metadata"] | {"uid": str(uuid.uuid4())}
    if "spec" in body:
        made["spec"] |= body["spec"]
    return made


class Writer:
    """One connection to etcd, at this address of the network namespace."""

    def __init__(self, address):
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=SECONDS)
        self._operations, self._bytes = [], 0

    def put(self, made):
        about = made["metadata"]
        key = key_of(made["kind"], about.get("namespace"), about["name"]).encode()
        value = json.dumps(made, separators=(",", ":")).encode()
        if len(self._operations) == MOST_OPERATIONS or self._bytes + len(value) > MOST_BYTES:
            self.flush()
        self._operations.append({"requestPut": {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}})
        self._bytes += len(value)

    def flush(self):
        if not self._operations:
            return
        self._connection.request("POST", "/v3/kv/txn", json.dumps({"success": self._operations}),
                                 {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200 or not json.loads(text).get("succeeded"):
            raise BenchError(f"etcd did not store {len(self._operations)} objects: {answer.status} {text[:200]!r}")
        self._operations, self._bytes = [], 0
