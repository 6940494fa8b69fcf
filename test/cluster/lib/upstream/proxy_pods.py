# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The proxy in pods of a DaemonSet, in place of the processes of the nodes. Its pods have the label by which upstream's tests
find a service proxy, and enter the file system of the node, so that they run the same program as the process."""

import json

from .. import images
from ..failure import ClusterError

NAME, NAMESPACE = "kube-proxy", "kube-system"
LABELS = {"k8s-app": "kube-proxy"}
VARIABLE = "NODE_NAME"
PATIENCE = 120


def manifest(command, image):
    container = {
        "name": "proxy", "image": image, "imagePullPolicy": "Never", "securityContext": {"privileged": True},
        "env": [{"name": VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "command": ["chroot", "/node", *command],
        "volumeMounts": [{"name": "node", "mountPath": "/node", "mountPropagation": "HostToContainer"}],
    }
    pod = {"hostNetwork": True, "containers": [container], "tolerations": [{"operator": "Exists"}],
           "volumes": [{"name": "node", "hostPath": {"path": "/"}}]}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": LABELS},
            "spec": {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": pod}}}


def common_command(proxy, nodes):
    """The command line of all nodes, with a variable in place of the name of the node in paths."""
    commands = []
    for node in nodes:
        commands.append([str(word).replace(str(node.folder), str(node.folder.parent / f"$({VARIABLE})")) for word in
                         proxy.command(node)])
    if any(command != commands[0] for command in commands):
        raise ClusterError(f"the command lines of {proxy} differ in more than paths of the node")
    return commands[0]


class ProxyPods:
    """A context manager: the processes of the nodes stop when it is entered, and start again when it is left."""

    def __init__(self, cluster, proxy):
        self._cluster, self._proxy = cluster, proxy

    def __enter__(self):
        image = images.own_name("agnhost")
        for node in self._cluster.nodes:
            node.stop_proxy()
        self._cluster.apply(json.dumps(manifest(common_command(self._proxy, self._cluster.nodes), image)))
        self._cluster.wait_rollout(f"daemonset/{NAME}", NAMESPACE)
        self._cluster.wait(lambda: all(self._proxy.ready(node) for node in self._cluster.nodes), "the pods of the proxy sync",
                           PATIENCE)
        return self

    def __exit__(self, *_):
        self._cluster.kubectl("delete", "daemonset", NAME, "-n", NAMESPACE, "--wait=true")
        self._cluster.kubectl("wait", "--for=delete", "pod", "-n", NAMESPACE, "-l", f"k8s-app={NAME}", f"--timeout={PATIENCE}s")
        for node in self._cluster.nodes:
            node.start_proxy(self._proxy)
