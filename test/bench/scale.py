#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures nftables mode at many sizes, beside the kernel's floor and the targets. See README.md. Needs root."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from http.client import HTTPException

sys.dont_write_bytecode = True

import environment  # noqa: E402
import report  # noqa: E402
import scale_report  # noqa: E402
from cluster import Cluster  # noqa: E402
from network import BenchError, Network, remove_namespace, run  # noqa: E402
from recording import write_recording  # noqa: E402
from scale_measurement import ScaleMeasurement  # noqa: E402
from subjects import Sluiced  # noqa: E402

SIZES = "100x1,1000x1,10000x1,44125x1,10000x2,5000x10,10000x10,5000x50"
MODE = "nftables"
SMALL = "30x3,300x3"


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".", help="where make was run (default: here)")
    parser.add_argument("--sizes", type=sizes, default=sizes(SIZES), metavar="NxM,...",
                        help=f"Services and endpoints of each (default {SIZES})")
    parser.add_argument("--changes", type=int, default=100, help="single changes of each kind (default %(default)s)")
    parser.add_argument("--connects", type=int, default=300, help="connects to time, each way (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="first syncs and resyncs of each kind; the middle counts (default %(default)s)")
    parser.add_argument("--churn-seconds", type=float, default=60, help="length of the churn (default %(default)s)")
    parser.add_argument("--patience", type=float, default=300, metavar="S", help="longest wait for a sync (default %(default)s)")
    parser.add_argument("--change-patience", type=float, default=30, metavar="S",
                        help="longest wait for a change (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; prints TAP and judges no speed")
    wanted = parser.parse_args()
    if wanted.smoke:
        wanted.sizes, wanted.changes, wanted.connects, wanted.rounds = sizes(SMALL), 5, 20, 1
        wanted.churn_seconds, wanted.patience, wanted.change_patience = 2, 30, 10
    wanted.builddir = os.path.abspath(wanted.builddir)
    return wanted


def sizes(text):
    try:
        return [tuple(int(number) for number in word.split("x", 1)) for word in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def floor(services, endpoints, wanted):
    """The same elements by test/tools/nftload, in a namespace of its own: metrics whose names begin with floor_."""
    space = f"sluice-bench-{os.getpid()}-floor"
    run("ip", "netns", "add", space)
    try:
        said = run("ip", "netns", "exec", space, os.path.join(wanted.builddir, "test", "tools", "nftload"), str(services),
                   str(endpoints), str(max(200, wanted.changes)))
    finally:
        remove_namespace(space)
    try:
        return {f"floor_{name}": value for name, value in json.loads(said).items()}
    except ValueError as error:
        raise BenchError(f"nftload said {said!r}: {error}") from error


def measure(services, endpoints, wanted):
    """One row: what identifies it, its metrics, and under `gave_up` why it is incomplete."""
    row = {"program": "sluiced", "part": "scale", "mode": MODE, "iptables": None, "services": services,
           "endpoints": endpoints}
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    cluster = subject = measurement = None
    try:
        row.update(floor(services, endpoints, wanted))
        recording = os.path.join(directory, "recording.jsonl")
        write_recording(recording, services, endpoints)
        with Network(os.path.join(wanted.builddir, "test", "tools", "netecho")) as network:
            try:
                cluster = Cluster(directory, services, endpoints)
                subject = Sluiced(wanted.builddir, network, directory, cluster.kubeconfig, MODE)
                row["version"] = subject.version()
                subject.use_iptables("nft")
                measurement = ScaleMeasurement(subject, cluster, wanted, recording)
                measurement.run()
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


def keep(result, wanted):
    """After each size: the run is long."""
    result["environment"]["load_average_after"] = environment.load_average()
    if wanted.json:
        with open(wanted.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


def main():
    wanted = options()
    if os.geteuid() != 0:
        print("scale.py: network namespaces need root", file=sys.stderr)
        return 1
    result = {"environment": environment.describe(wanted.builddir), "results": []}
    try:
        for services, endpoints in wanted.sizes:
            print(f"scale: {MODE}, {services:,} x {endpoints}", file=sys.stderr, flush=True)
            result["results"].append(measure(services, endpoints, wanted))
            keep(result, wanted)
    finally:
        keep(result, wanted)
        if not wanted.smoke:
            print(environment.sentence(result["environment"]) + "\n\n" + scale_report.whole(result["results"], report.grid))
    if wanted.smoke:
        return scale_report.judge(result["results"])
    return 1 if any(True for _ in scale_report.shortcomings(result["results"])) else 0


if __name__ == "__main__":
    sys.exit(main())
