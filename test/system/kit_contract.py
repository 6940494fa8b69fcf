# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Promises of the ABI about calls that are rare, or that only a newer daemon would make: checked by conformance-load, in
the node's network and without a daemon."""

import json
import os
import shutil
import tempfile

from lib import shell
from lib.cases import own_daemon
from lib.daemon import ENTER


@own_daemon(None, "options, restarts, generations, longer structs, clean-up, retirement, threads, unmapping", sources=("manifests",),
            starts=False)
def promises(t):
    found = [json.loads(line) for line in lines(t, "contract")]
    t.require(found, "nothing was asked")
    for one in found:
        t.require(one["kept"], f"{one['promise']}: {one['reason']}")
    t.remark(f"{sum(one['kept'] for one in found)} of {len(found)} promises are kept")


def lines(t, command, *words):
    """The output of conformance-load in the node's network; no daemon runs there."""
    programs = t.bench.programs
    state = tempfile.mkdtemp(dir=t.topology.directory)
    file = os.path.join(programs.plugin_dir(t.topology.directory), f"{t.bench.backend}.so")
    try:
        done = shell.run(["ip", "netns", "exec", t.topology.namespace("node"), "env", f"PATH={t.topology.search_path}",
                          "sh", "-c", ENTER, "sh", programs.load, command, file, state, *words], check=False, timeout=1200)
    finally:
        shutil.rmtree(state)
    t.require(done.returncode == 0, f"conformance-load {command}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout.splitlines()
