#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what sluiced costs, and, with --kube-proxy, a kube-proxy beside it. See README.md. Needs root."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from http.client import HTTPException

sys.dont_write_bytecode = True

import environment  # noqa: E402
import report  # noqa: E402
import smoke  # noqa: E402
from cluster import Cluster  # noqa: E402
from conntrack_measurement import FLAGS as CONNTRACK_FLAGS, ConntrackMeasurement  # noqa: E402
from core_measurement import FLAGS as CORE_FLAGS, CoreMeasurement  # noqa: E402
from ipvs import ipvs_rows  # noqa: E402
from measurement import Measurement  # noqa: E402
from network import BenchError, Network  # noqa: E402
from relay import PHASE_NAMES, relay_rows  # noqa: E402
from subjects import KubeProxy, Sluiced  # noqa: E402
from tracking import Room  # noqa: E402

PARTS = ("core", "nft", "legacy", "conntrack", "ipvs", "relay")


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".", help="where make was run (default: here)")
    parser.add_argument("--parts", type=_words(PARTS), default=list(PARTS), metavar="PART,...",
                        help="core: no kernel; nft, legacy: with packets, variants of iptables; conntrack: "
                             "beside many tracked flows; ipvs: ipvs mode, in a virtual machine where this kernel has no IPVS; relay: "
                             "bytes and datagrams through a proxy (default: all)")
    parser.add_argument("--services", type=_numbers, default=[100, 1000, 5000, 10000], metavar="N,...",
                        help="numbers of Services (default 100,1000,5000,10000)")
    parser.add_argument("--core-services", type=_numbers, default=[100, 1000, 10000], metavar="N,...",
                        help="the same for the core (default 100,1000,10000)")
    parser.add_argument("--entries", type=_numbers, default=[1_000_000], metavar="N,...",
                        help="numbers of tracked UDP flows; nf_conntrack_max is raised for the time (default 1000000)")
    parser.add_argument("--endpoints", type=int, default=10, help="endpoints of each (default %(default)s)")
    parser.add_argument("--changes", type=int, default=20, help="single changes of each kind (default %(default)s)")
    parser.add_argument("--core-changes", type=int, default=50, help="the same for the core (default %(default)s)")
    parser.add_argument("--conntrack-changes", type=int, default=300,
                        help="the same beside tracked flows, each way (default %(default)s)")
    parser.add_argument("--connects", type=int, default=200, help="connects to time (default %(default)s)")
    parser.add_argument("--churn-seconds", type=float, default=30, help="length of the churn (default %(default)s)")
    parser.add_argument("--ipvs-services", type=_numbers, default=[100, 1000, 10000], metavar="N,...",
                        help="numbers of Services of part ipvs (default 100,1000,10000)")
    parser.add_argument("--ipvs-endpoints", type=int, default=2, help="endpoints of each there (default %(default)s)")
    parser.add_argument("--ipvs-here", action="store_true", help="part ipvs on this kernel, whatever it can do")
    parser.add_argument("--relay-rounds", type=int, default=5, metavar="N",
                        help="how often each program takes its turn; the middle counts (default %(default)s)")
    parser.add_argument("--relay-seconds", type=float, default=2, metavar="S",
                        help="length of one turn (default %(default)s)")
    parser.add_argument("--relay-open", type=int, default=1000, metavar="N",
                        help="connections that are open while connects are timed (default %(default)s)")
    parser.add_argument("--relay-idle", type=int, default=10_000, metavar="N",
                        help="connections that are open and idle while memory is read (default %(default)s)")
    parser.add_argument("--relay-minutes", type=float, default=30, metavar="MIN",
                        help="no turn is begun later than that (default %(default)s)")
    parser.add_argument("--relay-phases", type=_words(PHASE_NAMES), default=list(PHASE_NAMES), metavar="PHASE,...",
                        help=f"of {', '.join(PHASE_NAMES)} (default: all)")
    parser.add_argument("--relay-programs", type=lambda text: text.split(","), metavar="NAME[:THREADS],...",
                        help="only these, such as 'sluiced userspace:1,HAProxy:1' (default: all)")
    parser.add_argument("--mode", default="iptables", help="backend, --proxy-mode of both (default %(default)s)")
    parser.add_argument("--kube-proxy", metavar="PATH", help="a kube-proxy to measure in the same run")
    parser.add_argument("--patience", type=float, default=300, metavar="S",
                        help="longest wait for the last Service (default %(default)s)")
    parser.add_argument("--change-patience", type=float, default=60, metavar="S",
                        help="longest wait for a change (default %(default)s)")
    parser.add_argument("--part-minutes", type=float, default=15, metavar="MIN",
                        help="no phase of a program in a part is begun later than that (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"),
                        help="measure nothing; print ratios of two such files")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; prints TAP and judges no speed")
    wanted = parser.parse_args()
    if wanted.smoke:
        smoke.make_tiny(wanted)
    wanted.builddir = os.path.abspath(wanted.builddir)
    return wanted


