# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet of packaging/kubernetes, edited for a cluster as its comments say."""

import copy
import json
import os
import sys

from .layout import POD_CIDR

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.append(os.path.join(SRC, "test", "kubernetes"))

import kustomize  # noqa: E402  # pylint: disable=import-error,wrong-import-position  # extends sys.path

NAMESPACE, NAME = "kube-system", "sluice"
LABEL = "proxy"  # nodes with the value NAME run Sluice


class Manifests:
    """The objects of one overlay, with that image. A node runs Sluice once it has the label."""

    def __init__(self, layout, overlay, image):
        self.objects = kustomize.render(os.path.join(SRC, "packaging", "kubernetes", overlay))
        data = self._one("ConfigMap")["data"]
        data["kubeconfig"] = data["kubeconfig"].replace("https://kube-apiserver.example:6443", layout.server)
        text = data["config.yaml"].replace("clusterCIDR: 10.244.0.0/16", f"clusterCIDR: {','.join(layout.each(POD_CIDR))}")
        # The limit is one of the whole machine.
        data["config.yaml"] = text.replace("\nclusterCIDR:", "\nconntrack: {maxPerCore: 0, min: 0}\nclusterCIDR:")
        self.pod = self._one("DaemonSet")["spec"]["template"]["spec"]
        self.pod["nodeSelector"][LABEL] = NAME
        for container in self.pod["initContainers"] + self.pod["containers"]:
            container["image"] = image

    def _one(self, kind):
        return next(one for one in self.objects if one["kind"] == kind)

    def text(self):
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects})

    def configuration(self, mode):
        """The ConfigMap with another mode."""
        changed = copy.deepcopy(self._one("ConfigMap"))
        text = changed["data"]["config.yaml"]
        before = next(line for line in text.splitlines() if line.startswith("mode:"))
        changed["data"]["config.yaml"] = text.replace(before, f"mode: {mode}")
        return json.dumps(changed)

    def clean_up_pod(self, node):
        """Runs `sluiced --cleanup` with the privileges of the init container."""
        spec = copy.deepcopy(self.pod)
        container = spec.pop("initContainers")[0]
        container.update(name="clean-up", command=["/usr/sbin/sluiced", "--cleanup", "--config=/etc/sluice/config.yaml"])
        spec.update(containers=[container], restartPolicy="Never", nodeName=node)
        del spec["nodeSelector"]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"clean-up-{node}", "namespace": NAMESPACE}, "spec": spec}
