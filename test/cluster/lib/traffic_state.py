# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What proxies leave in the kernel of a node, as lines that can be compared."""

import json

from . import kube_proxy_node, pace
from .failure import ClusterError

MODES = ("iptables", "nftables")


def state(scene):
    """The objects of proxies on the node, for each mode."""
    found = {mode: kube_proxy_node.node_state(scene, mode) for mode in MODES}
    found["nftables"] += sorted(_element_counts(scene))
    return found


def _element_counts(scene):
    """Lines with the number of elements of each set and map that only proxies change. Their names alone say nothing about
    Services, and the elements of Sluice have numbers that depend on the order of Services."""
    for one in json.loads(scene.run("node", "nft", "-j", "list", "ruleset").stdout)["nftables"]:
        held = one.get("set") or one.get("map")
        if held and held["table"] == "kube-proxy" and "dynamic" not in held.get("flags", ()):
            yield f"{held['family']} {held['table']} {held['name']}: {len(held.get('elem', ()))} elements"


def settled(scene):
    """The state once it does not change any more."""
    found = pace.wait_unchanged(lambda: state(scene), quiet=1, seconds=60, every=0.3)
    if found is None:
        raise ClusterError("the rules of the node do not settle")
    return found


def differences(wanted, found):
    """Sentences: what is left over, and what is missing."""
    for mode, lines in wanted.items():
        more, less = set(found[mode]) - set(lines), set(lines) - set(found[mode])
        yield from (f"left in {mode}: {line}" for line in sorted(more))
        yield from (f"missing in {mode}: {line}" for line in sorted(less))


def wait_equal(scene, wanted, seconds=60):
    """Waits until the node has exactly the wanted state; returns the remaining differences."""
    remaining = []

    def equal():
        remaining[:] = differences(wanted, state(scene))
        return not remaining

    pace.wait_until(equal, seconds, every=0.5)
    return remaining


def remove_unused(scene, mode):
    """Runs the commands of docs/migrating.md for the state that kube-proxy in this mode leaves of Sluice."""
    commands = kube_proxy_node.documented(mode)
    if commands:
        done = scene.run("node", "sh", "-ec", commands, check=False)
        if done.returncode or done.stderr:
            raise ClusterError(f"the commands of docs/migrating.md: exit {done.returncode}: {done.stderr[:400]}")
