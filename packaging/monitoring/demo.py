#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Records metrics of a real daemon for render.py: runs sluiced, the test API server, Prometheus and traffic in a network
namespace of its own, changes Services, swaps the backend, lets a reload and the API server fail, and draws the dashboard.

Needs root, a build tree, /usr/bin/prometheus, and for panels of the node an installed node_exporter.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSIDE = "SLUICE_MONITORING_NAMESPACE"
NODE, API, PROMETHEUS = "demo-node", "http://127.0.0.1:6443", "http://127.0.0.1:9090"
PODS = 3
TITLE = "Sluice dashboard: one node, {} seconds, drawn from the results of its queries"
SUBTITLE = ("Recorded by packaging/monitoring/demo.py: iptables, userspace and nftables mode, a failed swap to ipvs, drift, and an "
            "API server that goes away. Drawn by render.py; this is not Grafana.")
NO_IPVS = "the kernel has no IPVS"
# Panels that may have no data.
REASONS = {"iptables-restore failures": "no restore failed", "xtables lock": "only the legacy variant has it",
           "IPVS virtual and real servers": NO_IPVS, "IPVS draining real servers": NO_IPVS,
           "IPVS set entries and addresses": NO_IPVS, "IPVS netlink messages": NO_IPVS,
           "Plugin metrics dropped": "no value was dropped"}
WITHOUT_NODE_EXPORTER = ("Conntrack table entries", "Conntrack table use", "Conntrack insertion failures and drops")
CONFIG = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: {mode}
hostnameOverride: {node}
clusterCIDR: "10.1.0.0/16,fd00:1::/64"
clientConnection: {{kubeconfig: {work}/kubeconfig}}
conntrack: {{maxPerCore: 0, min: 0}}
nftables: {{minSyncPeriod: 1s, syncPeriod: 10s}}
iptables: {{minSyncPeriod: 1s, syncPeriod: 10s}}
---
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
drainTimeout: 30s
backends:
  nftables: {{counters: true}}
