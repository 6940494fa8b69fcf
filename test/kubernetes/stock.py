# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The DaemonSets of installers for kube-proxy (test/fixtures/installers), in which Sluice runs after `kubectl set image`."""

import node  # extends sys.path
from lib import installers

# The API server makes it, for the account that installers give to kube-proxy.
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:node-proxier"},
    "rules": [
        {"apiGroups": [""], "resources": ["endpoints", "services"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["servicecidrs"], "verbs": ["list", "watch"]},
    ],
}


def daemon_set(recording, mode):
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"terminationGracePeriodSeconds": 30, **recording.pod_for(mode)}}}}


def data(recording, mode):
    """Of its ConfigMap."""
    return {name: recording.text(name, mode) for name in recording.files.values()}


KUBEADM = installers.Recording("kubeadm")
# By the installer: its mode without options.
DAEMON_SETS = {"kubeadm": (KUBEADM, "iptables"), "k0s": (installers.Recording("k0s"), "iptables"),
               "Talos": (installers.Recording("talos"), "nftables")}
