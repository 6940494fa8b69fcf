#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what sluiced costs, and, with --kube-proxy, a kube-proxy beside it. See README.md. Needs root."""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from cluster import FIRST, LAST, SERVICE_PORT, Cluster  # noqa: E402
from network import BenchError, Network, wait_for_answer, who_answers  # noqa: E402
from process import PeakWithChildren, cpu_seconds, memory_mib  # noqa: E402
from subjects import KubeProxy, Sluiced, kernel_text  # noqa: E402

START_PATIENCE = 600
CHANGE_PATIENCE = 60
# More than the least time between two writes: what is measured is a change, not the limiter.
REST_SECONDS = 1.2
CHURN_PER_SECOND = 50
CHURN_SERVICES = 200

COLUMNS = [
    ("size", "N × M"), ("program", "program"), ("start_seconds", "start s"), ("start_cpu_seconds", "start CPU s"),
    ("resident_mib", "resident MiB"), ("peak_mib", "peak MiB"), ("peak_with_children_mib", "with children"),
    ("change_ms_p50", "change ms p50"), ("change_ms_p99", "p99"), ("cpu_ms_per_change", "CPU ms a change"),
    ("churn_cpu_percent", "churn CPU %"), ("churn_resident_mib", "resident after churn"),
    ("restart_seconds", "restart s"),
    ("restart_kernel_writes", "restart writes"),
]


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".", help="where make was run (default: here)")
    parser.add_argument("--services", default="100,1000", help="numbers of Services (default %(default)s)")
    parser.add_argument("--endpoints", type=int, default=10, help="endpoints of each (default %(default)s)")
    parser.add_argument("--changes", type=int, default=20, help="single changes to time (default %(default)s)")
    parser.add_argument("--churn-seconds", type=int, default=20, help="length of the churn (default %(default)s)")
    parser.add_argument("--mode", default="iptables", help="backend, --proxy-mode of both (default %(default)s)")
    parser.add_argument("--iptables", default="nft", choices=("nft", "legacy"), help="variant of iptables (default nft)")
    parser.add_argument("--kube-proxy", metavar="PATH", help="a kube-proxy to measure in the same run")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; prints TAP and judges no figure")
    wanted = parser.parse_args()
    if wanted.smoke:
        wanted.services, wanted.endpoints, wanted.changes, wanted.churn_seconds = "20", 3, 3, 2
    wanted.builddir = os.path.abspath(wanted.builddir)
    return wanted


class Measurement:
    """One program at one size, from its first start to its end."""

    def __init__(self, subject, cluster, wanted):
        self._subject = subject
        self._cluster = cluster
        self._wanted = wanted
        self._pod = "pod-a"
        self.figures = {}

    def run(self):
        self._first_sync()
        self._changes()
        self._churn()
        self._restart()
        return self.figures

    def _first_sync(self):
        begin = self._subject.start()
        peak = PeakWithChildren(self._subject.pid)
        end = begin + START_PATIENCE
        while not (self._subject.synced() and all(who_answers(service[1], SERVICE_PORT) for service in (FIRST, LAST))):
            self._subject.check_alive()
            if time.monotonic() > end:
                raise BenchError(f"{self._subject.name} is not synced after {START_PATIENCE} s; "
                                 f"its last words:\n{self._subject.log_tail()}")
            time.sleep(0.005)
        self.figures["start_seconds"] = time.monotonic() - begin
        self.figures["start_cpu_seconds"] = cpu_seconds(self._subject.pid)
        self.figures["resident_mib"] = memory_mib(self._subject.pid, "VmRSS")
        self.figures["peak_mib"] = memory_mib(self._subject.pid, "VmHWM")
        self.figures["peak_with_children_mib"] = max(peak.end(), self.figures["peak_mib"])
        if self._cluster.last_cluster_ip() not in kernel_text(self._wanted.iptables):
            raise BenchError(f"{self._subject.name} says it is synced, but the last Service has no rule")

    def _changes(self):
        times = []
        cpu = cpu_seconds(self._subject.pid)
        for _ in range(self._wanted.changes):
            time.sleep(REST_SECONDS)
            times.append(self._change() * 1000)
        cpu = cpu_seconds(self._subject.pid) - cpu
        self.figures["change_ms"] = times
        self.figures["change_ms_p50"] = statistics.median(times)
        self.figures["change_ms_p99"] = sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]
        self.figures["cpu_ms_per_change"] = cpu * 1000 / len(times)

    def _change(self):
        """Seconds from sending the change to the API server to the first connection that goes the new way."""
        self._pod = "pod-b" if self._pod == "pod-a" else "pod-a"
        begin = time.monotonic()
        self._cluster.point(LAST, self._pod)
        arrived = wait_for_answer(LAST[1], SERVICE_PORT, self._pod, CHANGE_PATIENCE)
        self._cluster.answered()
        if arrived is None:
            self._subject.check_alive()
            raise BenchError(f"{self._subject.name}: a change did not arrive within {CHANGE_PATIENCE} s; "
                             f"its last words:\n{self._subject.log_tail()}")
        return arrived - begin

    def _churn(self):
        slices = self._cluster.slices(min(CHURN_SERVICES, self._cluster.services))
        full = [one["endpoints"] for one in slices]
        cpu = cpu_seconds(self._subject.pid)
        begin = time.monotonic()
        count = 0
        while time.monotonic() < begin + self._wanted.churn_seconds:
            number, turn = count % len(slices), count // len(slices)
            # Every other time one endpoint fewer, so that each update changes something.
            slices[number]["endpoints"] = full[number] if turn % 2 else full[number][:-1]
            slices[number]["metadata"].pop("resourceVersion", None)
            self._cluster.put_slice(slices[number])
            count += 1
            time.sleep(max(0.0, begin + count / CHURN_PER_SECOND - time.monotonic()))
        took = time.monotonic() - begin
        self.figures["churn_updates_per_second"] = count / took
        self.figures["churn_cpu_percent"] = (cpu_seconds(self._subject.pid) - cpu) * 100 / took
        self.figures["churn_resident_mib"] = memory_mib(self._subject.pid, "VmRSS")
        self._change()  # it has kept up

    def _restart(self):
        """Rules stay while it is away; what counts is the change it missed."""
        time.sleep(REST_SECONDS)
        self._subject.stop()
        self._pod = "pod-b" if self._pod == "pod-a" else "pod-a"
        self._cluster.point(LAST, self._pod)
        self._cluster.answered()
        begin = self._subject.start()
        arrived = wait_for_answer(LAST[1], SERVICE_PORT, self._pod, START_PATIENCE, pause=0.005)
        if arrived is None:
            raise BenchError(f"{self._subject.name} did not catch up after a restart")
        self.figures["restart_seconds"] = arrived - begin
        time.sleep(REST_SECONDS)
        self._subject.stop()
        self._subject.start()
        while not self._subject.synced():
            self._subject.check_alive()
            time.sleep(0.005)
        # Nothing was missed this time, so that nothing should be written.
        self.figures["restart_kernel_writes"] = self._subject.restart_writes()


