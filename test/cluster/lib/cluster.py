# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster, which tests use as a context manager:

    with Cluster(Layout(nodes=3), KubePrograms.from_environment()) as cluster:
        cluster.change_proxies(Sluice("nftables", builddir))
        cluster.apply(text)
        cluster.wait_rollout("deployment/web")
"""

import concurrent.futures
import json
import shutil

from . import cgroups, images, network, pace, pki, processes, shell
from .control_plane import ControlPlane
from .failure import ClusterError
from .layout import OUTSIDE
from .machine_node import MachineNode
from .node import Node
from .place import Place

READY_PATIENCE = 180
AT_ONCE = 4  # nodes that start at the same time


class Cluster:
    """Entering it starts a cluster from nothing and leaving removes it; `Cluster(Layout.load(), …)` uses one that runs."""

    def __init__(self, layout, programs):
        self.layout, self.programs = layout, programs
        self.control_plane = ControlPlane(layout, programs)
        kind = MachineNode if layout.kernel else Node
        self.nodes = [kind(layout, programs, number) for number in range(1, layout.node_count + 1)]
        self.outside = Place(layout, OUTSIDE)  # a client outside the cluster, with routes to nodes and pods

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def node(self, name):
        found = [node for node in self.nodes if node.name == name]
        if not found:
            raise ClusterError(f"unknown node '{name}': the nodes are {', '.join(self.layout.nodes)}")
        return found[0]

    # Life.

    def up(self):
        """Starts the control plane and the nodes; removes the cluster that ran in this folder before."""
        self.programs.check(self.layout.node_count)
        self.down()
        shutil.rmtree(self.layout.logs, ignore_errors=True)
        for folder in (self.layout.pids, self.layout.logs, self.layout.images, self.layout.results):
            folder.mkdir(parents=True, exist_ok=True)
        self.layout.save()
        prepared = images.Images(self.layout, self.programs)
        if self.nodes:
            prepared.build()
        network.build(self.layout)
        pki.create(self.layout)
        self.outside.build()
        self.control_plane.place.build()
        self.control_plane.start()
        if self.nodes:
            self._start_nodes(prepared)

    def _start_nodes(self, prepared):
        self.apply(json.dumps(_list([node.manifest() for node in self.nodes] + dns_objects(self.layout))))
        first = 0 if self.layout.kernel else 1
        for node in self.nodes[:first]:
            node.start(prepared)  # it may have to import the images; the others copy them
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda node: node.start(prepared), self.nodes[first:]))
        self.wait_nodes_ready(READY_PATIENCE * (5 if self.layout.kernel else 1))
        # Pods of a namespace need its account, which the controller manager creates.
        self.wait(lambda: self.kubectl("get", "serviceaccount", "default", "--ignore-not-found"), "no default service account")

    def down(self):
        """Removes everything but images, logs and results. Also removes what a killed run left; safe to call again."""
        for machine in self.layout.pids.glob("machine-*"):
            processes.Process(self.layout, machine.name).stop()  # it removes its files
        network.remove(self.layout)  # with all processes; mounts end with the mount namespaces
        cgroups.remove(self.layout)
        for folder in (self.layout.node_folders, self.layout.pids, self.layout.etcd, self.layout.pki):
            shutil.rmtree(folder, ignore_errors=True)
        self.layout.state.unlink(missing_ok=True)

    # As administrator.

    def kubectl(self, *words, stdin=None, timeout=300):
        """The output of kubectl; raises shell.CommandFailed."""
        return self.control_plane.kubectl(*words, stdin=stdin, timeout=timeout)

    def get(self, *words):
        """The JSON document of `kubectl get`."""
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def apply(self, text):
        """Creates or changes the objects of a manifest, YAML or JSON."""
        return self.kubectl("apply", "-f", "-", stdin=text)

    def wait(self, condition, what, seconds=120):
        """Returns the result of `condition()` when it is true; raises ClusterError after a timeout. `what` may be a function."""
        found = pace.wait_until(condition, seconds, every=0.2)
        if not found:
            raise ClusterError(f"timeout after {pace.stretched(seconds):.0f} s: {what() if callable(what) else what}")
        return found

    def wait_nodes_ready(self, seconds=READY_PATIENCE):
        self.kubectl("wait", "--for=condition=Ready", "node", "--all", f"--timeout={pace.stretched(seconds):.0f}s",
                     timeout=seconds + 60)

    def wait_rollout(self, name, namespace="default", seconds=READY_PATIENCE):
        """Waits for a Deployment, DaemonSet or StatefulSet, such as "deployment/web"."""
        self.kubectl("rollout", "status", name, "-n", namespace, f"--timeout={pace.stretched(seconds):.0f}s", timeout=seconds + 60)

    def wait_pods_ready(self, *names, namespace="default", seconds=READY_PATIENCE):
        self.kubectl("wait", "--for=condition=Ready", "pod", *names, "-n", namespace,
                     f"--timeout={pace.stretched(seconds):.0f}s", timeout=seconds + 60)

    def exec(self, pod, *argv, namespace="default", check=True, timeout=60):
        """Runs a program in a pod; returns the output, or None if it failed and that is no error."""
        try:
            return self.kubectl("exec", "-n", namespace, pod, "--", *argv, timeout=timeout)
        except shell.CommandFailed:
            if check:
                raise
            return None

    # Restarts and proxies.

    def restart_node(self, node):
        """Restarts kubelet and containerd; returns when the node is ready and the kubelet knows its pods."""
        pods = f"--field-selector=spec.nodeName={node.name}"
        expected = {one["metadata"]["uid"] for one in self.get("pods", "--all-namespaces", pods)["items"]}
        before = self._heartbeat(node)
        node.restart()

        def ready():
            try:
                known = json.loads(self.kubectl("get", f"--raw=/api/v1/nodes/{node.name}/proxy/pods"))["items"] or []
            except shell.CommandFailed:  # the kubelet does not listen yet
                return False
            return self._heartbeat(node) > before and expected <= {one["metadata"]["uid"] for one in known}

        self.wait(ready, f"restart of {node.name}", READY_PATIENCE)
        self.wait_nodes_ready()

    def _heartbeat(self, node):
        conditions = self.get("node", node.name)["status"]["conditions"]
        return next(one["lastHeartbeatTime"] for one in conditions if one["type"] == "Ready")

    def change_proxies(self, proxy, nodes=None):
        """Stops and cleans up the proxies of these nodes, or of all, then starts this one."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda node: node.change_proxy(proxy), nodes or self.nodes))


def _list(items):
    return {"apiVersion": "v1", "kind": "List", "items": items}


def dns_objects(layout):
    """The Service of the name server, so that name resolution passes through the proxy under test."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    address = layout.control_plane_ips[0]
    metadata = {"namespace": "kube-system"}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kube-dns", **metadata},
         "spec": {"clusterIP": layout.dns_ip, "ports": ports}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
         "metadata": {"name": "kube-dns-1", "labels": {"kubernetes.io/service-name": "kube-dns"}, **metadata},
         "addressType": "IPv6" if ":" in address else "IPv4", "ports": ports,
         "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]},
    ]
