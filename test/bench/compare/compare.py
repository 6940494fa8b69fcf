#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures Sluice and a real kube-proxy in one run against a real kube-apiserver. The proxies alternate: A B, B A.

Needs root, a build, and a folder with etcd, kube-apiserver and kube-proxy. Everything runs in namespaces that end with this
program, etcd in memory. Results are merged into a JSON file row by row, so a run can be interrupted and continued; the page and
the plots beside the file are written again at the end.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from http.client import HTTPException

sys.dont_write_bytecode = True

import paths  # noqa: E402
import emulated  # noqa: E402
import environment  # noqa: E402
import metrics  # noqa: E402
import page  # noqa: E402
import plan  # noqa: E402
import plots  # noqa: E402
import results  # noqa: E402
import smoke_compare  # noqa: E402
from lib import fleet_network, fleet_sandbox  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402
from mode import Mode  # noqa: E402
from network import BenchError  # noqa: E402
from real_cluster import RealCluster  # noqa: E402
from sides import version  # noqa: E402

PROGRAMS = ("etcd", "kube-apiserver", "kube-proxy")
VARIABLE = "SLUICE_KUBE_BIN"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", default=".", metavar="DIR", help="where make was run (default: here)")
    parser.add_argument("--kube-bin", metavar="DIR",
                        help=f"folder with {', '.join(PROGRAMS)} (default: ${VARIABLE})")
    parser.add_argument("--sizes", default=plan.SIZES, metavar="NxM,…", help="Services and endpoints of each (default %(default)s)")
    parser.add_argument("--modes", default=",".join(plan.MODES), metavar="MODE,…",
                        help="default %(default)s; ipvs runs in an emulated machine if this kernel has no IPVS, with at most "
                        f"{plan.MOST_EMULATED:,} endpoints")
    parser.add_argument("--parts", default=",".join(metrics.PARTS), metavar="NAME,…", help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="starts of each proxy (default %(default)s)")
    parser.add_argument("--changes", type=int, default=30, metavar="N", help="single changes in all rounds (default %(default)s)")
    parser.add_argument("--churn-seconds", type=float, default=20, metavar="S", help="for each rate and round (default %(default)s)")
    parser.add_argument("--probe-rounds", type=int, default=21, metavar="N", help="rounds of connects (default %(default)s)")
    parser.add_argument("--probes", type=int, default=200, metavar="N", help="connects in each, for each client and place (default %(default)s)")
    parser.add_argument("--load-rounds", type=int, default=5, metavar="N", help="turns of each load (default %(default)s)")
    parser.add_argument("--load-seconds", type=float, default=2, metavar="S", help="of one turn (default %(default)s)")
    parser.add_argument("--patience", type=float, default=300, metavar="S",
                        help="a proxy whose first sync takes longer gives up (default %(default)s)")
    parser.add_argument("--change-patience", type=float, default=60, metavar="S", help="longest wait for a change (default %(default)s)")
    parser.add_argument("--json", default=paths.RESULTS, metavar="FILE", help="results (default docs/benchmarks/results.json)")
    parser.add_argument("--resume", action="store_true", help="measure only rows that FILE has not for this commit")
    parser.add_argument("--estimate", action="store_true", help="print how long it would take, and measure nothing")
    parser.add_argument("--page", action="store_true", help="write page and plots from FILE, and measure nothing")
    parser.add_argument("--quote", metavar="'MODE NxM: PART.VALUE, …'",
                        help="print a table for a document, which the lint compares with FILE, and measure nothing")
    parser.add_argument("--smoke", action="store_true", help="one tiny size; prints TAP and judges no speed")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # inside the emulated machine
    wanted = parser.parse_args()
    if wanted.smoke:
        smoke_compare.make_tiny(wanted)
    try:
        wanted.sizes = [results.size_of(word) for word in wanted.sizes.split(",")]
    except ValueError:
        parser.error(f"invalid sizes '{wanted.sizes}': use NxM, such as 1000x10")
    for name, known in (("modes", plan.MODES), ("parts", metrics.PARTS)):
        words = getattr(wanted, name).split(",")
        if unknown := set(words) - set(known):
            parser.error(f"unknown {name} {', '.join(sorted(unknown))}: use {', '.join(known)}")
        setattr(wanted, name, [one for one in known if one in words])
    wanted.builddir, wanted.json = os.path.abspath(wanted.builddir), os.path.abspath(wanted.json)
    wanted.kube_bin = wanted.kube_bin or os.environ.get(VARIABLE)
    wanted.kube_bin = wanted.kube_bin and os.path.abspath(wanted.kube_bin)
    return wanted


