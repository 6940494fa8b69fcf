#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Replaces the real kube-proxy by the DaemonSet of packaging/kubernetes, node by node, updates the DaemonSet, changes its mode,
and goes back, all under traffic. Prints TAP. Needs root and SLUICE_KUBE_BIN.

  daemonset_test.py --builddir DIR --image FILE --name IMAGE [--only WORD]

--image is an archive that `ctr images import` reads, --name the image in it. The tests are one story: each begins with what
the previous one left.
"""

import json
import os
import signal
import sys

sys.dont_write_bytecode = True

from lib import processes, traffic_state  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.traffic_manifests import LABEL, Manifests, NAME, NAMESPACE  # noqa: E402
from lib.traffic_program import Tests, parser, programs_or_reason, wait_for  # noqa: E402
from lib.traffic_stage import KUBE_PROXY, Stage  # noqa: E402

DAEMON_SET = f"daemonset/{NAME}"
RELOAD_SECONDS = 180  # a kubelet may take a minute to write a changed ConfigMap


class Story:
    def __init__(self, stage, tests, options):
        self._stage, self._tests = stage, tests
        self._cluster = stage.cluster
        self._manifests = Manifests(stage.layout, "base", options.name)
        self._empty = traffic_state.settled(stage.scene)  # without a proxy, with the chains of the kubelet
        self._kube_proxys = stage.fresh(KUBE_PROXY, "iptables")
        for node in self._cluster.nodes[1:]:
            node.change_proxy(stage.proxy(KUBE_PROXY, "iptables"))

    def check(self, name, change):
        """`change` returns problems; meanwhile no connection may fail."""
        self._stage.check(self._tests, name, change)

    def replace(self):
        """Node by node, as docs/migrating.md says: kube-proxy ends and its rules stay, the pod of Sluice starts."""
        self._cluster.apply(self._manifests.text())
        for node in self._cluster.nodes:
            node.stop_proxy()
            self._cluster.kubectl("label", "node", node.name, f"{LABEL}={NAME}")
            wait_for(lambda node=node: self._pod(node), f"a ready pod on {node.name}", 120)
        self._cluster.wait_rollout(DAEMON_SET, NAMESPACE)
        wait_for(lambda: self._modes() == {"nftables"}, "all pods serve in nftables mode", 60)
        return self._only("nftables")

    def _only(self, mode):
        """The other mode has no objects beside those of the kubelet."""
        return self._stage.only(mode, self._empty)

    def _pods(self):
        return self._cluster.get("pods", "-n", NAMESPACE, "-l", f"k8s-app={NAME}")["items"]

    def _pod(self, node):
        """The ready pod on that node, or None."""
        for pod in self._pods():
            conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
            if pod["spec"].get("nodeName") == node.name and conditions.get("Ready") == "True" and \
                    "deletionTimestamp" not in pod["metadata"]:
                return pod
        return None

    def _modes(self):
        return {(node.get(10249, "/proxyMode") or "").strip() for node in self._cluster.nodes}

    def roll(self):
        before = {pod["metadata"]["name"] for pod in self._pods()}
        self._cluster.kubectl("rollout", "restart", DAEMON_SET, "-n", NAMESPACE)
        self._cluster.wait_rollout(DAEMON_SET, NAMESPACE)
        return [f"{name} was not replaced" for name in before & {pod["metadata"]["name"] for pod in self._pods()}]

    def kill(self):
        """SIGKILL to the daemon in its container; the kubelet starts it again."""
        node = self._stage.node
        container = self._pod(node)["status"]["containerStatuses"][0]
        inode = {os.stat(f"/proc/{node.place.pid}/ns/net").st_ino}
        daemons = [pid for pid in processes.in_network(inode) if _program(pid) == "sluiced"]
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: (pod := self._pod(node)) and
                 pod["status"]["containerStatuses"][0]["restartCount"] > container["restartCount"], "the container restarts", 120)
        return [] if len(daemons) == 1 else [f"{len(daemons)} daemons ran on the node"]

    def restart_node(self):
        """kubelet and containerd restart; the pod of Sluice goes on."""
        before = self._pod(self._stage.node)["status"]["containerStatuses"][0]["restartCount"]
        self._cluster.restart_node(self._stage.node)
        pod = wait_for(lambda: self._pod(self._stage.node), "the pod is ready", 120)
        after = pod["status"]["containerStatuses"][0]["restartCount"]
        return [] if after == before else [f"the container restarted {after - before} times"]

    def change_mode(self):
        """By the ConfigMap, without a restart."""
        before = self._identities()
        self._cluster.apply(self._manifests.configuration("iptables"))
        wait_for(lambda: self._modes() == {"iptables"}, "all pods serve in iptables mode", RELOAD_SECONDS)
        remaining = self._only("iptables")
        return remaining + ([] if self._identities() == before else ["a pod was replaced or restarted"])

    def _identities(self):
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in self._pods()}

    def delete(self):
        """The rules stay without a proxy. Changes do not reach them, so endpoints must not end; here all servers run."""
        self._cluster.kubectl("delete", DAEMON_SET, "-n", NAMESPACE)
        wait_for(lambda: not self._pods(), "the pods are deleted", 120)

    def go_back(self):
        for node in self._cluster.nodes:
            node.start_proxy(self._stage.proxy(KUBE_PROXY, "iptables"))

    def tidy_after_return(self):
        return traffic_state.wait_equal(self._stage.scene, self._kube_proxys)[:10]

    def clean_up(self):
        for node in self._cluster.nodes:
            node.stop_proxy(clean_up=True)
        self._cluster.apply(self._manifests.text())
        self._cluster.wait_rollout(DAEMON_SET, NAMESPACE)
        wait_for(lambda: self._modes() == {"nftables"}, "all pods serve in nftables mode", 60)
        self.delete()
        for node in self._cluster.nodes:
            self._cluster.apply(json.dumps(self._manifests.clean_up_pod(node.name)))
            name = f"pod/clean-up-{node.name}"
            self._cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", name, "-n", NAMESPACE, "--timeout=120s")
        return traffic_state.wait_equal(self._stage.scene, self._empty)[:10]

    def play(self):
        self.check("kube-proxy (iptables) is replaced by the DaemonSet (nftables), node by node", self.replace)
        self.check("rolling update of the DaemonSet", self.roll)
        self.check("the daemon is killed, and the kubelet starts it again", self.kill)
        self.check("kubelet and containerd restart, and the pod goes on", self.restart_node)
        self.check("the ConfigMap changes the mode to iptables without a restart", self.change_mode)
        self.check("the DaemonSet is deleted, and the rules stay", self.delete)
        self.check("kube-proxy (iptables) serves again", self.go_back)
        self._tests.check("kube-proxy has no state of Sluice", self.tidy_after_return)
        self._tests.check("the DaemonSet is deleted and cleaned up", self.clean_up)


def _program(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def main():
    words = parser(__doc__)
    words.add_argument("--image", metavar="FILE", help="archive with the image of Sluice")
    words.add_argument("--name", metavar="IMAGE", help="name of the image in the archive")
    options = words.parse_args()
    tests = Tests(options.only)
    programs, reason = programs_or_reason()
    if not reason and not (options.image and options.name):
        reason = "no image; name one with --image and --name"
    if reason:
        tests.skip("the DaemonSet replaces kube-proxy", reason)
        return tests.finish()
    with Stage(options, programs, Cluster) as stage:
        for node in stage.cluster.nodes:
            node.import_image(options.image)
        Story(stage, tests, options).play()
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
