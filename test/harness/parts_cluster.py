# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Part cluster: real Kubernetes programs, in namespaces of this machine. SLUICE_KUBE_BIN names their folder; without it only the
self-tests run, and the part counts as skipped."""

import os
import shutil

from parts_build import PACKAGES, READY
from step import NEVER, Step

PROGRAMS = "SLUICE_KUBE_BIN"
INSTALLED = ("containerd", "runc", "mmdebstrap", "busybox")  # packaging/install-deps.sh cluster
ONE = "cluster"  # lock: the programs of one cluster keep both processors busy
# Mode of kube-proxy or Sluice, and seconds that upstream's tests take in it.
UPSTREAM = {"kube-proxy-iptables": 720, "nftables": 430, "iptables": 550, "userspace": 300}


def absent():
    """Why this machine cannot run a cluster, or None."""
    folder = os.environ.get(PROGRAMS)
    if not folder:
        return f"{PROGRAMS} is not set: it names the folder with the programs of Kubernetes (test/cluster/README.md)"
    if not os.path.exists(os.path.join(folder, "kube-apiserver")):
        return f"{PROGRAMS}: there is no kube-apiserver in {folder}"
    lacking = [program for program in INSTALLED if not shutil.which(program)]
    return f"{', '.join(lacking)} missing; run packaging/install-deps.sh cluster" if lacking else None


def cluster(run):
    def step(name, limit, program, *words, expected, needs=READY):
        command = ["/usr/bin/python3", run.test("cluster", program), "--builddir", run.build, *words]
        return Step("cluster", name, command, limit, needs=needs, locks=(ONE,), weight=1.6, expected=expected, absent=absent,
                    quiet=True)

    selftests = [Step("cluster", program, ["/usr/bin/python3", run.test("cluster", f"{program}.py")], 120, weight=0.5, expected=5,
                      again=NEVER) for program in ("selftest", "selftest_upstream")]
    upstream = [step(f"upstream-{name}", 3600, "upstream.py", "--proxy", name, expected=seconds)
                for name, seconds in UPSTREAM.items()]
    return [
        *selftests,
        step("takeover", 1800, "takeover_test.py", expected=300),
        step("disruption", 1800, "disruption_test.py", expected=300),
        step("daemonset", 1800, "daemonset_test.py", "--debs", run.built("packages"), expected=300, needs=(PACKAGES,)),
        step("fleet", 1800, "fleet_test.py", expected=300),
        *upstream,
    ]
