# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a node: containerd, the CNI plugins, and the kubelet."""

import json

from .layout import ANY

PAUSE = "sluice.test/pause:1"
SOCKET = "/run/containerd/containerd.sock"  # each node has its own /run
DEFAULT_ROUTE = {"ipv4": "0.0.0.0/0", "ipv6": "::/0"}

# In an emulated machine a container takes seconds to start, and statistics of volumes cost much processor time.
IN_MACHINE = {"runtimeRequestTimeout": "15m", "nodeLeaseDurationSeconds": 120, "nodeStatusUpdateFrequency": "20s",
              "volumeStatsAggPeriod": "-1s"}

# restrict_oom_score_adj: without the right to lower the score, runc fails to start containers.
CONTAINERD = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
"""


def containerd_configuration(folder):
    return CONTAINERD.format(folder=folder, pause=PAUSE)


def network_configuration(layout, number):
    """A bridge, and host ports."""
    bridge = {
        "type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": cidr}] for cidr in layout.pod_cidrs(number)],
                 "routes": [{"dst": DEFAULT_ROUTE[family]} for family in layout.families]}}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    return json.dumps({"cniVersion": "1.0.0", "name": "cluster", "plugins": [bridge, ports]}, indent=1) + "\n"


def kubelet_configuration(layout, folder):
    """The kubelet shares the machine's disk and control groups, so it must neither evict pods nor make groups of its own."""
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": ANY[layout.families[0]],
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                           "x509": {"clientCAFile": f"{layout.pki}/ca.crt"}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs", "failCgroupV1": False, "cgroupsPerQOS": False, "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "clusterDNS": [layout.dns_ip], "clusterDomain": "cluster.local", "resolvConf": f"{folder}/resolv.conf",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi",
                         "nodefs.inodesFree": "0%"},
        "imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": True,
        "serializeImagePulls": False, "maxPods": 200,
        **(IN_MACHINE if layout.kernel else {}),
    }, indent=1) + "\n"


def write_configuration(node):
    folder = node.folder
    (folder / "cni").mkdir()
    files = {
        "containerd.toml": containerd_configuration(folder),
        "cni/10-cluster.conflist": network_configuration(node.layout, node.number),
        "kubelet.yaml": kubelet_configuration(node.layout, folder),
        "resolv.conf": f"nameserver {node.layout.control_plane_ips[0]}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
