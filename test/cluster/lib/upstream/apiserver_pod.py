# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A pod that stands for the API server's process. When a test deletes the pod, the process restarts, and then the pod is there
again. The test connects through a proxy that holds connections during the restart."""

import json
import os
import sys
import threading
from urllib.parse import urlsplit

from .. import images

NAME, NAMESPACE = "kube-apiserver", "kube-system"
PORT = 16443
DELETED_PATIENCE = 3600  # the pod is deleted at the end of the group if no test deletes it
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holding_proxy.py")


def manifest(node):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"component": NAME}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "pause", "image": images.own_name("pause"), "imagePullPolicy": "Never"}]}}


class ApiServerPod:
    """A context manager."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._place = cluster.control_plane.place
        self._ended = False
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.restarts = 0
        self.error = None  # why a restart failed

    @property
    def kubeconfig(self):
        """The administrator's, through the holding proxy."""
        return self._cluster.layout.pki / "held.kubeconfig"

    def __enter__(self):
        server = urlsplit(self._cluster.layout.server)
        text = self._cluster.layout.kubeconfig("admin").read_text(encoding="utf-8")
        self.kubeconfig.write_text(text.replace(self._cluster.layout.server, f"https://127.0.0.1:{PORT}"), encoding="utf-8")
        self._place.start("holding-proxy", [sys.executable, "-B", PROGRAM, PORT, server.hostname, server.port])
        self._create()
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._ended = True
        self._cluster.kubectl("delete", "pod", NAME, "-n", NAMESPACE, "--ignore-not-found", "--wait=true")
        self._watcher.join(timeout=60)
        self._place.daemon("holding-proxy").stop()

    def _create(self):
        self._cluster.apply(json.dumps(manifest(self._cluster.nodes[0].name)))
        self._cluster.wait_pods_ready(NAME, namespace=NAMESPACE)

    def _watch(self):
        try:
            while True:
                self._cluster.kubectl("wait", "--for=delete", f"pod/{NAME}", "-n", NAMESPACE, f"--timeout={DELETED_PATIENCE}s",
                                      timeout=DELETED_PATIENCE + 60)
                if self._ended:
                    return
                # As the runtime does without a grace period. A graceful stop waits a minute for watches.
                self._cluster.control_plane.apiserver.kill()
                self._cluster.control_plane.start_apiserver()
                self.restarts += 1
                self._create()
        except Exception as error:  # pylint: disable=broad-except  # reported by the thread that runs the tests
            self.error = error
