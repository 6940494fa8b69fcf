# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Part cluster: real Kubernetes programs, in namespaces of this machine. SLUICE_KUBE_BIN names their folder; without it only the
self-tests run, and the rest of the part counts as skipped."""

import glob
import os
import shutil

from parts_build import PACKAGES, READY
from step import STATUS, Step

PROGRAMS = "SLUICE_KUBE_BIN"
INSTALLED = ("containerd", "runc", "mmdebstrap", "busybox")  # packaging/install-deps.sh cluster
CLUSTER = "cluster"  # lock: the programs of one cluster keep both processors busy
IMAGE_NAME = "registry.example/sluice:0.1.0"
# Proxies with which upstream's tests run, and the seconds that they take.
UPSTREAM = {"kube-proxy:iptables": 720, "sluice:nftables": 600, "sluice:iptables": 600, "sluice:userspace": 500}


def absent():
    """Why this machine cannot run a cluster, or None."""
    folder = os.environ.get(PROGRAMS)
    if not folder:
        return f"{PROGRAMS} is not set: it names the folder with the programs of Kubernetes (test/cluster/README.md)"
    if not os.path.exists(os.path.join(folder, "kube-apiserver")):
        return f"{PROGRAMS}: there is no kube-apiserver in {folder}"
    lacking = [program for program in INSTALLED if not shutil.which(program)]
    return f"{', '.join(lacking)} missing; run packaging/install-deps.sh cluster" if lacking else None


def no_kube_proxy():
    """Why the system tests cannot run a real kube-proxy, or None."""
    folder = os.environ.get(PROGRAMS)
    return None if folder and os.path.exists(os.path.join(folder, "kube-proxy")) else f"{PROGRAMS} names no folder with a kube-proxy"


def other_kube_proxies():
    """Paths of programs of other releases, as kube-proxy-RELEASE."""
    return sorted(glob.glob(os.path.join(os.environ.get(PROGRAMS) or "/nonexistent", "kube-proxy-*")))


def no_helm():
    return None if os.environ.get("SLUICE_HELM") or shutil.which("helm") else "helm is missing; SLUICE_HELM names the program"


def cluster(run):
    image = run.built("cluster-image")
    archive = ("--image", os.path.join(image, "sluice.oci.tar"), "--name", IMAGE_NAME)

    def step(name, program, *words, expected=300, **about):
        command = ["/usr/bin/python3", run.test("cluster", program), *words]
        return Step("cluster", name, command, 3600, locks=(CLUSTER,), weight=1.6, expected=expected,
                    **{"needs": READY, "absent": absent, **about})

    build = ("--builddir", run.build)
    return [
        Step("cluster", "selftest", ["/usr/bin/python3", run.test("cluster/selftest.py")], 120, weight=0.5, expected=5),
        Step("cluster", "selftest-machines", ["/usr/bin/python3", run.test("cluster/selftest_machines.py")], 60, weight=0.5,
             expected=1),
        step("takeover", "takeover_test.py", *build),
        *(step(f"takeover-{os.path.basename(path).removeprefix('kube-proxy-')}", "takeover_test.py", *build, "--kube-proxy", path)
          for path in other_kube_proxies()),
        step("disruption", "disruption_test.py", *build),
        step("fleet", "fleet_test.py", *build), step("encoding", "encoding_test.py", *build, expected=60),
        step("package", "package_test.py", *build, needs=(PACKAGES,), expected=420),
        Step("cluster", "image", [os.path.join(run.source, "packaging/image/build.sh"), "--name", IMAGE_NAME, "--debs",
                                  run.built("packages"), image], 900, STATUS, "the image is built from the packages",
             needs=(PACKAGES,), absent=absent, locks=(CLUSTER,)),
        step("daemonset", "daemonset_test.py", *build, *archive, needs=(PACKAGES, "cluster/image")),
        step("chart", "chart_test.py", *archive, needs=(PACKAGES, "cluster/image"), absent=lambda: absent() or no_helm()),
        *(step(f"upstream-{proxy.replace(':', '-')}", "upstream.py", "run", proxy, *build, expected=seconds)
          for proxy, seconds in UPSTREAM.items()),
    ]
