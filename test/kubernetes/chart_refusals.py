# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Values that the chart rejects: by its schema, or by its templates with a sentence for each error."""

POOL = {"name": "a", "nodeSelector": {"node.example/pool": "a"}}
OTHER = {"name": "b", "nodeSelector": {"node.example/pool": "b"}}

SCHEMA_REFUSES = {
    "an unknown value": {"moed": "ipvs"},
    "an unknown inner value": {"image": {"name": "sluice"}},
    "an unknown mode": {"mode": "ebpf"},
    "a number for a tag": {"image": {"tag": 1}},
    "a digest without its algorithm": {"image": {"digest": "0123"}},
    "an image with a scheme": {"image": {"repository": "https://registry.example/sluice"}},
    "CIDRs in one text": {"clusterCIDR": "10.244.0.0/16,fd00:244::/56"},
    "an address for a CIDR": {"clusterCIDR": ["10.244.0.0"]},
    "three CIDRs": {"clusterCIDR": ["10.0.0.0/16", "10.1.0.0/16", "fd00::/56"]},
    "an API server without scheme": {"apiServer": {"url": "kube-apiserver.example:6443"}},
    "a surge": {"updateStrategy": {"maxSurge": 1}},
    "an update of no node": {"updateStrategy": {"maxUnavailable": 0}},
    "another capability": {"extraCapabilities": ["SYS_ADMIN"]},
    "a pool without a name": {"pools": [{"nodeSelector": {"a": "b"}}]},
    "a pool without nodes": {"pools": [{"name": "a"}]},
    "a pool that selects every node": {"pools": [{"name": "a", "nodeSelector": {}}]},
    "a pool with a name that no object can have": {"pools": [{**POOL, "name": "A_1"}]},
    "a pool with another image": {"pools": [{**POOL, "image": {"tag": "2"}}]},
    "a metrics address without port": {"metrics": {"bindAddress": "0.0.0.0"}},
    "a boolean in text": {"dashboards": {"enabled": "true"}},
    "a quantity that is none": {"resources": {"requests": {"memory": "64 MB"}}},
}

# Name → values over those of the set base or, if there are pools, of the set pools; and sentences of the error.
REFUSED = {
    "missing values, all in one error": (
        {"image": {"repository": ""}, "apiServer": {"url": ""}, "clusterCIDR": []},
        ["image.repository is empty", "apiServer.url is empty", "clusterCIDR is empty"]),
    "an unknown mode": ({"mode": "ebpf"}, ["/mode"]),
    "two pools of one name": ({"pools": [POOL, {**OTHER, "name": "a"}]}, ['pools: the name "a" is used twice']),
    "a pool with the name of another object": ({"pools": [{**POOL, "name": "dashboards"}]}, ["is reserved"]),
    "a pool with a long name": ({"pools": [{**POOL, "name": "a" * 60}]}, ["longer than 63 characters"]),
    "a long name": ({"fullnameOverride": "a" * 51}, ["longer than 50 characters"]),
    "two pools with common nodes": (
        {"pools": [POOL, {"name": "b", "nodeSelector": {"node.example/disk": "ssd"}}]}, ['"a" and "b" may select the same node']),
    "a pool of two labels beside the default one": (
        {"pools": [{"name": "a", "nodeSelector": {"x": "1", "y": "2"}}]}, ["must have exactly one"]),
    "no DaemonSet": ({"defaultPool": {"enabled": False}}, ["no node would have a proxy"]),
    "pools with the ConfigMap of kube-proxy": (
        {"existingConfigMap": {"name": "kube-proxy"}, "pools": [POOL]}, ["pools cannot be combined"]),
    "two monitors": (
        {"metrics": {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}}}, ["scraped twice"]),
    "a ServiceMonitor without its Service": (
        {"metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}}}, ["needs metrics.service.enabled"]),
    "a monitor of loopback addresses": (
        {"metrics": {"bindAddress": "127.0.0.1:10249", "podMonitor": {"enabled": True}}}, ["cannot be scraped"]),
    "two CIDRs of one family": ({"clusterCIDR": ["10.0.0.0/16", "10.1.0.0/16"]}, ["two CIDRs of one address family"]),
    "fields that the chart sets": (
        {"config": {"mode": "ipvs", "hostnameOverride": "n1"}, "sluiceConfig": {"stateDir": "/run/x"}},
        ["config.mode: use the value mode", "config.hostnameOverride", "sluiceConfig.stateDir"]),
    "such fields of a pool": ({"pools": [{**POOL, "config": {"mode": "ipvs"}}]}, ["pool a: config.mode"]),
    "profiling on an open listener": ({"config": {"enableProfiling": True}}, ["change the log verbosity"]),
}
