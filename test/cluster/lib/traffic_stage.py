# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A control plane and two nodes without kubelets, with servers, a client pod and 50 Services, where proxies are replaced on
the first node."""

import json
import os
import shutil

from . import netns_http, network, pki, traffic_hosts, traffic_scene, traffic_services, traffic_state
from . import programs as sluice_programs
from .cluster import Cluster
from .failure import ClusterError
from .layout import Layout
from .proxies import KubeProxy, Sluice, STATE_DIR
from .traffic_program import wait_for

KUBE_PROXY, SLUICE = "kube-proxy", "Sluice"
SERVICES = 50
PER_SENDER = 8
BEFORE, AFTER = 30, 60  # connections of each flow before and after a change
SPARE = 3 * PER_SENDER + 1  # the first Service without clients


class BareCluster(Cluster):
    """Nodes have neither containerd nor kubelet: for tests that need proxies only."""

    def up(self):
        self.down()
        shutil.rmtree(self.layout.logs, ignore_errors=True)
        for folder in (self.layout.pids, self.layout.logs):
            folder.mkdir(parents=True)
        self.layout.save()
        network.build(self.layout)
        pki.create(self.layout)
        self.outside.build()
        self.control_plane.place.build()
        self.control_plane.start()
        for node in self.nodes:
            node.build()
            manifest = node.manifest()
            self.apply(json.dumps(manifest))
            status = {"status": {"addresses": [{"type": "InternalIP", "address": ip} for ip in node.ips]}}
            self.kubectl("patch", "node", node.name, "--subresource=status", "--type=merge", "-p", json.dumps(status))


class Stage:
    """The node under test is n1."""

    def __init__(self, options, programs, cluster=BareCluster, kube_proxy=None):
        """`kube_proxy` is the path of another kube-proxy than that of `programs`."""
        self._builddir = os.path.abspath(options.builddir)
        self.layout = Layout(options.folder, nodes=2)
        self.cluster = cluster(self.layout, programs)
        self.node = self.cluster.nodes[0]
        self._kube_proxy = kube_proxy
        self.scene = None
        self.services = None
        self._hosts = traffic_hosts.PodHosts(self.layout)
        self._client = None
        self._fresh = {}

    def __enter__(self):
        self.cluster.__enter__()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        self.scene = traffic_scene.Scene(self.layout, self._builddir, self.node)
        self._client = self._hosts.add("client", 1)
        servers = [self._hosts.add("e1", 1), *(self._hosts.add(name, 2) for name in ("e2", "e3", "e4"))]
        self.services = traffic_services.Services(self.layout, servers, SERVICES)
        traffic_scene.serve(self.scene, servers, self.services.target_ports)
        self.services.create()

    def __exit__(self, *_):
        if self.scene:
            self.scene.close()
        self._hosts.__exit__()
        self.cluster.__exit__()

    # Traffic and changes.

    def churn(self):
        return traffic_services.Churn(self.services, SPARE, traffic_scene.steady(PER_SENDER), self.layout)

    def traffic(self):
        """Clients; once it is entered, all of them are served."""
        node, outside = traffic_hosts.node(self.layout, 1), traffic_hosts.outside(self.layout)
        return traffic_scene.Run(self.scene, traffic_scene.flows(self.services, self._client, node, outside, PER_SENDER))

    def check(self, tests, name, change):
        """Runs `change`, which returns problems, while Services change; no connection may fail."""
        def test():
            with self.churn() as churn, self.traffic() as run:
                run.wait_connects(BEFORE)
                problems = list(change() or ())
                run.wait_connects(AFTER)
                churn.end()
                result = run.end()
            tests.count(name, result)
            return result.problems() + problems

        tests.check(name, test)

    def answers(self, number):
        """Whether the cluster IP of that Service accepts a connection of the client pod."""
        try:
            netns_http.connect_in(self.layout.namespace("client"), (self.services.cluster_ip(number), 80), timeout=0.2).close()
            return True
        except OSError:
            return False

    # Proxies.

    def proxy(self, program, mode):
        return KubeProxy(mode, self._kube_proxy) if program == KUBE_PROXY else Sluice(mode, self._builddir)

    def begin(self, program, mode):
        """Starts this proxy on a node without proxy state."""
        self.node.change_proxy(self.proxy(program, mode))

    def replace(self, program, mode):
        """Stops the proxy, keeping its rules, and starts this one."""
        self.node.stop_proxy()
        self.node.start_proxy(self.proxy(program, mode))

    def fresh(self, program, mode):
        """The state that this proxy creates on a node without proxy state."""
        key = (program, mode)
        if key not in self._fresh:
            self.begin(*key)
            self._fresh[key] = traffic_state.settled(self.scene)
            if not self._fresh[key][mode]:
                raise ClusterError(f"{program} creates nothing in {mode} mode")
        return self._fresh[key]

    def only(self, mode, empty):
        """Waits until the other mode has no objects on the node beside those of `empty`; returns the rest."""
        other = next(one for one in traffic_state.MODES if one != mode)
        remaining = []

        def tidy():
            remaining[:] = set(traffic_state.state(self.scene)[other]) - set(empty[other])
            return not remaining

        wait_for(tidy, "the objects of the other mode are removed", 90)
        return remaining

    def sluicectl(self, *words, check=True):
        program = sluice_programs.Programs(self._builddir).sluicectl
        return self.node.run(program, f"--state-dir={STATE_DIR}", *words, check=check, timeout=180)

    def swap(self, mode):
        """Changes the mode of the running Sluice by its configuration file; returns once the old backend is removed."""
        self.proxy(SLUICE, mode).write_configuration(self.node)
        self.sluicectl("reload", "--timeout=120s")
        wait_for(lambda: self._serves_only(mode), f"Sluice serves in {mode} mode only", 90)

    def _serves_only(self, mode):
        status = json.loads(self.sluicectl("status", "-o", "json", check=False).stdout or "{}")
        return status.get("mode") == mode and not status.get("retiring")
