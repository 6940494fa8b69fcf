# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Details of Services and endpoints: a backend that asks for them has all of them from its first transaction on, and receives
their changes. The backend is sdk/examples/print, which asks for everything and writes what it receives to a file."""

import json
import os
import shutil

from lib import objects, swapping
from lib.addresses import E1, E2, NODE_NAME, V4
from lib.cases import own_daemon

ABOVE_BACKENDS = True

PREFIX = "sluice.example.com/"
LIMIT = 16384
UID = "5d2f0c7e-0000-4000-8000-000000000001"


class Printed:
    """The daemon with the print plugin, and the transactions of IPv4 that it has written."""

    def __init__(self, t):
        self.t = t
        self.path = os.path.join(t.topology.directory, f"{t.bench.label}-printed")
        self.daemon = swapping.Swappable(t, t.bench.backend, environment={"SLUICE_PRINT_PATH": self.path})
        shutil.copy(os.path.join(t.bench.programs.builddir, "sdk", "examples", "print", ".libs", "print.so"), self.daemon.plugins)
        os.chmod(os.path.join(self.daemon.plugins, "print.so"), 0o755)

    def forget(self):
        if os.path.exists(self.path):
            os.unlink(self.path)

    def applies(self):
        """The transactions so far."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        return [line for line in lines if line["call"] == "apply" and line["family"] == 4]

    def ports(self, name, applies=None):
        """The service port `name` of each transaction that has it."""
        return [port for one in (self.applies() if applies is None else applies) for port in one["servicePorts"] if port["name"] == name]


class Shop:
    """A Service with two ports and two pods."""

    def __init__(self, t):
        self.t = t
        self.name = f"shop-{t.bench.allocator.number()}"
        self.annotations = {PREFIX + "pool": "blue", "elsewhere.example.com/x": "secret"}
        self.protocol = "kubernetes.io/h2c"
        self.pods = [("web-1", "uid-1", "zone-1"), ("web-2", "uid-2", "zone-2")]
        self.address = t.bench.allocator.cluster_ip(t.bench.allocator.number(), V4)
        self.put_slice()
        self.put()

    def service_ports(self):
        return [f"sluice/{self.name}:{port}" for port in ("p80", "p81")]

    def put(self):
        made = objects.service("sluice", self.name, {
            "type": "ClusterIP", "clusterIP": self.address, "clusterIPs": [self.address], "ipFamilies": ["IPv4"],
            "ports": [{**objects.port("p80", 80, "tcp"), "appProtocol": self.protocol}, objects.port("p81", 81, "tcp")],
        }, annotations=self.annotations)
        if self.t.bench.source.name == "manifests":
            made["metadata"]["uid"] = UID
        self.t.bench.source.put(made)

    def put_slice(self):
        made = objects.endpoint_slice("sluice", f"{self.name}-1", self.name, self.t.family,
                                      [objects.port("p80", 8080, "tcp"), objects.port("p81", 8081, "tcp")], [objects.ready(E1), objects.ready(E2)])
        for endpoint, (pod, uid, zone) in zip(made["endpoints"], self.pods):
            endpoint["zone"] = zone
            endpoint["targetRef"] = {"kind": "Pod", "namespace": "sluice", "name": pod, "uid": uid}
        self.t.bench.source.put(made)

    def annotate(self, **values):
        self.annotations |= {PREFIX + key: value for key, value in values.items()}
        self.put()


def require_complete(t, port, shop):
    """All details of the first port of the Service, and no annotation of another domain."""
    pods = sorted((one["pod"], one["podUID"], one["zone"]) for one in port["endpointDetails"])
    t.require(pods == sorted(shop.pods), f"the pods of {port['name']} are {pods}")
    t.require(NODE_NAME in [one["node"] for one in port["endpointDetails"]], f"no endpoint is on {NODE_NAME}: {port['endpointDetails']}")
    t.require(len(port["endpoints"]) == len(port["endpointDetails"]), "not each endpoint has details")
    wanted = sorted(f"{key}={value}" for key, value in shop.annotations.items() if key.startswith(PREFIX))
    t.require(port["annotations"] == wanted, f"the annotations are {port['annotations']}, not {wanted}")
    t.require(port["appProtocol"] == shop.protocol and port["serviceType"] == "ClusterIP" and port["sessionKey"] != 0,
              f"wrong details of the Service: {port}")
    t.require(port["serviceUID"] == UID if t.bench.source.name == "manifests" else port["serviceUID"], f"the UID is {port['serviceUID']!r}")


@own_daemon(None, "a backend that asks for details has all of them after a swap and after a start, and their changes as deltas of the affected "
            "service ports", sources=["apiserver", "manifests"])
def details(t):
    shop = Shop(t)
    printed = Printed(t)
    first, second = shop.service_ports()

    printed.daemon.swap("print")
    applies = printed.applies()
    t.require(applies[0]["kind"] == "full", "the first transaction is not full")
    require_complete(t, printed.ports(first, applies[:1])[0], shop)
    t.require(len({port["sessionKey"] for name in (first, second) for port in printed.ports(name, applies[:1])}) == 1,
              "the ports of one Service have different session keys")

    def next_delta(change, wanted, sentence):
        """Changes something, and returns the service port of the delta that it causes, which must have these service ports only."""
        before = len(printed.applies())
        change()
        t.wait_until(lambda: len(printed.applies()) > before, sentence)
        new = printed.applies()[before:]
        t.require([one["kind"] for one in new] == ["delta"], f"{sentence}: {[one['kind'] for one in new]}")
        names = [port["name"] for port in new[0]["servicePorts"]]
        t.require(names == wanted, f"{sentence}: the delta has {names}")
        return new[0]["servicePorts"][0]

    port = next_delta(lambda: shop.annotate(pool="green"), [first, second], "a changed annotation is a delta")
    require_complete(t, port, shop)

    def change_protocol():
        # The unrelated change comes first, so that a delta for it would come first, too.
        shop.annotations["elsewhere.example.com/x"] = "another secret"
        shop.put()
        shop.protocol = "grpc"
        shop.put()

    require_complete(t, next_delta(change_protocol, [first], "a changed application protocol is a delta of its port"), shop)

    def move_pod():
        shop.pods[0] = ("web-3", "uid-3", "zone-1")
        shop.put_slice()

    require_complete(t, next_delta(move_pod, [first, second], "another pod at the same address is a delta"), shop)

    port = next_delta(lambda: shop.annotate(blob="x" * LIMIT), [first, second], "too many annotations are a delta")
    t.require(port["annotations"] == [], f"more than {LIMIT} bytes are passed: {len(str(port['annotations']))} characters")
    warning = printed.daemon.daemon.wait_logged(shop.name, "those for the backend have more than 16384 bytes")
    t.require(warning, "no warning names the Service with too many annotations")
    shop.annotate(blob="y" * LIMIT)
    require_complete(t, next_delta(lambda: shop.annotate(blob="small"), [first, second], "fewer annotations are passed again"), shop)

    # A backend that asks for nothing.
    printed.daemon.swap(t.bench.backend)
    t.settle()

    # At a start, the source lists before the plugin is loaded.
    printed.daemon.write("print")
    printed.daemon.daemon.stop()
    printed.forget()
    printed.daemon.start()
    applies = printed.applies()
    t.require(applies[0]["kind"] == "full", "the first transaction after a start is not full")
    require_complete(t, printed.ports(first, applies[:1])[0], shop)
