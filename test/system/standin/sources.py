# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The source of objects of the stand-in: a directory or an API server, polled."""

import base64
import glob
import json
import os
import re
import ssl
import tempfile
import urllib.error
import urllib.request

SELECTED = {
    "Service": "/api/v1/services?labelSelector=%21service.kubernetes.io/service-proxy-name",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/endpointslices",
    "Node": "/api/v1/nodes",
}


class Directory:
    def __init__(self, path):
        self._path = path

    def read(self):
        found = {"Service": [], "EndpointSlice": [], "Node": []}
        for path in sorted(glob.glob(os.path.join(self._path, "*.json"))):
            try:
                with open(path, encoding="utf-8") as file:
                    made = json.load(file)
                found[made["kind"]].append(made)
            except (OSError, ValueError, KeyError):
                continue
        found["Service"] = [one for one in found["Service"]
                            if "service.kubernetes.io/service-proxy-name" not in (one["metadata"].get("labels") or {})]
        return found


class ApiServer:
    def __init__(self, kubeconfig, accept_part=False):
        self._accept_part = accept_part
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()
        self._url = re.search(r"server: *(\S+)", text).group(1)
        self._tls = ssl.create_default_context(cadata=_data(text, "certificate-authority-data"))
        with tempfile.NamedTemporaryFile("w") as pem:
            pem.write(_data(text, "client-certificate-data") + _data(text, "client-key-data"))
            pem.flush()
            self._tls.load_cert_chain(pem.name)

    def read(self):
        """The objects, or None if the server does not return all of them (a part is not accepted)."""
        found = {}
        for kind, path in SELECTED.items():
            try:
                with urllib.request.urlopen(self._url + path, context=self._tls, timeout=5) as answer:
                    found[kind] = json.load(answer)["items"]
            except (OSError, ValueError, KeyError, urllib.error.URLError):
                if not self._accept_part:
                    return None
                found[kind] = []
        return found


def _data(text, name):
    found = re.search(rf"{name}: *(\S+)", text)
    return base64.b64decode(found.group(1)).decode()
