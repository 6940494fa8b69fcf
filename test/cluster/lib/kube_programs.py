# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of the Kubernetes programs, which the environment variable SLUICE_KUBE_BIN locates."""

import os

from .failure import ClusterError

VARIABLE = "SLUICE_KUBE_BIN"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl")
NODES = ("kube-controller-manager", "kube-scheduler", "kubelet", "agnhost")


class KubePrograms:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)

    @classmethod
    def from_environment(cls):
        folder = os.environ.get(VARIABLE)
        if not folder:
            raise ClusterError(f"{VARIABLE} is not set; set it to the folder with the Kubernetes programs")
        return cls(folder)

    def path(self, name):
        path = os.path.join(self.folder, name)
        if not os.access(path, os.X_OK):
            raise ClusterError(f"program '{name}' is missing in {self.folder}; build it, or set {VARIABLE} to another folder")
        return path

    def has(self, name):
        return os.access(os.path.join(self.folder, name), os.X_OK)

    def check(self, nodes):
        """Raises ClusterError if a program that a cluster with this number of nodes needs is missing."""
        for name in CONTROL_PLANE + (NODES if nodes else ()):
            self.path(name)
