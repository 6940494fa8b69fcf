# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""etcd and kube-apiserver of a fleet, in the namespaces of this program."""

import json
import os
import subprocess

from . import pace, pki
from .control_plane import ControlPlane
from .failure import ClusterError
from .fleet_api import Api

PROXY_USER = "system:kube-proxy"
START_SECONDS = 90
AUDIT = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["ResponseStarted", "ResponseComplete"],
    "rules": [{"level": "Metadata", "users": [PROXY_USER]}, {"level": "None"}],
}


class Server:
    """With `audit` the server records each request of the proxies when it receives it."""

    def __init__(self, layout, programs, audit=False):
        self.layout, self._audit, self._commands = layout, audit, ControlPlane(layout, programs)
        for folder in (layout.folder, layout.logs):
            folder.mkdir(parents=True, exist_ok=True)
        pki.create(layout)
        self.api = Api(layout)
        self._etcd = self._apiserver = None

    def __enter__(self):
        self._etcd = self._popen("etcd", self._commands.etcd_command())
        self.start_apiserver()
        return self

    def __exit__(self, *_):
        for process in (self._apiserver, self._etcd):
            if process:
                process.kill()
                process.wait()

    @property
    def pid(self):
        return self._apiserver.pid

    @property
    def etcd_pid(self):
        return self._etcd.pid

    def version(self):
        return self.api.get("/version")["gitVersion"]

    def start_apiserver(self):
        self._apiserver = self._popen("kube-apiserver", self._apiserver_command())
        ended = lambda: next((one for one in ("etcd", "kube-apiserver") if self._process(one).poll() is not None), None)  # noqa: E731
        pace.wait_until(lambda: self.api.ready() or ended(), START_SECONDS, every=0.2)
        if name := ended():
            tail = (self.layout.logs / f"{name}.log").read_text(errors="replace").splitlines()[-10:]
            raise ClusterError(f"{name} ended with status {self._process(name).returncode}:\n" + "\n".join(tail))
        self.api.wait_ready(1)

    def _process(self, name):
        return self._etcd if name == "etcd" else self._apiserver

    def kill_apiserver(self):
        self._apiserver.kill()
        self._apiserver.wait()

    def audit(self):
        """Requests of the proxies: dictionaries with requestURI, verb, sourceIPs and requestReceivedTimestamp."""
        with open(self._audit_log, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @property
    def _audit_log(self):
        return self.layout.logs / "audit.json"

    def _apiserver_command(self):
        command = self._commands.apiserver_command()
        if self._audit:
            policy = self.layout.folder / "audit-policy.json"
            policy.write_text(json.dumps(AUDIT), encoding="ascii")
            command += [f"--audit-policy-file={policy}", f"--audit-log-path={self._audit_log}"]
        return command

    def _popen(self, name, command):
        with open(self.layout.logs / f"{name}.log", "ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    env={**os.environ, "HOME": str(self.layout.folder)})
