# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Names, addresses and paths of a cluster. It computes them, and creates nothing."""

import hashlib
import json
import os
from pathlib import Path

from .failure import ClusterError

VARIABLE = "SLUICE_CLUSTER_DIR"
DEFAULT_FOLDER = "/var/tmp/sluice-cluster"
V4, V6 = "ipv4", "ipv6"
FAMILIES = {"dual": (V4, V6), V4: (V4,), V6: (V6,)}
MOST_NODES = 200
ANY = {V4: "0.0.0.0", V6: "::"}
SERVICE_CIDR = {V4: "10.96.0.0/16", V6: "fd00:96::/112"}
POD_CIDR = {V4: "10.244.0.0/16", V6: "fd00:244::/56"}
KUBERNETES_IP = {V4: "10.96.0.1", V6: "fd00:96::1"}
DNS_IP = {V4: "10.96.0.10", V6: "fd00:96::a"}
LAN_PREFIX = {V4: 24, V6: 64}
# Each node has private folders at these places, so a folder of the cluster below them would be hidden.
PRIVATE = ("/run", "/var/lib", "/var/log")
CONTROL_PLANE, OUTSIDE = "cp", "outside"
FIRST_NODE = 11  # last number of the address of n1


class Layout:
    """`families` is "dual", "ipv4" or "ipv6"; with `zones` the nodes are spread over that number of zones. With `kernel`, a
    version that test/vm/run takes, each node is an emulated machine with that kernel."""

    def __init__(self, folder=None, nodes=3, families="dual", zones=0, kernel=None):
        self.folder = Path(os.path.abspath(folder or os.environ.get(VARIABLE) or DEFAULT_FOLDER))
        if families not in FAMILIES:
            raise ClusterError(f"invalid families '{families}': use dual, ipv4 or ipv6")
        if not 0 <= nodes <= MOST_NODES:
            raise ClusterError(f"invalid number of nodes {nodes}: use 0 to {MOST_NODES}")
        if not 0 <= zones <= max(nodes, 0):
            raise ClusterError(f"invalid number of zones {zones}: use 0 to the number of nodes")
        for place in PRIVATE:
            if self.folder == Path(place) or Path(place) in self.folder.parents:
                raise ClusterError(f"invalid folder {self.folder}: nodes hide {place}; use a folder elsewhere")
        self.node_count, self.families_name, self.zone_count = nodes, families, zones
        self.families = FAMILIES[families]
        self.kernel = kernel

    # What is kept for later calls of the program.

    def save(self):
        self.state.write_text(json.dumps(
            {"nodes": self.node_count, "families": self.families_name, "zones": self.zone_count, "kernel": self.kernel}) + "\n",
            encoding="ascii")

    @classmethod
    def load(cls, folder=None):
        """The layout of the cluster that runs in that folder."""
        layout = cls(folder)
        try:
            kept = json.loads(layout.state.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise ClusterError(f"no cluster runs in {layout.folder}; start one with 'cluster up'") from None
        return cls(layout.folder, **kept)

    # Names.

    @property
    def nodes(self):
        return [f"n{number}" for number in range(1, self.node_count + 1)]

    @property
    def prefix(self):
        """Begins the names of network namespaces. It depends on the folder, so clusters in several folders can coexist."""
        return f"sluice-kc{hashlib.sha256(str(self.folder).encode()).hexdigest()[:6]}-"

    def namespace(self, place):
        return self.prefix + place

    def zone(self, number):
        """Zone of the node with that number, or None."""
        return f"z{(number - 1) % self.zone_count + 1}" if self.zone_count else None

    # Addresses, in the order of families: the first one is the primary family.

    def _lan(self, last, families=None):
        each = {V4: f"192.168.60.{last}", V6: f"fd00:60::{last}"}
        return [each[family] for family in families or self.families]

    @property
    def outside_ips(self):
        return self._lan(1)

    @property
    def control_plane_ips(self):
        return self._lan(FIRST_NODE - 1)

    def node_ips(self, number):
        return self._lan(FIRST_NODE + number - 1)

    def pod_cidrs(self, number):
        each = {V4: f"10.244.{number - 1}.0/24", V6: f"fd00:244:0:{number - 1:x}::/64"}
        return [each[family] for family in self.families]

    def each(self, by_family):
        """The entries for the families of this cluster."""
        return [by_family[family] for family in self.families]

    @property
    def service_cidrs(self):
        return self.each(SERVICE_CIDR)

    @property
    def dns_ip(self):
        return self.each(DNS_IP)[0]

    @property
    def server(self):
        """URL of the API server."""
        ip = self.control_plane_ips[0]
        return f"https://{f'[{ip}]' if ':' in ip else ip}:6443"

    # Paths.

    @property
    def state(self):
        return self.folder / "cluster.json"

    @property
    def images(self):
        """Kept between runs, like the logs and results."""
        return self.folder / "images"

    @property
    def logs(self):
        return self.folder / "log"

    @property
    def results(self):
        return self.folder / "results"

    @property
    def pki(self):
        return self.folder / "pki"

    @property
    def pids(self):
        return self.folder / "pid"

    @property
    def etcd(self):
        return self.folder / "etcd"

    @property
    def kernels(self):
        """Kernels of emulated machines, kept between runs."""
        return self.folder / "vm"

    @property
    def node_folders(self):
        return self.folder / "nodes"

    def node_folder(self, name):
        return self.node_folders / name

    def kubeconfig(self, user):
        return self.pki / f"{user}.kubeconfig"
