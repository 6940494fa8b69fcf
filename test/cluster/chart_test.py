#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the Helm chart in a real cluster, upgrades it under traffic, and removes it. Prints TAP.

  chart_test.py --image FILE [--name IMAGE]

Needs root, SLUICE_KUBE_BIN, and helm (SLUICE_HELM, or in PATH). --image is an archive that `ctr images import` reads, --name
the image in it. The traffic is new connections to the address of one Service, from each node, without pause.
"""

import argparse
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True

from lib import chart_traffic  # noqa: E402
from lib.chart_release import NAMESPACE, Release, kubeconfig, merged  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402
from lib.layout import Layout, POD_CIDR  # noqa: E402
from lib.shell import CommandFailed  # noqa: E402

CONNECTIONS = 100  # of each node before and after a change
POOL = "node.example/pool"
EDGE = [{"name": "edge", "nodeSelector": {POOL: "edge"}, "mode": "iptables"}]
WEB = [
    {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
            "containers": [{"name": "web", "image": "sluice.test/agnhost:1", "args": ["netexec", "--http-port=8080"],
                            "readinessProbe": {"httpGet": {"path": "/hostname", "port": 8080}}}]}}}},
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {
        "selector": {"app": "web"}, "ipFamilyPolicy": "PreferDualStack", "type": "NodePort",
        "ports": [{"port": 80, "targetPort": 8080}]}},
]


def rules_of(node):
    """Tables and chains of a service proxy, of nftables and of both variants of iptables."""
    text = node.run("nft", "list", "ruleset").stdout
    for tool in ("iptables-legacy-save", "ip6tables-legacy-save"):
        text += node.run(tool, check=False).stdout
    return re.findall(r"^table \S+ kube-proxy\S*|KUBE-(?:SERVICES|NODEPORTS|SVC-\w+|SEP-\w+|POSTROUTING)\b", text, re.M)


class Tests:
    def __init__(self):
        self.count = self.failed = 0

    def run(self, name, play):
        self.count += 1
        try:
            problems = list(play())
        except (ClusterError, CommandFailed) as error:
            problems = [error]
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for line in "\n".join(map(str, problems)).splitlines():
            print(f"#   {line}")
        sys.stdout.flush()

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


class Story:
    """The tests, in their order."""

    def __init__(self, cluster, release):
        self.cluster, self.release = cluster, release
        self.address = None

    def _traffic(self):
        return chart_traffic.Traffic(self.cluster.nodes, self.address, 80)

    def _served(self):
        """Every address of the Service answers on every node, and the node port outside."""
        service = self.cluster.get("service", "web")["spec"]
        for node in self.cluster.nodes:
            for address in service["clusterIPs"]:
                self.cluster.wait(lambda node=node, address=address: node.get(80, "/hostname", address),
                                  f"{address} answers on {node.name}")
        port = service["ports"][0]["nodePort"]
        done = self.cluster.outside.run("curl", "-sf", "-m", "10", f"http://{self.cluster.nodes[0].ips[0]}:{port}/hostname",
                                        check=False)
        return [] if done.returncode == 0 else [f"the node port does not answer outside: {done.returncode}"]

    def _one_on_each_node(self):
        pods = self.release.pods()
        for node in self.cluster.nodes:
            names = [pod["metadata"]["name"] for pod in pods.get(node.name, [])]
            if len(names) != 1:
                yield f"{node.name}: {names}"

    def _modes(self, wanted):
        for node in self.cluster.nodes:
            self.cluster.wait(lambda node=node: (node.get(10249, "/proxyMode") or "").strip() == wanted[node.name],
                              lambda node=node: f"{node.name}: {wanted[node.name]} mode, not {node.get(10249, '/proxyMode')}")
        return []

    def _with_traffic(self, change, check=lambda: ()):
        traffic = self._traffic()
        try:
            traffic.wait(CONNECTIONS)
            change()
            yield from check()
            traffic.wait(CONNECTIONS)
        finally:
            result = traffic.end()
        print(f"# connections: {result}")
        yield from (f"{name}: {failed} of {count} connections failed: {error}" for name, (count, failed, error) in result.items()
                    if failed)

    def install(self):
        self.release.apply()
        self.release.wait()
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": WEB}))
        self.cluster.wait_rollout("daemonset/web")
        self.address = self.cluster.get("service", "web")["spec"]["clusterIP"]
        yield from self._one_on_each_node()
        yield from self._served()

    def scrape(self):
        """As Prometheus does: the endpoints of the headless Service, from a pod."""
        wanted = {node.ips[0] for node in self.cluster.nodes}

        def endpoints():
            of_service = ("-n", NAMESPACE, "-l", "kubernetes.io/service-name=sluice-metrics")
            slices = self.cluster.get("endpointslices", *of_service)["items"]
            return {address for one in slices for endpoint in one["endpoints"] or [] for address in endpoint["addresses"]}

        self.cluster.wait(lambda: endpoints() == wanted, lambda: f"the endpoints are {endpoints()}, not {wanted}")
        pod = self.cluster.get("pods", "-l", "app=web")["items"][0]["metadata"]["name"]
        for address in sorted(wanted):
            text = self.cluster.exec(pod, "curl", "-sf", "-m", "10", f"http://{address}:10249/metrics", check=False)
            if not text or "sluice_build_info" not in text:
                yield f"a pod gets no metrics from {address}"

    def reload(self):
        """A field of the configuration: no pod restarts."""
        before = self._identities()

        def reloaded():
            pages = [node.get(10249, "/configz") or "" for node in self.cluster.nodes]
            return all('"verbosity":2' in page.replace(" ", "") for page in pages)

        def change():
            self.release.apply(config={"logging": {"verbosity": 2}})
            self.cluster.wait(reloaded, "every daemon has the new verbosity", 180)

        yield from self._with_traffic(change)
        if self._identities() != before:
            yield "a pod was replaced or restarted"

    def _identities(self):
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"]
                for pods in self.release.pods().values() for pod in pods}

    def roll(self):
        before = self._identities()

        def change():
            self.release.apply(podAnnotations={"example/revision": "2"})
            self.release.wait()

        yield from self._with_traffic(change, self._one_on_each_node)
        yield from (f"{name} was not replaced" for name in self._identities() if name in before)

    def pool(self):
        """One node moves to a DaemonSet of its own, in another mode."""
        node = self.cluster.nodes[-1].name
        modes = {one.name: "iptables" if one.name == node else "nftables" for one in self.cluster.nodes}

        def change():
            self.cluster.kubectl("label", "node", node, f"{POOL}=edge")
            self.release.apply(pools=EDGE)
            self.release.wait()
            self.cluster.wait(lambda: not list(self._one_on_each_node()),
                              lambda: f"one pod on each node: {list(self._one_on_each_node())}")

        yield from self._with_traffic(change, lambda: self._modes(modes))
        owners = {name: pods[0]["metadata"]["ownerReferences"][0]["name"] for name, pods in self.release.pods().items()}
        wanted = {one: "sluice-edge" if mode == "iptables" else "sluice" for one, mode in modes.items()}
        if owners != wanted:
            yield f"the pods belong to {owners}"
        yield from self._served()

    def remove(self):
        """The rules stay."""
        yield from self._with_traffic(self.release.remove)
        of_release = ("-o", "name", "-l", "app.kubernetes.io/instance=sluice")
        kinds = self.cluster.kubectl("get", "daemonset,configmap,service,serviceaccount", "-n", NAMESPACE, *of_release)
        kinds += self.cluster.kubectl("get", "clusterrole,clusterrolebinding", *of_release)
        if kinds.strip():
            yield f"left: {kinds}"

    def clean_up(self):
        """The command of docs/kubernetes/helm.md."""
        values = self.release.values["image"]
        for node in self.cluster.nodes:
            if not rules_of(node):
                yield f"{node.name} has no rules to clean up"
            self.cluster.kubectl("debug", f"node/{node.name}", "-n", NAMESPACE, "--quiet", "--profile=sysadmin",
                                 f"--image={values['repository']}:{values['tag']}", "--", "/usr/sbin/sluiced", "--cleanup",
                                 "--state-dir=/host/run/sluice")

        def phases():
            pods = self.cluster.get("pods", "-n", NAMESPACE)["items"]
            return [pod["status"]["phase"] for pod in pods if pod["metadata"]["name"].startswith("node-debugger-")]

        self.cluster.wait(lambda: phases() == ["Succeeded"] * len(self.cluster.nodes),
                          lambda: f"all debug pods succeed: {phases()}")
        for node in self.cluster.nodes:
            if rules_of(node):
                yield f"{node.name}: {rules_of(node)}"
            if node.get(80, "/hostname", self.address):
                yield f"{node.name} serves {self.address} without rules"

    def userspace(self):
        """In this mode the daemon itself serves, with more capabilities."""
        self.release.values = merged(self.release.values, {"mode": "userspace", "pools": []})
        self.release.apply()
        self.release.wait()
        yield from self._modes({node.name: "userspace" for node in self.cluster.nodes})
        yield from self._served()

    def second(self):
        """Another release for the same nodes."""
        other = Release(self.cluster, self.release.helm, self.release.image, "other")
        other.apply()

        def reasons():
            return [condition.get("reason") for pods in other.pods().values() for pod in pods
                    for condition in pod["status"].get("conditions", []) if condition["type"] == "PodScheduled"]

        self.cluster.wait(lambda: reasons() == ["Unschedulable"] * len(self.cluster.nodes),
                          lambda: f"no pod is scheduled: {reasons()}")
        other.remove()
        yield from self._one_on_each_node()

    def kube_proxy_configuration(self):
        """The ConfigMap that kubeadm makes for kube-proxy."""
        self.release.remove()
        files = {"config.conf": json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
            "clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"}, "conntrack": {"maxPerCore": 0},
            "clusterCIDR": ",".join(self.cluster.layout.each(POD_CIDR))}),
            "kubeconfig.conf": json.dumps(kubeconfig(self.cluster.layout.server))}
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": files,
                                       "metadata": {"name": "kube-proxy", "namespace": NAMESPACE}}))
        self.release.values = {"image": self.release.values["image"], "existingConfigMap": {"name": "kube-proxy"}}
        self.release.apply()
        self.release.wait()
        yield from self._modes({node.name: "iptables" for node in self.cluster.nodes})
        yield from self._served()


def play(cluster, helm, options):
    tests = Tests()
    for node in cluster.nodes:
        node.import_image(options.image)
    story = Story(cluster, Release(cluster, helm, options.name))
    tests.run("the chart is installed, every pod is ready, and a Service is served", story.install)
    if story.address:
        tests.run("a pod scrapes the metrics of every node through the headless Service", story.scrape)
        tests.run("an upgrade of the configuration is reloaded by the running pods", story.reload)
        tests.run("a rolling upgrade fails no connection", story.roll)
        tests.run("a node moves to a pool in iptables mode, and no connection fails", story.pool)
        tests.run("uninstall removes all objects and keeps the rules", story.remove)
        tests.run("sluiced --cleanup in a debug pod removes the rules of the nodes", story.clean_up)
        tests.run("the chart is installed in userspace mode, and a Service is served", story.userspace)
        tests.run("a second release gets no pod on a node that has one", story.second)
        tests.run("the chart uses the ConfigMap of kube-proxy", story.kube_proxy_configuration)
    return tests.finish()


def options_or_reason():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", required=True, metavar="FILE", help="image archive")
    parser.add_argument("--name", default="registry.example/sluice:0.1.0", metavar="IMAGE",
                        help="image in it (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="do not remove the cluster")
    wanted = parser.parse_args()
    helm = os.environ.get("SLUICE_HELM") or shutil.which("helm")
    if not os.environ.get("SLUICE_KUBE_BIN"):
        return wanted, helm, "SLUICE_KUBE_BIN is not set"
    return wanted, helm, None if helm else "helm is not installed, and SLUICE_HELM is not set"


def main():
    wanted, helm, reason = options_or_reason()
    if reason:
        print(f"1..1\nok 1 - the chart in a real cluster # SKIP {reason}")
        return 0
    cluster = Cluster(Layout(nodes=3), KubePrograms.from_environment())
    if not wanted.keep:
        with cluster:
            return play(cluster, helm, wanted)
    cluster.up()
    return play(cluster, helm, wanted)


if __name__ == "__main__":
    sys.exit(main())