"""
SCRAPE = """global: {{scrape_interval: 2s}}
scrape_configs:
  - job_name: sluice
    static_configs: [{{targets: ["127.0.0.1:10249"], labels: {{instance: {node}}}}}]
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:9100"], labels: {{instance: {node}}}}}]
"""


def run(*words, **options):
    return subprocess.run(words, check=True, **options)


class Demo:
    def __init__(self, options, work):
        self.options, self.work, self.children = options, work, []
        self.tool = os.path.join(options.builddir, "test/tools/netecho")
        self.began = time.time()

    def start(self, name, *words, **more):
        with open(os.path.join(self.work, f"{name}.log"), "ab") as log:
            child = subprocess.Popen(words, stdout=log, stderr=log, **more)
        self.children.append(child)
        return child

    def note(self, text):
        print(f"{time.time() - self.began:5.0f} s  {text}", flush=True)

    def wait(self, url, seconds=20):
        for _ in range(seconds * 10):
            try:
                return urllib.request.urlopen(url, timeout=2).read()
            except OSError:
                time.sleep(0.1)  # poll interval
        raise SystemExit(f"{url} does not answer; see the logs in {self.work}")

    # The node and its pods.

    def build_node(self):
        for words in (["ip", "link", "set", "lo", "up"], ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
                      ["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"],
                      ["ip", "netns", "add", "outside"], ["ip", "-n", "outside", "link", "set", "lo", "up"],
                      ["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", "outside"],
                      ["ip", "-n", "outside", "link", "set", "eth0", "up"], ["ip", "link", "set", "eth0", "up"],
                      ["ip", "addr", "add", "192.168.50.1/24", "dev", "eth0"],
                      ["ip", "addr", "add", "fd00:50::1/64", "dev", "eth0", "nodad"],
                      ["ip", "route", "add", "default", "via", "192.168.50.2"],
                      ["ip", "-6", "route", "add", "default", "via", "fd00:50::2"]):
            run(*words)
        for i in range(1, PODS + 1):
            pod, veth = f"pod-{i}", f"veth{i}"
            run("ip", "netns", "add", pod)
            run("ip", "-n", pod, "link", "set", "lo", "up")
            run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", pod)
            run("ip", "addr", "add", "10.1.0.1/32", "dev", veth)
            run("ip", "addr", "add", "fd00:1::1/128", "dev", veth, "nodad")
            run("ip", "link", "set", veth, "up")
            run("ip", "-n", pod, "addr", "add", f"10.1.0.1{i}/32", "dev", "eth0")
            run("ip", "-n", pod, "addr", "add", f"fd00:1::1{i}/128", "dev", "eth0", "nodad")
            run("ip", "-n", pod, "link", "set", "eth0", "up")
            run("ip", "route", "add", f"10.1.0.1{i}/32", "dev", veth)
            run("ip", "-6", "route", "add", f"fd00:1::1{i}/128", "dev", veth)
            run("ip", "-n", pod, "route", "add", "10.1.0.1", "dev", "eth0")
            run("ip", "-n", pod, "route", "add", "default", "via", "10.1.0.1")
            run("ip", "-n", pod, "-6", "route", "add", "fd00:1::1", "dev", "eth0")
            run("ip", "-n", pod, "-6", "route", "add", "default", "via", "fd00:1::1")
            self.start(pod, "ip", "netns", "exec", pod, self.tool, "serve", "--name", pod, "--port", "8080", "--tcp", "--udp")

    # Objects.

    def load(self, *objects):
        self.post("load", {"items": objects})

    def post(self, command, content):
        """To the control interface of the test API server."""
        body, kind = json.dumps(content).encode(), {"Content-Type": "application/json"}
        try:
            urllib.request.urlopen(urllib.request.Request(f"{API}/_test/{command}", body, kind)).read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"the API server rejects objects: {error.read()!r}") from error

    def service(self, name, address, port, **spec):
        ports = [{"name": "http", "protocol": "TCP", "port": port, "targetPort": 8080},
                 {"name": "echo", "protocol": "UDP", "port": port, "targetPort": 8080}]
        self.load({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "demo"},
                   "spec": {"clusterIP": f"10.96.0.{address}", "clusterIPs": [f"10.96.0.{address}", f"fd00:96::{address}"],
                            "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack", "ports": ports, **spec}})

    def endpoints(self, name, pods):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for family, start in (("IPv4", "10.1.0.1"), ("IPv6", "fd00:1::1")):
            self.load({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
                       "metadata": {"name": f"{name}-{family.lower()}", "namespace": "demo",
                                    "labels": {"kubernetes.io/service-name": name},
                                    "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": now}},
                       "ports": [{"name": "http", "protocol": "TCP", "port": 8080},
                                 {"name": "echo", "protocol": "UDP", "port": 8080}],
                       "endpoints": [{"addresses": [f"{start}{i}"], "nodeName": NODE} for i in pods]})

    def api_server(self):
        child = self.start("apiserver", "/usr/bin/python3", os.path.join(ROOT, "test/apiserver/apiserver.py"), "--plain",
                           "--listen", "127.0.0.1:6443", "--kubeconfig", os.path.join(self.work, "kubeconfig"),
                           "--first-resource-version", str(100000 * (1 + len(self.children))))
        self.wait(f"{API}/_test/stats")
        self.load({"apiVersion": "v1", "kind": "Node",
                   "metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": "zone-a"}},
                   "spec": {"podCIDRs": ["10.1.0.0/16", "fd00:1::/64"]},
                   "status": {"addresses": [{"type": "InternalIP", "address": "192.168.50.1"},
                                            {"type": "InternalIP", "address": "fd00:50::1"}]}})
        self.service("web", 80, 80, type="NodePort")
        self.service("cart", 81, 80, sessionAffinity="ClientIP")
        self.service("local", 82, 80, internalTrafficPolicy="Local")
        self.endpoints("web", (1, 2, 3))
        self.endpoints("cart", (2, 3))
        self.post("bulk", {"services": 40, "endpoints": 3})
        return child

    # What happens.

    def configure(self, mode):
        path = os.path.join(self.work, "config.yaml")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(mode=mode, node=NODE, work=self.work))
        os.replace(path + ".new", path)

    def traffic(self):
        for address, pod in (("10.96.0.80", "pod-1"), ("10.96.0.81", "pod-1"), ("fd00:96::80", "pod-2"), ("fd00:96::81", "pod-2")):
            for protocol in ("tcp", "udp"):
                self.start("traffic", "ip", "netns", "exec", pod, self.tool, "hammer", protocol, address, "80", "--seconds",
                           str(self.options.seconds + 30), "--interval", "100", "--timeout", "500")

    def hold(self, seconds):
        for protocol in ("tcp", "udp"):
            self.start("held", "ip", "netns", "exec", "pod-1", self.tool, "hold", protocol, "10.96.0.80", "80", "--seconds",
                       str(int(seconds)), "--interval", "200")

    def change(self, seconds):
        """Changes endpoints and Services every second."""
        end, step = time.time() + seconds, 0
        while time.time() < end:
            step += 1
            self.endpoints("web", ((1, 2, 3), (1, 3), (2, 3))[step % 3])
            if step % 3 == 0:
                self.service(f"extra-{step % 7}", 100 + step % 7, 80)
                self.endpoints(f"extra-{step % 7}", (1 + step % 3,))
            self.ask_health()
            time.sleep(1)  # pace of the changes

    def ask_health(self):
        for path in ("healthz", "livez"):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:10256/{path}", timeout=2).read()
            except OSError:
                pass

    def reload(self):
        command = [os.path.join(self.options.builddir, "core/sluicectl"), "--state-dir", os.path.join(self.work, "state"), "reload"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in (done.stdout + done.stderr).splitlines():
            self.note("sluicectl reload: " + line)

    def play(self):
        build, part = self.options.builddir, self.options.seconds / 7
        self.build_node()
        server = self.api_server()
        self.configure("iptables")
        plugins = os.path.join(self.work, "plugins")
        os.mkdir(plugins)
        for mode in ("iptables", "nftables", "userspace", "ipvs"):
            with open(os.path.join(build, f"plugins/{mode}/.libs/{mode}.so"), "rb") as file:
                content = file.read()
            with open(os.path.join(plugins, f"{mode}.so"), "wb") as file:
                file.write(content)
        os.mkdir(os.path.join(self.work, "state"))
        with open(os.path.join(self.work, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(SCRAPE.format(node=NODE))
        self.start("prometheus", "prometheus", "--config.file", os.path.join(self.work, "prometheus.yml"), "--storage.tsdb.path",
                   os.path.join(self.work, "tsdb"), "--web.listen-address", "127.0.0.1:9090")
        if self.options.node_exporter:
            self.start("node_exporter", self.options.node_exporter, "--web.listen-address", "127.0.0.1:9100",
                       "--collector.disable-defaults", "--collector.conntrack")
        self.wait(f"{PROMETHEUS}/-/ready")
        self.start("sluiced", os.path.join(build, "core/sluiced"), "--config", os.path.join(self.work, "config.yaml"),
                   "--plugin-dir", plugins, "--state-dir", os.path.join(self.work, "state"))
        self.wait("http://127.0.0.1:10249/healthz")
        self.note("iptables mode serves")
        self.traffic()
        self.change(part)
        self.hold(3 * part)
        self.note("change the mode to userspace")
        self.configure("userspace")
        self.reload()
        self.hold(3 * part)
        self.change(2 * part)
        self.note("change the mode to nftables")
        self.configure("nftables")
        self.reload()
        self.change(part)
        self.note("change the mode to one that does not work here, if the kernel has no IPVS")
        self.configure("ipvs")
        self.reload()
        self.change(part / 2)
        self.configure("nftables")
        self.reload()
        self.note("another process empties a map of the table")
        subprocess.run(["nft", "flush", "map", "ip", "kube-proxy", "service-treatments"], check=False)
        self.change(part / 2)
        self.note("the API server ends")
        server.terminate()
        server.wait()
        time.sleep(part / 2)
        self.note("the API server is back, with other versions")
        self.api_server()
        self.change(part * 1.5)
        self.note("end")

    def finish(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", required=True, help="finished build tree")
    parser.add_argument("--work", required=True, metavar="DIR", help="folder for logs, configuration and the Prometheus database")
    parser.add_argument("--seconds", type=int, default=210, help="duration of the recording (default 210)")
    parser.add_argument("--node-exporter", metavar="PROGRAM", help="node_exporter, for the panels of the node")
    parser.add_argument("--output", metavar="FILE", help="SVG that render.py draws")
    options = parser.parse_args()
    if os.environ.get(INSIDE) is None:
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", sys.executable, os.path.abspath(__file__)]
        return subprocess.call([*command, *sys.argv[1:]], env={**os.environ, INSIDE: "1"})
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    work = os.path.abspath(options.work)
    os.makedirs(work)
    demo = Demo(options, work)
    try:
        demo.play()
        reasons = dict(REASONS)
        if not options.node_exporter:
            reasons.update(dict.fromkeys(WITHOUT_NODE_EXPORTER, "no node_exporter"))
        with open(os.path.join(work, "reasons.json"), "w", encoding="utf-8") as file:
            json.dump(reasons, file)
        seconds = int(time.time() - demo.began)
        words = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "render.py"), "--prometheus", PROMETHEUS,
                 "--seconds", str(seconds), "--save", os.path.join(work, "results.json"),
                 "--reasons", os.path.join(work, "reasons.json"), "--title", TITLE.format(seconds), "--subtitle", SUBTITLE]
        return subprocess.call([*words, *(["--output", options.output] if options.output else [])])
    finally:
        demo.finish()


if __name__ == "__main__":
    sys.exit(main())
