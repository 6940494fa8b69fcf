# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What `kubeadm init` of 1.36 makes for kube-proxy, but for names of images: after `kubectl set image` on that DaemonSet this is
what Sluice runs in."""

DAEMON_SET = {
    "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
    "spec": {"template": {"spec": {
        "priorityClassName": "system-node-critical", "serviceAccountName": "kube-proxy", "hostNetwork": True,
        "tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "kube-proxy",
            "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf", "--hostname-override=$(NODE_NAME)"],
            "securityContext": {"privileged": True},
            "volumeMounts": [{"mountPath": "/var/lib/kube-proxy", "name": "kube-proxy"},
                             {"mountPath": "/run/xtables.lock", "name": "xtables-lock", "readOnly": False},
                             {"mountPath": "/lib/modules", "name": "lib-modules", "readOnly": True}],
        }],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": "kube-proxy"}},
                    {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
                    {"name": "lib-modules", "hostPath": {"path": "/lib/modules", "type": ""}}],
    }}},
}
# The API server makes it, for the account that kubeadm gives to kube-proxy.
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
