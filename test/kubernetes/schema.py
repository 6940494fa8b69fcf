# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What an API server would say about a manifest, without one: fields, types, what is required, and the values of words.

Written down by hand after the API reference of Kubernetes 1.36: apps/v1, core/v1, rbac.authorization.k8s.io/v1,
kustomize.config.k8s.io/v1beta1, and monitoring.coreos.com/v1 of the Prometheus Operator. It has the kinds that are used
here, with their fields but for some that a proxy of nodes never needs (ephemeral volumes, volumes of vendors, affinity of
pods, …); what is not here is an error. So it is stricter than a server, and never laxer about what it has.

    "string" "int" "bool"      scalars; "quantity" a number or text such as 20m; "intstr" a number, or text
    "labels"                   a map of strings to strings
    ("a", "b")                 one of these words
    [X]                        a list of X
    {"name": X, "other!": Y}   an object with no other fields; other is required
"""

import re

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?\Z")
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?\Z")
PERCENT = re.compile(r"[0-9]+%\Z")
PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?\Z")

META = {"name!": "string", "namespace": "string", "labels": "labels", "annotations": "labels"}
POD_META = {"labels": "labels", "annotations": "labels"}
SELECTOR = {
    "matchLabels": "labels",
    "matchExpressions": [{"key!": "string", "operator!": ("In", "NotIn", "Exists", "DoesNotExist"), "values": ["string"]}],
}
SECCOMP = {"type!": ("RuntimeDefault", "Unconfined", "Localhost"), "localhostProfile": "string"}
ENV = [{
    "name!": "string", "value": "string",
    "valueFrom": {
        "fieldRef": {"fieldPath!": "string", "apiVersion": "string"},
        "configMapKeyRef": {"name": "string", "key!": "string", "optional": "bool"},
        "secretKeyRef": {"name": "string", "key!": "string", "optional": "bool"},
    },
}]
PROBE = {
    "httpGet": {"path": "string", "port!": "intstr", "host": "string", "scheme": ("HTTP", "HTTPS"),
                "httpHeaders": [{"name!": "string", "value!": "string"}]},
    "exec": {"command": ["string"]},
    "tcpSocket": {"port!": "intstr", "host": "string"},
    "initialDelaySeconds": "int", "periodSeconds": "int", "timeoutSeconds": "int", "successThreshold": "int",
    "failureThreshold": "int", "terminationGracePeriodSeconds": "int",
}
CONTAINER = {
    "name!": "string",
    "image": "string",
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "command": ["string"], "args": ["string"], "workingDir": "string",
    "env": ENV,
    "ports": [{"name": "string", "containerPort!": "int", "hostPort": "int", "hostIP": "string",
               "protocol": ("TCP", "UDP", "SCTP")}],
    "livenessProbe": PROBE, "readinessProbe": PROBE, "startupProbe": PROBE,
    "resources": {"requests": "quantities", "limits": "quantities"},
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "securityContext": {
        "privileged": "bool", "allowPrivilegeEscalation": "bool", "readOnlyRootFilesystem": "bool",
        "runAsUser": "int", "runAsGroup": "int", "runAsNonRoot": "bool", "procMount": ("Default", "Unmasked"),
        "capabilities": {"add": ["capability"], "drop": ["capability"]},
        "seccompProfile": SECCOMP,
        "appArmorProfile": SECCOMP,
    },
    "volumeMounts": [{
        "name!": "string", "mountPath!": "string", "readOnly": "bool", "subPath": "string", "subPathExpr": "string",
        "mountPropagation": ("None", "HostToContainer", "Bidirectional"),
        "recursiveReadOnly": ("Disabled", "IfPossible", "Enabled"),
    }],
    "terminationMessagePath": "string", "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
KEYS = [{"key!": "string", "path!": "string", "mode": "int"}]
VOLUME = {
    "name!": "string",
    "configMap": {"name": "string", "items": KEYS, "defaultMode": "int", "optional": "bool"},
    "secret": {"secretName": "string", "items": KEYS, "defaultMode": "int", "optional": "bool"},
    "hostPath": {"path!": "string", "type": ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket",
                                             "CharDevice", "BlockDevice")},
    "emptyDir": {"medium": ("", "Memory"), "sizeLimit": "quantity"},
}
POD = {
    "containers!": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME],
    "hostNetwork": "bool", "hostPID": "bool", "hostIPC": "bool", "hostUsers": "bool",
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "priorityClassName": "string", "serviceAccountName": "string", "automountServiceAccountToken": "bool",
    "nodeSelector": "labels", "terminationGracePeriodSeconds": "int", "enableServiceLinks": "bool",
    "tolerations": [{
        "key": "string", "operator": ("Exists", "Equal"), "value": "string", "tolerationSeconds": "int",
        "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    }],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms!": [
        {"matchExpressions": [{"key!": "string", "operator!": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
                               "values": ["string"]}]},
    ]}}},
    "imagePullSecrets": [{"name": "string"}],
    "securityContext": {"runAsUser": "int", "runAsGroup": "int", "runAsNonRoot": "bool", "fsGroup": "int",
                        "sysctls": [{"name!": "string", "value!": "string"}], "seccompProfile": SECCOMP},
}
RELABELINGS = [{
    "sourceLabels": ["string"], "separator": "string", "targetLabel": "string", "regex": "string", "modulus": "int",
    "replacement": "string", "action": ("replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep"),
}]
ENDPOINT = {"port!": "string", "path": "string", "scheme": ("http", "https"), "interval": "string", "scrapeTimeout": "string",
            "honorLabels": "bool", "relabelings": RELABELINGS, "metricRelabelings": RELABELINGS}
RULE = {"alert!": "string", "expr!": "string", "for": "string", "keep_firing_for": "string", "labels": "labels",
        "annotations": "labels"}
KINDS = {
    ("v1", "Service"): {
        "metadata!": META,
        "spec!": {
            "clusterIP": "string", "publishNotReadyAddresses": "bool", "selector": "labels",
            "type": ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
            "ports": [{"name": "string", "port!": "int", "targetPort": "intstr", "protocol": ("TCP", "UDP", "SCTP")}],
        },
    },
    ("monitoring.coreos.com/v1", "PodMonitor"): {
        "metadata!": META,
        "spec!": {"jobLabel": "string", "selector!": SELECTOR, "podMetricsEndpoints!": [ENDPOINT]},
    },
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "metadata!": META,
        "spec!": {"jobLabel": "string", "selector!": SELECTOR, "endpoints!": [ENDPOINT]},
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {
        "metadata!": META, "spec!": {"groups": [{"name!": "string", "interval": "string", "rules": [RULE]}]},
    },
    ("v1", "ServiceAccount"): {"metadata!": META, "automountServiceAccountToken": "bool",
                               "imagePullSecrets": [{"name": "string"}]},
    ("v1", "ConfigMap"): {"metadata!": META, "data": "labels", "immutable": "bool"},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {
        "metadata!": META,
        "rules": [{"apiGroups": ["string"], "resources": ["string"], "resourceNames": ["string"],
                   "nonResourceURLs": ["string"],
                   "verbs!": [("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*")]}],
    },
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): {
        "metadata!": META,
        "roleRef!": {"apiGroup!": ("rbac.authorization.k8s.io",), "kind!": ("ClusterRole",), "name!": "string"},
        "subjects": [{"kind!": ("ServiceAccount", "User", "Group"), "apiGroup": "string", "name!": "string",
                      "namespace": "string"}],
    },
    ("apps/v1", "DaemonSet"): {
        "metadata!": META,
        "spec!": {
            "selector!": SELECTOR,
            "template!": {"metadata": POD_META, "spec!": POD},
            "updateStrategy": {"type": ("RollingUpdate", "OnDelete"),
                               "rollingUpdate": {"maxUnavailable": "share", "maxSurge": "share"}},
            "minReadySeconds": "int", "revisionHistoryLimit": "int",
        },
    },
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): {
        "namespace": "string",
        "resources": ["string"],
        "configMapGenerator": [{"name!": "string", "namespace": "string", "behavior": ("create", "merge", "replace"),
                                "files": ["string"], "literals": ["string"]}],
        "generatorOptions": {"disableNameSuffixHash": "bool", "labels": "labels", "annotations": "labels"},
        "images": [{"name!": "string", "newName": "string", "newTag": "string", "digest": "string"}],
        "patches": [{"path": "string", "patch": "string",
                     "target": {"group": "string", "version": "string", "kind": "string", "name": "string",
                                "namespace": "string", "labelSelector": "string"}}],
    },
}
# Capabilities of Linux without CAP_.
CAPABILITIES = set("""ALL AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
    DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN
    NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT
    SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM""".split())


def problems(document):
    """Returns error sentences; none for a valid document."""
    if not isinstance(document, dict):
        return ["is no object"]
    identity = (document.get("apiVersion"), document.get("kind"))
    if identity not in KINDS:
        return [f"kind {identity[1]} of {identity[0]} is not known"]
    out = []
    _check(document, {"apiVersion!": "string", "kind!": "string", **KINDS[identity]}, identity[1], out)
    out += _beyond_types(document) if not out else []
    return out


def _check(value, wanted, where, out):
    if isinstance(wanted, dict):
        _object(value, wanted, where, out)
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            out.append(f"{where}: is no list")
            return
        for number, one in enumerate(value):
            _check(one, wanted[0], f"{where}[{number}]", out)
    elif isinstance(wanted, tuple):
        if value not in wanted:
            out.append(f"{where}: {value!r}; allowed: {', '.join(wanted)}")
    elif not SCALARS[wanted](value):
        out.append(f"{where}: {value!r} is no {wanted}")


def _object(value, wanted, where, out):
    if not isinstance(value, dict):
        out.append(f"{where}: is no object")
        return
    known = {name.rstrip("!"): inner for name, inner in wanted.items()}
    for name, inner in value.items():
        if name not in known:
            out.append(f"{where}.{name}: unknown field")
        else:
            _check(inner, known[name], f"{where}.{name}", out)
    out += [f"{where}.{name[:-1]}: is missing" for name in wanted if name.endswith("!") and name[:-1] not in value]


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value):
    return isinstance(value, str)


def _is_map(value, check):
    return isinstance(value, dict) and all(_is_text(name) and check(one) for name, one in value.items())


def _is_quantity(value):
    return _is_int(value) or _is_text(value) and bool(QUANTITY.match(value))


SCALARS = {
    "string": _is_text,
    "int": _is_int,
    "bool": lambda value: isinstance(value, bool),
    "intstr": lambda value: _is_int(value) or _is_text(value),
    "quantity": _is_quantity,
    "quantities": lambda value: _is_map(value, _is_quantity),
    "labels": lambda value: _is_map(value, _is_text),
    "share": lambda value: _is_int(value) or _is_text(value) and bool(PERCENT.match(value)),
    "capability": lambda value: value in CAPABILITIES,
}


def _beyond_types(document):
    out = []
    name = document.get("metadata", {}).get("name", "x")
    if not NAME.match(name):
        out.append(f"metadata.name: {name!r} is no name")
    if document["kind"] == "DaemonSet":
        _daemon_set(document, out)
    return out


def _daemon_set(document, out):
    spec = document["spec"]
    labels = spec["template"].get("metadata", {}).get("labels", {})
    wanted = spec["selector"].get("matchLabels", {})
    if not wanted or any(labels.get(name) != value for name, value in wanted.items()):
        out.append("spec.selector: does not choose the labels of the template")
    out += [f"label {value!r} has letters that labels cannot have" for value in labels.values() if not LABEL_VALUE.match(value)]
    strategy = spec.get("updateStrategy", {}).get("rollingUpdate", {})
    if strategy.get("maxSurge", 0) in (0, "0%") and strategy.get("maxUnavailable", 1) in (0, "0%"):
        out.append("spec.updateStrategy.rollingUpdate: cannot be 0 for both")
    pod = spec["template"]["spec"]
    volumes = [one["name"] for one in pod.get("volumes", [])]
    for one in pod.get("volumes", []):
        if len(one) != 2:
            out.append(f"volume {one['name']}: has {len(one) - 1} sources, not one")
    containers = pod.get("initContainers", []) + pod["containers"]
    for names, what in ((volumes, "volumes"), ([one["name"] for one in containers], "containers")):
        if len(set(names)) != len(names):
            out.append(f"two {what} of one name")
    for one in containers:
        _container(one, volumes, pod, out)


def _container(container, volumes, pod, out):
    where = f"container {container['name']}"
    if not container.get("image"):
        out.append(f"{where}: no image")
    mounts = container.get("volumeMounts", [])
    out += [f"{where}: mounts {one['name']}, which is no volume" for one in mounts if one["name"] not in volumes]
    if len({one["mountPath"] for one in mounts}) != len(mounts):
        out.append(f"{where}: two mounts at one path")
    names = {one.get("name"): one["containerPort"] for one in container.get("ports", [])}
    for port in container.get("ports", []):
        if "name" in port and not PORT_NAME.match(port["name"]):
            out.append(f"{where}: {port['name']!r} is no name of a port")
        if pod.get("hostNetwork") and port.get("hostPort", port["containerPort"]) != port["containerPort"]:
            out.append(f"{where}: hostPort is not containerPort, with hostNetwork")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe not in container:
            continue
        handlers = [name for name in ("httpGet", "exec", "tcpSocket") if name in container[probe]]
        if len(handlers) != 1:
            out.append(f"{where}: {probe} has {len(handlers)} handlers, not one")
        port = container[probe].get("httpGet", {}).get("port", 1)
        if isinstance(port, str) and port not in names:
            out.append(f"{where}: {probe} asks port {port}, which has no such name")
    security = container.get("securityContext", {})
    if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
        out.append(f"{where}: privileged, and allowPrivilegeEscalation is false")
