# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration files and flags that installers of clusters write for kube-proxy, each in each mode that the installer
has: recorded in test/fixtures/installers."""

import os
import socket

from lib import installers, objects, observed, shell
from lib.addresses import CLUSTER_CIDR, E1, E2, LOOPBACK, NODE_NAME, V4, V6
from lib.cases import BACKENDS, POD, kept, own_daemon
from lib.kubeconfigs import SERVER
from lib.objects import ready
from lib.own_flags import folders, restart

# Of feature gates that are for kubelet and other components.
GATES = "gates of other components, without effect here: "
WARNED = {"gke": ["RotateKubeletServerCertificate"], "gke-ipvs": ["RotateKubeletServerCertificate"],
          "kind-rootless": ["KubeletInUserNamespace"]}
# As root of a user namespace, which owns the network namespace and may not write what belongs to the machine.
ROOTLESS = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c",
            'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"', "sh"]


def laid_out(t, one, mode):
    """The flags of that recording, with its files in a folder of its own."""
    folder = os.path.join(t.topology.directory, f"{t.bench.label}-{one.name}-{mode}")
    pods = ",".join(CLUSTER_CIDR[family] for family in (V4, V6)[:len(one.pods.split(","))])
    return one.lay_out(folder, mode, NODE_NAME, t.bench.source.tls_dir, SERVER, pods)


def complete(t, flags):
    return [*flags, *folders(t.bench.daemon, t.bench.programs, t.topology, flags)]


@own_daemon(None, "--check accepts what kubeadm, kind, k3s, k0s, Talos and GKE start kube-proxy with, in each mode that they have",
            backends=["iptables"], starts=False)
def recordings_are_usable(t):
    modes = set()
    for one in installers.recordings():
        for mode in one.modes:
            done = t.bench.daemon.run(["--check", *complete(t, laid_out(t, one, mode))])
            t.require(done.returncode == 0 and done.stdout.endswith("configuration is usable\n"),
                      f"{one.name} in mode {mode}: status {done.returncode}: {done.stderr}")
            warned = [line.partition(GATES)[2] or line for line in done.stderr.splitlines() if line.startswith("warning: ")]
            t.require(warned == WARNED.get(one.name, []), f"{one.name} in mode {mode}: warnings {warned}")
            modes.add(mode)
    t.require(modes == set(BACKENDS), f"there are recordings for {sorted(modes)} only")


@own_daemon(None, "started as kubeadm, kind, k3s, k0s, Talos and GKE start kube-proxy in this mode, the daemon serves and is ready",
            starts=False)
def recordings_serve(t):
    # kube-up names no node: it is the host, and its pods have the range of the Node.
    host = objects.node({})
    host["metadata"]["name"] = socket.gethostname().lower()
    host["spec"] = {"podCIDR": CLUSTER_CIDR[V4], "podCIDRs": [CLUSTER_CIDR[V4]]}
    t.bench.source.put(host)
    mode = t.bench.backend
    started = [one for one in installers.recordings() if mode in one.modes]
    for one in started:
        # The rules of the one before are still there; this Service has none yet.
        t.bench.daemon.stop()
        service = t.service([ready(E1), ready(E2)])
        restart(t, laid_out(t, one, mode))
        served = observed.metrics(t, "/proxyMode").body
        t.require(served == mode, f"{one.name}: mode {served}, not {mode}")
        answer = observed.ask(t, observed.url(LOOPBACK[V4], observed.HEALTH_PORT, "/readyz"))
        t.require(answer.status == 200, f"{one.name}: /readyz answers {answer.status}: {answer.body}")
        t.expect_soon(POD, service.cluster(), kept(E1, E2))
    t.require(started, f"no recording is for mode {mode}")


@own_daemon(None, "as rootless kind runs kube-proxy, in a user namespace, the daemon prepares the node: no setting of the machine is "
            "missed", backends=["iptables", "nftables"], starts=False)
def rootless(t):
    one = installers.Recording("kind-rootless")
    flags = complete(t, laid_out(t, one, t.bench.backend))
    done = shell.run([*ROOTLESS, t.bench.programs.sluiced, *flags, "--init-only"], check=False)
    t.require(done.returncode == 0, f"--init-only: status {done.returncode}: {done.stderr}")
    failed = [line for line in done.stderr.splitlines() if "cannot set" in line and "oom_score_adj" not in line]
    t.require(not failed, f"--init-only says {failed}")
    # The configuration of a machine's own root asks for them.
    own = installers.Recording("kubeadm")
    done = shell.run([*ROOTLESS, t.bench.programs.sluiced, *complete(t, laid_out(t, own, t.bench.backend)), "--init-only"], check=False)
    t.require("nf_conntrack_max" in done.stderr, f"nothing here belongs to the machine: {done.stderr}")
