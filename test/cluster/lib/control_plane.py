# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The control plane: etcd, API server, controller manager, scheduler and the name server, in a place of their own."""

import os
import shutil
import sys

from . import shell
from .layout import ANY, CONTROL_PLANE
from .place import Place

START_PATIENCE = 120
STOP_PATIENCE = 5
ETCD = "http://127.0.0.1:2379"
ETCD_PEER = "http://127.0.0.1:2380"


class ControlPlane:
    def __init__(self, layout, programs):
        self.layout, self.programs = layout, programs
        self.place = Place(layout, CONTROL_PLANE)

    @property
    def apiserver(self):
        return self.place.daemon("kube-apiserver")

    # Command lines.

    def etcd_command(self):
        return [self.programs.path("etcd"), "--name=cluster", f"--data-dir={self.layout.etcd}", f"--listen-client-urls={ETCD}",
                f"--advertise-client-urls={ETCD}", f"--listen-peer-urls={ETCD_PEER}",
                f"--initial-advertise-peer-urls={ETCD_PEER}", f"--initial-cluster=cluster={ETCD_PEER}", "--unsafe-no-fsync",
                "--quota-backend-bytes=8589934592"]  # churn of large slices exceeds the default of 2 GiB

    def apiserver_command(self):
        layout, pki = self.layout, self.layout.pki
        return [self.programs.path("kube-apiserver"), f"--etcd-servers={ETCD}", f"--bind-address={ANY[layout.families[0]]}",
                f"--advertise-address={layout.control_plane_ips[0]}", "--secure-port=6443",
                f"--service-cluster-ip-range={','.join(layout.service_cidrs)}", f"--client-ca-file={pki}/ca.crt",
                f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
                "--authorization-mode=Node,RBAC", f"--kubelet-client-certificate={pki}/kubelet-client.crt",
                f"--kubelet-client-key={pki}/kubelet-client.key", f"--service-account-key-file={pki}/sa.pub",
                f"--service-account-signing-key-file={pki}/sa.key",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--allow-privileged=true",
                "--kubelet-preferred-address-types=InternalIP"]

    def controller_manager_command(self):
        layout, pki = self.layout, self.layout.pki
        return [self.programs.path("kube-controller-manager"), f"--kubeconfig={layout.kubeconfig('kcm')}",
                "--allocate-node-cidrs=false", f"--service-account-private-key-file={pki}/sa.key", f"--root-ca-file={pki}/ca.crt",
                "--use-service-account-credentials=true", f"--cluster-signing-cert-file={pki}/ca.crt",
                f"--cluster-signing-key-file={pki}/ca.key", "--leader-elect=false", "--node-monitor-grace-period=120s"]

    def scheduler_command(self):
        return [self.programs.path("kube-scheduler"), f"--kubeconfig={self.layout.kubeconfig('scheduler')}",
                "--leader-elect=false"]

    def dns_command(self):
        pki = self.layout.pki
        return [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "dns.py"), self.layout.server,
                self.layout.control_plane_ips[0], f"{pki}/ca.crt", f"{pki}/admin.crt", f"{pki}/admin.key"]

    # Life.

    def start(self):
        """Starts all of it; controllers, scheduler and names only if there are nodes."""
        shutil.rmtree(self.layout.etcd, ignore_errors=True)
        self.place.start("etcd", self.etcd_command())
        self.start_apiserver()
        if self.layout.nodes:
            self.place.start("kube-controller-manager", self.controller_manager_command())
            self.place.start("kube-scheduler", self.scheduler_command())
            self.place.start("dns", self.dns_command())

    def start_apiserver(self):
        process = self.place.start("kube-apiserver", self.apiserver_command())
        process.wait(self.is_ready, "answer on /readyz", START_PATIENCE)

    def stop_apiserver(self):
        """With SIGTERM alone it would wait a minute for its watches to end."""
        self.apiserver.stop(patience=STOP_PATIENCE)

    def restart_apiserver(self):
        """Stops the API server, starts it, and returns when it is ready."""
        self.stop_apiserver()
        self.start_apiserver()

    def is_ready(self):
        try:
            return self.kubectl("get", "--raw=/readyz", timeout=20).strip() == "ok"
        except shell.CommandFailed:
            return False

    def kubectl_command(self, *words):
        return [self.programs.path("kubectl"), f"--kubeconfig={self.layout.kubeconfig('admin')}", *words]

    def kubectl(self, *words, stdin=None, timeout=300):
        """The output of kubectl as administrator; raises shell.CommandFailed."""
        return self.place.run(*self.kubectl_command(*words), stdin=stdin, timeout=timeout).stdout
