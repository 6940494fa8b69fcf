# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one group of tests in a running cluster whose nodes have a proxy."""

import contextlib
import os
import shutil
import subprocess
import time

from .. import ginkgo, pace, shell
from ..failure import ClusterError
from . import apiserver_pod, junit, node_ssh, proxy_pods, selection

ZONE = "topology.kubernetes.io/zone"
NICE = ("nice", "-n", "10")
PROVIDER_WITH_SSH = "--provider=local"
END_PATIENCE = 180  # seconds in which ginkgo, interrupted at the time limit, cleans up and writes its report


class GroupRun:
    """The results folder of the cluster keeps the log and the report of ginkgo, and the logs of the proxies."""

    def __init__(self, cluster, group, tests, name, limit, processes=None):
        self._cluster, self._group, self._tests, self._name, self._limit = cluster, group, tests, name, limit
        self._processes = processes or group.processes
        self.folder = cluster.layout.results / name

    def run(self, proxy):
        """(junit.Report, seconds)"""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._prepare_nodes()
        begun = time.monotonic()
        with contextlib.ExitStack() as stack:
            status = self._disruptive(stack, proxy) if self._group.disruptive else self._ginkgo()
        seconds = time.monotonic() - begun
        for node in self._cluster.nodes:
            shutil.copy(node.proxy_process.log, self.folder)
        report = self.folder / selection.REPORT
        if not report.exists():
            raise ClusterError(f"ginkgo ended with status {status} and left no report; see {self.folder / 'log.txt'}")
        return junit.read(report), seconds

    def _prepare_nodes(self):
        """Zones and schedulable nodes as the group needs them. With fewer nodes than that the tests skip themselves."""
        for node in self._cluster.nodes:
            zone = f"{ZONE}=z{(node.number - 1) % self._group.zones + 1}" if self._group.zones else f"{ZONE}-"
            self._cluster.kubectl("label", "--overwrite", "node", node.name, zone)
            self._cluster.kubectl("uncordon" if node.number <= self._group.nodes else "cordon", node.name)

    def _disruptive(self, stack, proxy):
        """Provides what disruptive tests look up, then runs them."""
        stack.enter_context(proxy_pods.ProxyPods(self._cluster, proxy))
        ssh = stack.enter_context(node_ssh.NodeSsh(self._cluster))
        pod = stack.enter_context(apiserver_pod.ApiServerPod(self._cluster))
        status = self._ginkgo((PROVIDER_WITH_SSH, f"--kubeconfig={pod.kubeconfig}"), ssh.environment)
        if pod.error:
            raise ClusterError(f"restart of the API server: {pod.error}")
        return status

    def _ginkgo(self, more=(), environment=None):
        """The exit status of ginkgo, which is 1 if a test failed. `more` are arguments of e2e.test."""
        command = ginkgo.command(self._cluster, self._name, selection.focus(self._tests), processes=self._processes,
                                 more=more)
        with open(self.folder / "log.txt", "wb") as log:
            process = self._cluster.control_plane.place.popen(*NICE, *command, stdout=log, stderr=subprocess.STDOUT,
                                                              env={**os.environ, **(environment or {})})
            try:
                return self._end(process)
            finally:
                shell.stop(process)

    def _end(self, process):
        status = shell.wait_ended(process, pace.stretched(self._limit))
        if status is not None:
            return status
        ginkgo.interrupt(process)
        return shell.wait_ended(process, END_PATIENCE)