def measure(make_subject, services, wanted):
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    cluster = subject = None
    try:
        with Network(os.path.join(wanted.builddir, "test", "tools", "netecho")) as network:
            try:
                cluster = Cluster(directory, services, wanted.endpoints)
                subject = make_subject(network, directory, cluster.kubeconfig, wanted.mode, wanted.iptables)
                figures = Measurement(subject, cluster, wanted).run()
                identity = {"size": f"{services} × {wanted.endpoints}", "services": services,
                            "endpoints": wanted.endpoints, "program": subject.name, "version": subject.version(),
                            "mode": wanted.mode}
                return {**identity, **figures}
            finally:
                for started in (subject, cluster):
                    if started is not None:
                        started.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def cell(value):
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return str(value)


def table(rows):
    lines = ["| " + " | ".join(title for _, title in COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(cell(row[key]) for key, _ in COLUMNS) + " |" for row in rows]
    return "\n".join(lines)


def smoke(subjects, wanted):
    """TAP: every figure is there and every change arrived, or the run would have ended before."""
    try:
        row = measure(subjects[0], int(wanted.services), wanted)
    except BenchError as error:
        print("not ok 1 - the measurement runs to its end")
        print("\n".join("#   " + line for line in str(error).splitlines()))
        print("1..1")
        return 1
    names = [key for key, _ in COLUMNS]
    bad = 0
    for number, name in enumerate(names, 1):
        there = row.get(name) is not None or name == "restart_kernel_writes"
        bad += not there
        print(f"{'ok' if there else 'not ok'} {number} - {name}: {cell(row.get(name))}")
    print(f"1..{len(names)}")
    return 1 if bad else 0


def main():
    wanted = options()
    if os.geteuid() != 0:
        print("bench.py: network namespaces need root", file=sys.stderr)
        return 1
    subjects = [lambda *rest: Sluiced(wanted.builddir, *rest)]
    if wanted.kube_proxy:
        subjects.append(lambda *rest: KubeProxy(os.path.abspath(wanted.kube_proxy), *rest))
    if wanted.smoke:
        return smoke(subjects, wanted)
    rows = []
    try:
        for services in (int(number) for number in wanted.services.split(",")):
            for subject in subjects:
                rows.append(measure(subject, services, wanted))
    except BenchError as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 1
    finally:
        if rows:
            print(table(rows))
            if wanted.json:
                with open(wanted.json, "w", encoding="utf-8") as file:
                    json.dump({"cpus": os.cpu_count(), "kernel": os.uname().release, "results": rows}, file, indent=1)
                    file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
