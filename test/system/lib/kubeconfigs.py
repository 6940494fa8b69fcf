# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Kubeconfigs for tests, and exec credential plugins for them."""

import base64
import json
import os

from .addresses import NODE2
from .apiserver import PORT

V1 = "client.authentication.k8s.io/v1"
SERVER = f"https://{NODE2.v4}:{PORT}"

# Prints credentials from the folder of the API server's keys, and counts its runs.
PROGRAM = """#!/usr/bin/python3
import datetime, json, sys
folder, what, lifetime = sys.argv[1:]
with open(__file__ + ".runs", "a") as runs:
    runs.write("run\\n")
def read(name):
    with open(folder + "/" + name) as file:
        return file.read()
status = {"token": read("token").strip()} if what == "token" else {
    "clientCertificateData": read("client.crt"), "clientKeyData": read("client.key")}
if lifetime != "-":
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=float(lifetime))
    status["expirationTimestamp"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
json.dump({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}, sys.stdout)
"""


def data(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return base64.b64encode(file.read()).decode()


def write(path, cluster, user):
    """Writes the kubeconfig as JSON, which is valid YAML."""
    document = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
                "clusters": [{"name": "c", "cluster": {"server": SERVER, **cluster}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


class CredentialProgram:
    def __init__(self, path, keys):
        self.path = path
        self._keys = keys
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(path, 0o755)

    def user(self, what, lifetime="-"):
        """The entry of the user; `what` is "token" or "certificate", the lifetime is in seconds."""
        return {"exec": {"apiVersion": V1, "command": self.path, "interactiveMode": "Never",
                         "args": [self._keys, what, str(lifetime)]}}

    def runs(self):
        try:
            with open(self.path + ".runs", encoding="utf-8") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0
