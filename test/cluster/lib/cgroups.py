# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Control groups of containers. Nodes share the machine's hierarchies, so a removed node leaves empty groups."""

import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
CONTAINERS = "k8s.io"  # the group in which containerd creates one for each container
TASKS = f"run/containerd/io.containerd.runtime.v2.task/{CONTAINERS}"


def remove(layout):
    """Removes the groups of all containers whose state is in the folders of the nodes, and of systems with packages."""
    for group in of_systems(layout):
        _remove_tree(group)
    names = [task.name for task in (layout.folder / "nodes").glob(f"*/{TASKS}/*")]
    # One hierarchy, or one for each controller.
    for parent in [ROOT / CONTAINERS, *ROOT.glob(f"*/{CONTAINERS}")]:
        for name in names:
            _remove_tree(parent / name)
        _remove_empty(parent)


def of_systems(layout):
    """The groups of systems with packages, see package_system.py."""
    return [group for parent in (ROOT, ROOT / "unified") for group in parent.glob(f"{layout.prefix}*")]


def _remove_tree(group):
    for folder, _, _ in os.walk(group, topdown=False):
        _remove_empty(folder)


def _remove_empty(group):
    try:
        os.rmdir(group)
    except OSError:  # absent, or used by another cluster
        pass
