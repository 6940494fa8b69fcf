# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration files and flags that cluster installers write for kube-proxy, in each mode that the installer
supports: recorded in test/fixtures/installers."""

import os
import pathlib
import socket

from lib import installers, objects, observed, shell
from lib.addresses import CLUSTER_CIDR, E1, E2, LOOPBACK, NODE_NAME, V4, V6
from lib.cases import BACKENDS, POD, kept, own_daemon
from lib.kubeconfigs import SERVER
from lib.objects import ready
from lib.own_flags import folders, restart

# Feature gates of kubelet and other components.
GATES = "gates of other components, without effect here: "
WARNED = {"gke": ["RotateKubeletServerCertificate"], "gke-ipvs": ["RotateKubeletServerCertificate"],
          "kind-rootless": ["KubeletInUserNamespace"]}
# Root in a user namespace, which owns the network namespace and may not change machine-wide settings.
ROOTLESS = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c",
            'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"', "sh"]


def flags_of(t, one, mode):
    """The flags of that recording, with its files in a separate folder."""
    folder = os.path.join(t.topology.directory, f"{t.bench.label}-{one.name}-{mode}")
    pods = ",".join(CLUSTER_CIDR[family] for family in (V4, V6)[:len(one.pods.split(","))])
    return one.lay_out(folder, mode, NODE_NAME, t.bench.source.tls_dir, SERVER, pods)


def complete(t, flags):
    return [*flags, *folders(t.bench.daemon, t.bench.programs, t.topology, flags)]


@own_daemon(None, "--check accepts the kube-proxy configurations of kubeadm, kind, k3s, k0s, Talos and GKE, in each mode",
            backends=["iptables"], starts=False)
def recordings_are_usable(t):
    modes = set()
    for one in installers.recordings():
        for mode in one.modes:
            done = t.bench.daemon.run(["--check", *complete(t, flags_of(t, one, mode))])
            t.require(done.returncode == 0 and done.stdout.endswith("configuration is usable\n"),
                      f"{one.name} in {mode} mode: status {done.returncode}: {done.stderr}")
            warned = [line.partition(GATES)[2] or line for line in done.stderr.splitlines() if line.startswith("warning: ")]
            t.require(warned == WARNED.get(one.name, []), f"{one.name} in {mode} mode: warnings {warned}")
            modes.add(mode)
    t.require(modes == set(BACKENDS), f"there are recordings for {sorted(modes)} only")


@own_daemon(None, "with the kube-proxy configurations of kubeadm, kind, k3s, k0s, Talos and GKE the daemon serves and is ready",
            starts=False)
def recordings_serve(t):
    # kube-up sets no node name: the name is that of the host, and its pods have the range of the Node.
    host = objects.node({})
    host["metadata"]["name"] = socket.gethostname().lower()
    host["spec"] = {"podCIDR": CLUSTER_CIDR[V4], "podCIDRs": [CLUSTER_CIDR[V4]]}
    t.bench.source.put(host)
    mode = t.bench.backend
    started = [one for one in installers.recordings() if mode in one.modes]
    for one in started:
        # Rules of the previous recording are still there; this Service has none yet.
        t.bench.daemon.stop()
        service = t.service([ready(E1), ready(E2)])
        restart(t, flags_of(t, one, mode))
        served = observed.metrics(t, "/proxyMode").body
        t.require(served == mode, f"{one.name}: mode {served}, not {mode}")
        answer = observed.ask(t, observed.url(LOOPBACK[V4], observed.HEALTH_PORT, "/readyz"))
        t.require(answer.status == 200, f"{one.name}: /readyz answers {answer.status}: {answer.body}")
        t.expect_soon(POD, service.cluster(), kept(E1, E2))
    t.require(started, f"no recording is for the mode {mode}")


@own_daemon(None, "in a user namespace, as in rootless kind, the daemon prepares the node: no machine-wide setting is "
            "required", backends=["iptables", "nftables"], starts=False)
def rootless(t):
    one = installers.Recording("kind-rootless")
    flags = complete(t, flags_of(t, one, t.bench.backend))
    done = shell.run([*ROOTLESS, t.bench.programs.sluiced, *flags, "--init-only"], check=False)
    t.require(done.returncode == 0, f"--init-only: status {done.returncode}: {done.stderr}")
    failed = [line for line in done.stderr.splitlines() if "cannot set" in line and "oom_score_adj" not in line]
    t.require(not failed, f"--init-only says {failed}")
    # The configuration for a machine's own root sets them. No machine has this value already.
    own = complete(t, flags_of(t, installers.Recording("kubeadm"), t.bench.backend))
    file = pathlib.Path(next(word for word in own if word.startswith("--config=")).partition("=")[2])
    usual = file.read_text(encoding="utf-8")
    file.write_text(usual.replace("maxPerCore: null\n  min: null\n", "maxPerCore: 1\n  min: 654321\n"), encoding="utf-8")
    t.require(file.read_text(encoding="utf-8") != usual, f"{file} has no conntrack.min: {usual}")
    done = shell.run([*ROOTLESS, t.bench.programs.sluiced, *own, "--init-only"], check=False)
    t.require("nf_conntrack_max" in done.stderr, f"nothing here belongs to the machine: {done.stderr}")
