# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9: the state of the process is lost, its kernel state stays and serves, and the next process writes only differences."""

import random
import re
import time

from lib import service_mix, snapshot
from lib.addresses import E1, E2
from lib.cases import POD, kept, own_daemon
from lib.objects import ready

FIRST_APPLY = re.compile(r"generation \d+, full, (\d+) service ports, \d+ removed, (\d+) kernel writes")


@own_daemon(None, "kill -9 while nothing happens, and a start: nothing is written", sources=("manifests",))
def idle(t):
    _, _, expect_served = service_mix.make(t)
    expect_served()
    before = snapshot.take(t.topology)
    t.bench.daemon.kill()
    if not t.relayed:
        expect_served()
        require_same(t, before, "after kill -9")
    known = len(t.bench.daemon.log())
    t.bench.start_daemon()
    applied = FIRST_APPLY.findall(t.bench.daemon.log()[known:])
    t.require(len(applied) == len(t.bench.profile.families), f"{len(applied)} families were applied")
    written = sum(int(writes) for _, writes in applied)
    t.require(written == 0, f"{written} kernel writes at a start where nothing has changed")
    require_same(t, before, "after the start")
    expect_served()


@own_daemon(None, "kill -9 at random instants during changes, repeatedly: every start converges", sources=("manifests",))
def during_changes(t):
    services = [t.service([ready(E1)]) for _ in range(6)]
    t.settle()
    # At random: the assertions do not depend on it.
    chance = random.Random(7)
    hosts = [E1] * len(services)
    for _ in range(4):
        for _ in range(10):
            at = chance.randrange(len(services))
            hosts[at] = E1 if hosts[at] == E2 else E2
            services[at].set_endpoints([ready(hosts[at])])
            time.sleep(chance.random() * 0.05)  # fixed time: changes come at random intervals
        t.bench.daemon.kill()
        t.bench.start_daemon()
        t.settle()
        for service, host in zip(services, hosts):
            t.expect(POD, service.cluster(), kept(host))


def require_same(t, before, occasion):
    found = snapshot.difference(before, snapshot.take(t.topology))
    t.require(not found, f"{occasion}: {snapshot.describe(found)}")