def problem(wanted):
    """Why nothing can be measured, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not wanted.kube_bin:
        return f"give --kube-bin DIR or set {VARIABLE}: a folder with {', '.join(PROGRAMS)}"
    lacking = [name for name in PROGRAMS if not os.access(os.path.join(wanted.kube_bin, name), os.X_OK)]
    if lacking:
        return f"{', '.join(lacking)} missing in {wanted.kube_bin}"
    tools = [os.path.join("core", "sluiced"), *(os.path.join("test", "tools", one) for one in ("netecho", "relayload"))]
    lacking = [name for name in tools if not os.access(os.path.join(wanted.builddir, name), os.X_OK)]
    if lacking:
        return f"{', '.join(lacking)} missing in {wanted.builddir}; run make, and make {' '.join(lacking[-2:])}"
    hidden = [folder for folder in (wanted.builddir, wanted.kube_bin, wanted.json, paths.ROOT)
              if folder.startswith(f"{fleet_sandbox.WORK}/")]
    return f"{hidden[0]} is below {fleet_sandbox.WORK}, where the work folder is mounted; use another place" if hidden else None


def report(*words):
    print("compare:", *words, file=sys.stderr, flush=True)


def minutes(seconds):
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"


class Run:
    def __init__(self, wanted):
        self._wanted = wanted
        self.found = results.load(wanted.json)
        about = environment.describe(wanted.builddir)
        about |= {proxy: version(proxy, wanted) for proxy in metrics.PROXIES}
        self.name = f"{about['when']} {about['commit']}"
        self._commit = about["commit"]
        self.found["runs"][self.name] = about
        self._too_large = {}  # (proxy, mode) → sizes at which it gave up

    def size(self, services, endpoints):
        """Measures all modes at one size."""
        missing = {mode: parts for mode in self._wanted.modes if (parts := self._missing(mode, services, endpoints))}
        if not missing:
            return
        with tempfile.TemporaryDirectory(dir=fleet_sandbox.WORK, prefix="cluster-") as folder:
            begun = time.monotonic()
            with RealCluster(folder, KubePrograms(self._wanted.kube_bin), services, endpoints) as cluster:
                self.found["runs"][self.name]["kubernetes"] = cluster.version()
                report(f"{services:,} x {endpoints}: objects created after {time.monotonic() - begun:.0f} s")
                for mode, parts in missing.items():
                    self._mode(cluster, mode, parts)

    def _mode(self, cluster, mode, parts):
        size = f"{cluster.services}x{cluster.endpoints}"
        report(f"{size} {mode}: {', '.join(parts)}; about "
             f"{minutes(plan.estimate([(cluster.services, cluster.endpoints)], [mode], parts, self._wanted))}")
        given_up = {proxy: why for proxy in metrics.PROXIES if (why := self._hopeless(proxy, mode, cluster))}
        measured = Mode(cluster, mode, parts, self._wanted, given_up, report)
        measured.run()  # an error loses the mode, so that --resume measures it again
        for row in measured.rows(size, self.name):
            results.keep(self.found, row)
        results.save(self._wanted.json, self.found)
        for proxy in measured.failed_to_sync:
            self._too_large.setdefault((proxy, mode), []).append((cluster.services, cluster.endpoints))

    def _hopeless(self, proxy, mode, cluster):
        for services, endpoints in self._too_large.get((proxy, mode), []):
            if cluster.services >= services and cluster.services * cluster.endpoints >= services * endpoints:
                return f"not tried: gave up at {services:,} × {endpoints}"
        return None

    def _missing(self, mode, services, endpoints):
        if mode == "ipvs" and not self._wanted.here and not emulated.kernel_has_ipvs():
            return []  # another machine
        if not self._wanted.resume:
            return self._wanted.parts
        have = (results.find(self.found, part, mode, f"{services}x{endpoints}") for part in self._wanted.parts)
        return [part for part, row in zip(self._wanted.parts, have)
                if row is None or self.found["runs"][row["run"]]["commit"] != self._commit]


def measure(wanted):
    run = Run(wanted)
    failed = []
    for services, endpoints in wanted.sizes:
        try:
            run.size(services, endpoints)
        except (BenchError, ClusterError, OSError, HTTPException) as error:
            failed.append(f"{services} x {endpoints}: {error or type(error).__name__}")
            report(failed[-1])
    return failed


def in_namespaces(wanted):
    """Measures in a child with namespaces of its own; returns its exit status."""
    child = os.fork()
    if child:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except KeyboardInterrupt:
            os.kill(child, signal.SIGKILL)  # the kernel ends everything in its namespaces
            os.waitpid(child, 0)
            return 130
    status = 1
    try:
        fleet_sandbox.die_with_parent()
        fleet_sandbox.enter("75%")
        fleet_network.build_bridge()
        status = 1 if measure(wanted) else 0
    except KeyboardInterrupt:
        status = 130
    except (BenchError, ClusterError) as error:
        report(error)
    finally:
        sys.stderr.flush()
        os._exit(status & 0xFF)


def write_documents(wanted):
    """The page and its plots, beside the results."""
    if not os.path.exists(wanted.json):
        return  # nothing was measured
    folder, found = os.path.dirname(wanted.json), results.load(wanted.json)
    made = plots.made(found) | {"README.md": page.text(found)}
    for name in os.listdir(folder):
        if name.endswith(".svg") and name not in made and os.path.samefile(folder, paths.DOCS):
            os.remove(os.path.join(folder, name))
    for name, text in made.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    wanted = options()
    expected = plan.estimate(wanted.sizes, wanted.modes, wanted.parts, wanted)
    if wanted.estimate:
        print(f"about {minutes(expected)} on a machine with two processors and no other work")
        return 0
    if wanted.page:
        write_documents(wanted)
        return 0
    if wanted.quote:
        print(page.quote(results.load(wanted.json), wanted.quote), end="")
        return 0
    why = problem(wanted)
    if wanted.smoke:
        return smoke_compare.run(wanted, why, in_namespaces)
    if why:
        print(f"compare.py: {why}", file=sys.stderr)
        return 1
    report(f"about {minutes(expected)} on a machine with two processors and no other work")
    status = in_namespaces(wanted)
    if status in (0, 1) and "ipvs" in wanted.modes and not wanted.here and not emulated.kernel_has_ipvs():
        status = emulated.measure(wanted, report) or status
    if not wanted.here:
        write_documents(wanted)
    return status


if __name__ == "__main__":
    sys.exit(main())
