# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""ipvs mode in an emulated machine (test/vm), if this kernel has no IPVS: the same program runs there, with its own API server."""

import os
import shutil
import subprocess
import sys
import tempfile

import paths
import plan
import results
from ipvs import MACHINE, kernel_has_it

MEMORY_MIB = 6144
LEAST_LIMIT = 1800


def kernel_has_ipvs():
    return kernel_has_it()


def measure(wanted, report):
    """0, or the exit status; merges the rows into wanted.json."""
    sizes = [size for size in wanted.sizes if size[0] * size[1] <= plan.MOST_EMULATED]
    if not sizes:
        report(f"ipvs: no size has at most {plan.MOST_EMULATED} endpoints")
        return 0
    folder = tempfile.mkdtemp(prefix="sluice-compare-")
    made = os.path.join(folder, "results.json")
    if wanted.resume and os.path.exists(wanted.json):
        shutil.copy(wanted.json, made)
    limit = LEAST_LIMIT + 2 * plan.estimate(sizes, ["ipvs"], wanted.parts, wanted)
    command = [sys.executable, os.path.join(paths.HERE, "compare.py"), "--here", "--modes", "ipvs", "--json", made,
               "--builddir", wanted.builddir, "--kube-bin", wanted.kube_bin, "--parts", ",".join(wanted.parts),
               "--sizes", ",".join(f"{services}x{endpoints}" for services, endpoints in sizes)]
    for name in ("rounds", "changes", "churn_seconds", "probe_rounds", "probes", "load_rounds", "load_seconds", "patience",
                 "change_patience"):
        command += [f"--{name.replace('_', '-')}", str(getattr(wanted, name))]
    command += ["--resume"] if wanted.resume else []
    report(f"ipvs: this kernel has no IPVS, so a machine with another one is started; at most {limit / 60:.0f} minutes")
    try:
        done = subprocess.run([MACHINE, "--builddir", wanted.builddir, "--memory", str(MEMORY_MIB), "--limit", str(int(limit)),
                               "--results", folder, "--", *command], stdin=subprocess.DEVNULL, check=False)
        found, rows = results.load(wanted.json), results.load(made)
        found["runs"] |= rows["runs"]
        for row in rows["rows"]:
            if row["mode"] == "ipvs":
                results.keep(found, row)
        results.save(wanted.json, found)
        return done.returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)
