#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a swap of backends takes, and how long a change waits because of it. See README.md.
Needs root."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPException

sys.dont_write_bytecode = True

import environment  # noqa: E402
import report  # noqa: E402
from cluster import AFTER, BEFORE, NODE_NAME, SERVICE_PORT, Cluster, service_ip  # noqa: E402
from network import BenchError, Network, answering_endpoint  # noqa: E402
from patience import stretched  # noqa: E402
from process import memory  # noqa: E402
from subjects import CLUSTER_CIDR, Sluiced  # noqa: E402

MODES = "iptables,nftables,userspace"
DRAIN_SECONDS = 2
CONFIG = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: {mode}
clientConnection: {{kubeconfig: {kubeconfig}}}
hostnameOverride: {node}
clusterCIDR: {cidr}
iptables: {{minSyncPeriod: {pause}}}
ipvs: {{minSyncPeriod: {pause}}}
nftables: {{minSyncPeriod: {pause}}}
---
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
drainTimeout: {drain}s
"""
COLUMNS = [
    ("seconds", "swap s"), ("reload_seconds", "`sluicectl reload` s"), ("longest_wait_seconds", "longest wait of a change s"),
    ("memory_peak_mib", "peak MiB"), ("connects", "connects"), ("failed", "failed")]


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".", help="where make was run (default: here)")
    parser.add_argument("--services", type=lambda text: [int(one) for one in text.split(",")], default=[100, 5000],
                        metavar="N,...", help="numbers of Services (default 100,5000)")
    parser.add_argument("--endpoints", type=int, default=2, help="of each Service (default %(default)s)")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=MODES.split(","),
                        help=f"every ordered pair of them, and each with another build of itself (default {MODES})")
    parser.add_argument("--changes", type=int, default=20, metavar="PER_S",
                        help="changes of endpoints a second meanwhile (default %(default)s)")
    parser.add_argument("--pause", default="0s", metavar="TIME",
                        help="minSyncPeriod, which is part of what a change waits (default %(default)s: adaptive, as by "
                             "default in the daemon)")
    parser.add_argument("--patience", type=float, default=300, metavar="S", help="longest wait for a sync (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--smoke", action="store_true", help="20 Services; prints TAP and judges no speed")
    wanted = parser.parse_args()
    if wanted.smoke:
        wanted.services, wanted.endpoints, wanted.patience = [20], 2, 60
    wanted.builddir = os.path.abspath(wanted.builddir)
    return wanted


class Swappable(Sluiced):
    """The daemon, on a configuration file."""

    def __init__(self, wanted, network, directory, kubeconfig):
        super().__init__(wanted.builddir, network, directory, kubeconfig, "none")
        self._kubeconfig = kubeconfig
        self._wanted = wanted
        self._ctl = os.path.join(wanted.builddir, "core", "sluicectl")
        self._path = os.path.join(directory, "config.yaml")
        self.flags = ["--config", self._path]
        self.mode = None

    def write(self, mode):
        with open(self._path + ".new", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(mode=mode, kubeconfig=self._kubeconfig, node=NODE_NAME,
                                     cidr=CLUSTER_CIDR, drain=DRAIN_SECONDS,
                                     pause=self._wanted.pause))
        if mode == self.mode:
            self._exchange_plugin()
        self.mode = mode
        os.rename(self._path + ".new", self._path)

    def _exchange_plugin(self):
        path = os.path.join(self._plugins, f"{self.mode}.so")
        shutil.copy(path, path + ".new")
        with open(path + ".new", "ab") as file:
            file.write(b"another build")
        os.rename(path + ".new", path)

    def reload(self):
        """Seconds."""
        begin = time.monotonic()
        done = subprocess.run([self._ctl, "--state-dir", self._state, "reload", "--timeout", f"{round(stretched(self._wanted.patience))}s"],
                              capture_output=True, text=True, check=False, timeout=stretched(self._wanted.patience + 30))
        if done.returncode != 0:
            raise BenchError(f"sluicectl reload: {(done.stdout + done.stderr).strip()}{self.last_words()}")
        return time.monotonic() - begin

    def wait_for(self, condition, what):
        """Waits until the condition holds for the status."""
        end = time.monotonic() + stretched(self._wanted.patience)
        while not ((status := self.status()) and condition(status)):
            self.check_alive()
            if time.monotonic() > end:
                raise BenchError(f"{what}: not after {self._wanted.patience:.0f} s{self.last_words()}")
            time.sleep(0.05)  # poll interval
        return status


class Churn:
    """Endpoints of one Service after the other are replaced, at a steady rate, until the context ends."""

    def __init__(self, cluster, per_second):
        self._cluster = cluster
        self._pause = 1 / per_second
        self._client = cluster.client()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._error = None

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def check(self):
        if self._error:
            raise BenchError(f"the changes ended: {self._error}")

    def _work(self):
        turn = 0
        try:
            while not self._stop.wait(self._pause):
                # Neither the first Service nor the last: they are hammered.
                number = 1 + turn % (self._cluster.services - 2)
                place = AFTER if turn // (self._cluster.services - 2) % 2 == 0 else BEFORE
                self._client.send_slice(self._cluster.slice(number, [place] * self._cluster.endpoints))
                self._client.answer()
                turn += 1
        except (BenchError, OSError, HTTPException) as error:
            self._error = error


def walk(modes):
    """Every ordered pair once, each starting at the end of the previous one."""
    leaving = {one: list(modes) for one in modes}
    stack, circuit = [modes[0]], []
    while stack:
        if leaving[stack[-1]]:
            stack.append(leaving[stack[-1]].pop(0))
        else:
            circuit.append(stack.pop())
    circuit.reverse()
    return list(zip(circuit, circuit[1:]))


def measure(services, wanted):
    """Rows of one size, one for each pair."""
    row = {"program": "sluiced", "part": "swap", "services": services, "endpoints": wanted.endpoints}
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    cluster = subject = None
    try:
        with Network(os.path.join(wanted.builddir, "test", "tools", "netecho")) as network:
            try:
                cluster = Cluster(directory, services, wanted.endpoints)
                subject = Swappable(wanted, network, directory, cluster.kubeconfig)
                subject.use_iptables("nft")
                subject.write(wanted.modes[0])
                subject.start()
                subject.wait_for(lambda status: all(one["synced"] for one in status["families"]), "the first sync")
                with Churn(cluster, wanted.changes) as churn:
                    for one, other in walk(wanted.modes):
                        yield {**row, "from": one, "to": other, **swap_once(subject, network, other, services)}
                        churn.check()
            finally:
                for started in (subject, cluster):
                    if started is not None:
                        started.close()
    except (BenchError, OSError, HTTPException, KeyError, subprocess.TimeoutExpired) as error:
        yield {**row, "gave_up": f"{type(error).__name__}: {error}"}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def swap_once(subject, network, mode, services):
    """The results of one swap."""
    hammers = [network.hammer(service_ip(number), SERVICE_PORT, 5) for number in (0, services - 1)]
    time.sleep(0.3)  # fixed time: clients connect for a while before the swap
    subject.write(mode)
    seconds = subject.reload()
    last = subject.status()["swap"]["last"]
    if last["result"] != "success" or last["to"] != mode:
        raise BenchError(f"no swap to {mode}: {last}")
    subject.wait_for(lambda status: not status["retiring"], "the old backend goes")
    for number in (0, services - 1):
        if answering_endpoint(service_ip(number), SERVICE_PORT) is None:
            raise BenchError(f"Service {number} does not answer after the swap to {mode}")
    made = [hammer.end() for hammer in hammers]
    return {"seconds": last["seconds"], "reload_seconds": seconds, "longest_wait_seconds": last["longest_wait_seconds"],
            "memory_peak_mib": memory(subject.pid)["peak"], "connects": sum(one for one, _ in made),
            "failed": sum(failed for _, failed in made)}


def shortcomings(rows):
    for row in rows:
        name = f"{row['services']} Services, {row.get('from')} → {row.get('to')}"
        if row.get("gave_up"):
            yield f"{row['services']} Services: {row['gave_up']}"
        elif row["failed"] or not row["connects"]:
            yield f"{name}: {row['failed']} of {row['connects']} connects failed"
        elif not 0 < row["seconds"] <= row["reload_seconds"] or not 0 <= row["longest_wait_seconds"]:
            yield f"{name}: implausible results: {row}"


def judge(rows):
    """TAP; the exit status."""
    said = list(shortcomings(rows))
    lines = [(f"{len(rows)} swaps, none of which fails a connect, with plausible results", "; ".join(said))]
    for number, (title, why) in enumerate(lines, 1):
        print(f"{'not ok' if why else 'ok'} {number} - {title}" + (f"\n#   {why}" if why else ""))
    print(f"1..{len(lines)}")
    return 1 if said else 0


def table(rows):
    lines = ["| Services | from | to | " + " | ".join(title for _, title in COLUMNS) + " |", "|" + " --- |" * (3 + len(COLUMNS))]
    for row in rows:
        if not row.get("gave_up"):
            lines.append(f"| {row['services']:,} × {row['endpoints']} | {row['from']} | {row['to']} | " +
                         " | ".join(report.cell(row[name]) for name, _ in COLUMNS) + " |")
    return "\n".join(lines)


def main():
    wanted = options()
    if os.geteuid() != 0:
        print("swap.py: network namespaces need root", file=sys.stderr)
        return 1
    result = {"environment": environment.describe(wanted.builddir), "results": []}
    for services in wanted.services:
        for row in measure(services, wanted):
            print(f"swap: {row['services']:,} Services, {row.get('from')} to {row.get('to')}", file=sys.stderr, flush=True)
            result["results"].append(row)
    result["environment"]["load_average_after"] = environment.load_average()
    if wanted.json:
        with open(wanted.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    if wanted.smoke:
        return judge(result["results"])
    print(environment.sentence(result["environment"]) + "\n\n" + table(result["results"]))
    said = list(shortcomings(result["results"]))
    for sentence in said:
        print(f"* {sentence}")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