def _numbers(text):
    return [int(word) for word in text.split(",")]


def _words(allowed):
    def read(text):
        words = text.split(",")
        if not set(words) <= set(allowed):
            raise argparse.ArgumentTypeError(f"{text}: there are {', '.join(allowed)}")
        return words
    return read


def _read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def measure(kind, place, part, number, wanted, until):
    """One row: what identifies it, its metrics, and under `gave_up` why it is incomplete.

    `number` is that of Services, or of entries.
    """
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    iptables = {"core": None, "conntrack": "nft"}.get(part, part)
    services, endpoints = (1, 1) if part == "conntrack" else (number, wanted.endpoints)
    row = {"program": kind.name, "mode": "print" if part == "core" else wanted.mode,
           "iptables": iptables if wanted.mode == "iptables" else None, "services": services,
           "endpoints": endpoints}
    if part == "conntrack":
        row["entries"] = number
    cluster = subject = measurement = None
    try:
        with Room(row.get("entries", 0)), Network(os.path.join(wanted.builddir, "test", "tools", "netecho")) as network:
            try:
                cluster = Cluster(directory, services, endpoints)
                subject = kind(place, network, directory, cluster.kubeconfig, row["mode"])
                row["version"] = subject.version()
                if part == "core":
                    printed = os.path.join(directory, "printed")
                    subject.flags += CORE_FLAGS
                    subject.environment["SLUICE_PRINT_PATH"] = printed
                    measurement = CoreMeasurement(subject, cluster, printed, wanted)
                elif part == "conntrack":
                    subject.use_iptables(iptables)
                    subject.flags += CONNTRACK_FLAGS
                    measurement = ConntrackMeasurement(subject, cluster, wanted, number)
                else:
                    subject.use_iptables(iptables)
                    measurement = Measurement(subject, cluster, network, wanted, row["iptables"])
                measurement.run(until)
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
    return row


def kinds(part, wanted):
    """The programs to measure, and where each is."""
    found = [(Sluiced, wanted.builddir)]
    if wanted.kube_proxy and part not in ("core", "conntrack"):
        found.append((KubeProxy, os.path.abspath(wanted.kube_proxy)))
    return found


def rows(wanted):
    for part in wanted.parts:
        if part == "relay":
            print("bench: relays", file=sys.stderr, flush=True)
            yield from relay_rows(wanted)
            continue
        if part == "ipvs":
            yield from ipvs_rows(wanted)
            continue
        sizes = {"core": wanted.core_services, "conntrack": wanted.entries}.get(part, wanted.services)
        for kind, place in kinds(part, wanted):
            until = time.monotonic() + wanted.part_minutes * 60
            for number in sizes:
                unit = "tracked flows" if part == "conntrack" else "Services"
                print(f"bench: {kind.name} {part}, {number:,} {unit}", file=sys.stderr, flush=True)
                yield measure(kind, place, part, number, wanted, until)


def main():
    wanted = options()
    if wanted.compare:
        print(report.comparison(*map(_read, wanted.compare)))
        return 0
    if os.geteuid() != 0:
        print("bench.py: network namespaces need root", file=sys.stderr)
        return 1
    result = {"environment": environment.describe(wanted.builddir), "results": []}
    try:
        for row in rows(wanted):
            result["results"].append(row)
    finally:
        result["environment"]["load_average_after"] = environment.load_average()
        result["flatness"] = list(report.flatness(result["results"]))
        if wanted.json:
            with open(wanted.json, "w", encoding="utf-8") as file:
                json.dump(result, file, indent=1)
                file.write("\n")
        if not wanted.smoke:
            print(report.whole(result))
    if wanted.smoke:
        return smoke.judge(result)
    return 1 if any(True for _ in report.shortcomings(result["results"])) else 0


if __name__ == "__main__":
    sys.exit(main())
