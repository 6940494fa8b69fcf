# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The part with relays: every program in a node of its own, all at once, so that they can take turns."""

import os
import shutil
import tempfile
import time

from network import BenchError
from relay_measurement import PHASES, RelayMeasurement, new_row
from relay_network import RelayNetwork
from relay_subjects import ALL, FEW, Missing
from tracking import Room

PHASE_NAMES = tuple(name for name, _, _ in PHASES)
# Two conntrack entries per relayed connection, for some seconds.
TRACKED = 1_000_000


def relay_rows(wanted):
    directory = tempfile.mkdtemp(prefix="sluice-bench-")
    os.chmod(directory, 0o755)
    rows, subjects = [], []
    try:
        with Room(TRACKED), RelayNetwork(os.path.join(wanted.builddir, "test", "tools", "relayload")) as network:
            try:
                for kind, threads in _chosen(wanted):
                    row = new_row(kind, threads)
                    rows.append(row)
                    try:
                        subject = kind(network, network.add_node(), directory, wanted.builddir, threads)
                        subject.prepare()
                        subjects.append((subject, row))
                        subject.start()
                    except Missing as missing:
                        row["missing"] = str(missing)
                    except BenchError as error:
                        row["gave_up"] = str(error)
                RelayMeasurement(subjects, wanted).run(time.monotonic() + wanted.relay_minutes * 60)
            finally:
                for subject, _ in subjects:
                    subject.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return rows


def _chosen(wanted):
    kinds = FEW if wanted.smoke else ALL
    if wanted.relay_programs is None:
        return kinds
    known = {name: (kind, threads) for kind, threads in ALL for name in (f"{kind.name}:{threads}", kind.name)}
    unknown = [name for name in wanted.relay_programs if name not in known]
    if unknown:
        raise SystemExit(f"bench.py: --relay-programs: there is no {unknown[0]}; there are {', '.join(known)}")
    return [known[name] for name in wanted.relay_programs]
