# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's end-to-end tests with ginkgo."""

import contextlib
import glob
import os
import re
import signal
import subprocess

from . import shell

FOCUS = r"\[sig-network\]"
PROCESSES = 8
SUMMARY = re.compile(r"^(?:Ran |PASS|FAIL!|SUCCESS!)|\[FAIL\]")
LIMIT = "3h"


def command(cluster, name, focus, skip=None, processes=PROCESSES, more=()):
    """The command line, for the control plane's place; `more` are arguments of e2e.test."""
    programs, results = cluster.programs, cluster.layout.results / name
    return [programs.path("ginkgo"), "run", f"--procs={processes}", "--no-color", "--silence-skips",
            f"--output-dir={results}", f"--timeout={LIMIT}", f"--focus={focus}", *([f"--skip={skip}"] if skip else []),
            programs.path("e2e.test"), "--", f"--kubeconfig={cluster.layout.kubeconfig('admin')}", "--provider=skeleton",
            f"--num-nodes={cluster.layout.node_count}", f"--kubectl-path={programs.path('kubectl')}",
            f"--report-dir={results}", "--disable-log-dump", *more]


def interrupt(process):
    """Ends a run with a report. ginkgo does not pass SIGINT on to its processes: in a terminal they receive it themselves."""
    children = set()
    for listed in glob.glob(f"/proc/{process.pid}/task/*/children"):
        with contextlib.suppress(OSError), open(listed, encoding="ascii") as file:
            children.update(int(one) for one in file.read().split())
    for pid in (*children, process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


def run(cluster, name, focus=FOCUS, skip=None, processes=PROCESSES):
    """Runs the tests, prints a summary, and returns the exit status of ginkgo. The output is in RESULTS/NAME/log.txt."""
    results = cluster.layout.results / name
    results.mkdir(parents=True, exist_ok=True)
    with open(results / "log.txt", "wb") as log:
        process = cluster.control_plane.place.popen(*command(cluster, name, focus, skip, processes), stdout=log,
                                                    stderr=subprocess.STDOUT)
        try:
            status = process.wait()
        finally:
            shell.stop(process)
    text = (results / "log.txt").read_text(encoding="utf-8", errors="replace")
    print(*sorted({line for line in text.splitlines() if SUMMARY.search(line)}), sep="\n")
    return status
