# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""After `sluiced --cleanup` the node is in its initial state: after a daemon that ended well, after one that was killed, twice,
and with nothing to clean up."""

from lib import service_mix, snapshot
from lib.cases import own_daemon


@own_daemon(None, "after clean-up the node is in its initial state, after a normal end and after kill -9; twice works, too",
            sources=("manifests",), starts=False)
def nothing_is_left(t):
    before = t.topology.pristine
    clean(t, "where there is nothing")
    require_same(t, before, "after a clean-up where there was nothing")
    for how, end in (("SIGTERM", t.bench.daemon.stop), ("kill -9", t.bench.daemon.kill)):
        t.bench.start_daemon()
        _, _, expect_served = service_mix.make(t)
        expect_served()
        made = snapshot.difference(before, snapshot.take(t.topology))
        end()
        clean(t, f"after {how}")
        require_same(t, before, f"after {how} and clean-up")
        clean(t, f"a second time after {how}")
        require_same(t, before, f"after {how} and a second clean-up")
        t.remark(f"{how}: {len(made)} things had appeared")


def clean(t, occasion):
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup {occasion}: exit {done.returncode}: {done.stderr[-300:]}")


def require_same(t, before, occasion):
    found = snapshot.difference(before, snapshot.take(t.topology))
    t.require(not found, f"{occasion}: {snapshot.describe(found)}")
