# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A release of the Helm chart in a cluster."""

import json
from pathlib import Path

from .layout import POD_CIDR

CHART = Path(__file__).resolve().parents[3] / "packaging/helm/sluice"
NAMESPACE = "kube-system"


class Release:
    """The installation."""

    def __init__(self, cluster, helm, image, name="sluice"):
        self._cluster, self.helm, self.image, self._name = cluster, helm, image, name
        repository, _, tag = image.rpartition(":")
        self.values = {
            "image": {"repository": repository, "tag": tag},
            "apiServer": {"url": cluster.layout.server},
            "clusterCIDR": cluster.layout.each(POD_CIDR),
            "config": {"conntrack": {"maxPerCore": 0}},  # a network namespace cannot write it
            "updateStrategy": {"maxUnavailable": 1}, "minReadySeconds": 3,
        }

    @property
    def _selector(self):
        return f"app.kubernetes.io/instance={self._name},k8s-app=sluice"

    def _run(self, *words):
        kubeconfig = self._cluster.layout.kubeconfig("admin")
        return self._cluster.control_plane.place.run(self.helm, *words, "--kubeconfig", kubeconfig, "--namespace", NAMESPACE,
                                                     stdin=json.dumps(self.values), timeout=300).stdout

    def apply(self, **changes):
        """Installs or upgrades."""
        self.values = merged(self.values, changes)
        return self._run("upgrade", "--install", self._name, CHART, "--values", "-")

    def wait(self):
        """Returns when each pod is ready and, unless pods are replaced only on demand, new."""
        for found in self._cluster.get("daemonset", "-n", NAMESPACE, "-l", self._selector)["items"]:
            name = f"daemonset/{found['metadata']['name']}"
            if found["spec"]["updateStrategy"]["type"] == "RollingUpdate":
                self._cluster.wait_rollout(name, NAMESPACE)
            else:
                self._cluster.wait(lambda name=name: self._is_ready(name), f"the pods of {name} are ready")

    def _is_ready(self, name):
        found = self._cluster.get(name, "-n", NAMESPACE)
        status = found["status"]
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return current and 0 < status["desiredNumberScheduled"] == status["numberReady"]

    def remove(self):
        self._run("uninstall", self._name, "--wait")
        self._cluster.wait(lambda: not self.pods(), "the pods of the release are deleted")

    def pods(self):
        """Node → its pods."""
        out = {}
        for pod in self._cluster.get("pods", "-n", NAMESPACE, "-l", self._selector)["items"]:
            out.setdefault(pod["spec"].get("nodeName"), []).append(pod)
        return out


def merged(base, changes):
    out = dict(base)
    for name, value in changes.items():
        out[name] = merged(out.get(name, {}), value) if isinstance(value, dict) else value
    return out


def kubeconfig(server):
    """As kubeadm writes it: the credentials of the pod."""
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    return {"apiVersion": "v1", "kind": "Config", "current-context": "default",
            "clusters": [{"name": "default", "cluster": {"server": server, "certificate-authority": f"{account}/ca.crt"}}],
            "users": [{"name": "default", "user": {"tokenFile": f"{account}/token"}}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}]}
