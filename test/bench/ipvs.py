# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The part about ipvs mode: on this kernel where it has IPVS, otherwise in a virtual machine (test/vm), which measures all sizes
and hands its rows back."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from http.client import HTTPException

from cluster import Cluster
from ipvs_measurement import FLAGS, Bare, IpvsMeasurement
from network import BenchError, Network
from subjects import Sluiced

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = os.path.join(HERE, "..", "vm", "run")
MODULES = ("ip_vs_rr", "dummy", "ip_set_hash_ipport")
NO_MACHINE, TOO_LATE = 125, 124  # of test/vm/run; the second after its limit


def ipvs_rows(wanted):
    if kernel_has_it() or wanted.ipvs_here:
        for number in wanted.ipvs_services:
            print(f"bench: sluiced ipvs, {number:,} Services", file=sys.stderr, flush=True)
            yield _measure(number, wanted)
        return
    yield from _in_machine(wanted)


def kernel_has_it():
    try:
        # A dry run, because loading dummy would create a link.
        return all(subprocess.run(["modprobe", "-qn", one], check=False).returncode == 0 for one in MODULES)
    except OSError:
        return False


def _row(number, wanted):
    return {"program": "sluiced", "mode": "ipvs", "part": "ipvs", "iptables": "nft", "services": number,
            "endpoints": wanted.ipvs_endpoints}


def _in_machine(wanted):
    folder = tempfile.mkdtemp(prefix="sluice-bench-ipvs-")
    made = os.path.join(folder, "ipvs.json")
    limit = 120 + wanted.part_minutes * 60 * len(wanted.ipvs_services)
    machine = [MACHINE, "--builddir", wanted.builddir]
    inside = [sys.executable, os.path.join(HERE, "bench.py"), "--parts", "ipvs", "--ipvs-here", "--builddir", wanted.builddir,
              "--ipvs-services", ",".join(map(str, wanted.ipvs_services)), "--ipvs-endpoints", str(wanted.ipvs_endpoints),
              "--changes", str(wanted.changes), "--patience", str(wanted.patience), "--part-minutes", str(wanted.part_minutes),
              "--change-patience", str(wanted.change_patience), "--json", made]
    print("bench: this kernel has no IPVS: a machine with another one is started", file=sys.stderr, flush=True)
    try:
        # With a command that cannot fail, the status is about the machine.
        if subprocess.run([*machine, "--limit", "60", "--", "true"], stdin=subprocess.DEVNULL, check=False,
                          timeout=600).returncode == NO_MACHINE:
            yield {**_row(wanted.ipvs_services[0], wanted), "missing": "no virtual machine could be started, see above"}
            return
        done = subprocess.run([*machine, "--limit", str(limit), "--results", folder, "--", *inside],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False, timeout=limit + 120)
        # 1: a metric is out of bounds, which the rows show as well.
        if done.returncode in (NO_MACHINE, TOO_LATE):
            yield {**_row(wanted.ipvs_services[0], wanted), "gave_up": f"the machine ended with status {done.returncode}, see above"}
            return
        with open(made, encoding="utf-8") as file:
            rows = json.load(file)["results"]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        yield {**_row(wanted.ipvs_services[0], wanted), "gave_up": f"the machine returned no results: {error}"}
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    yield from rows


def _measure(number, wanted):
    """One size: the daemon, and then the same messages alone, in namespaces of their own one after the other."""
    row = _row(number, wanted)
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    cluster = subject = None
    measurement = None
    row["kernel"] = os.uname().release
    try:
        row.update(Bare(wanted.builddir).run(number, wanted.ipvs_endpoints, wanted.changes))
        with Network(os.path.join(wanted.builddir, "test", "tools", "netecho")) as network:
            try:
                cluster = Cluster(directory, number, wanted.ipvs_endpoints)
                subject = Sluiced(wanted.builddir, network, directory, cluster.kubeconfig, "ipvs")
                row["version"] = subject.version()
                subject.use_iptables("nft")
                subject.flags += FLAGS
                measurement = IpvsMeasurement(subject, cluster, wanted)
                measurement.run(time.monotonic() + wanted.part_minutes * 60)
            finally:
                for started in (subject, cluster):
                    if started is not None:
                        started.close()
    except (BenchError, OSError, HTTPException) as error:
        row["gave_up"] = str(error) or type(error).__name__
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if measurement is not None:
        row.update(measurement.measured)
    for ratio, own, bare in (("first_ratio", "start_own_cpu_seconds", "bare_first_cpu_seconds"),
                             ("change_ratio", "one_endpoint_own_cpu_ms_p50", "bare_change_cpu_ms_p50")):
        if row.get(own) and row.get(bare):
            row[ratio] = row[own] / row[bare]
    return row
