# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A client that sends the watches of a proxy and discards the answers: it shows what encoding and protocol alone cost."""

from .fleet_members import Member
from .fleet_network import PORT, SERVER_IP

ENCODINGS = {"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}
PROTOCOLS = {"http1": "--http1.1", "http2": "--http2"}
STREAM = "watch=true&allowWatchBookmarks=true&timeoutSeconds=590&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
WATCHES = ("/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless&",
           "/api/v1/services?labelSelector=%21service.kubernetes.io%2Fservice-proxy-name&fieldSelector=spec.clusterIP%21%3DNone&",
           "/api/v1/nodes?fieldSelector=metadata.name%3D{name}&", "/apis/networking.k8s.io/v1/servicecidrs?")


class PlainClient(Member):
    """curl. With HTTP/2 the four watches share one connection; with HTTP/1.1 each has its own."""

    def __init__(self, layout, number, encoding, protocol):
        super().__init__(layout, number)
        self.program, self._encoding, self._protocol = f"{encoding}-{protocol}", encoding, protocol

    def documents(self):
        return []

    def command(self):
        keys = self._layout.pki
        words = ["curl", "-sS", "--parallel", PROTOCOLS[self._protocol], "-H", f"Accept: {ENCODINGS[self._encoding]}",
                 "--cacert", keys / "ca.crt", "--cert", keys / "proxy.crt", "--key", keys / "proxy.key"]
        for watch in WATCHES:
            words += ["-o", "/dev/null", f"https://{SERVER_IP}:{PORT}{watch.format(name=self.name)}{STREAM}"]
        return words
