# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Session affinity of userspace mode survives the process, with its timeouts; a file that is not trusted is rejected."""

import glob
import os
import time

from cases_affinity import ANY, FOUR, MANY, SHORT_SECONDS, sticky
from lib.addresses import E1, E2, E3, E4, FAMILIES
from lib.cases import EXT, POD, kept, own_daemon
from lib.talk import conversation, is_connected, served_at

ONLY_HERE = {"backends": ["userspace"], "sources": ["manifests"], "families": FAMILIES}
REJECTED = "session affinity of the previous process ignored"


def met(t, services):
    """The endpoints of two clients of each Service."""
    return [(t.expect_one(EXT, one.cluster(), ANY, questions=3),
             t.expect_one(POD, one.cluster(), kept(E1, E2, E3, E4), questions=3)) for one in services]


def require_same(t, before, services, occasion):
    now = met(t, services)
    moved = sum(a != b for pair in zip(before, now) for a, b in zip(*pair))
    t.require(not moved, f"{occasion}: {moved} of {2 * len(services)} clients meet another endpoint")


@own_daemon(None, f"clients of {MANY} Services with affinity keep their endpoints through kill -9 and restarts",
            protocols=("tcp", "udp"), **ONLY_HERE)
def clients_stay(t):
    services = [sticky(t, FOUR) for _ in range(MANY)]
    t.settle()
    before = met(t, services)
    t.require(len({outside for outside, _ in before}) > 1, f"all Services have led to one endpoint: {before}")
    for end, occasion in ((t.bench.daemon.kill, "kill -9"), (t.bench.daemon.stop, "a restart"), (t.bench.daemon.kill, "kill -9 again")):
        end()
        t.bench.start_daemon()
        t.settle()
        require_same(t, before, services, f"after {occasion}")
    files = glob.glob(os.path.join(t.bench.daemon.state_dir, "backends", "userspace", "affinity-*"))
    t.require(len(files) == len({name.rsplit("-", 1)[0] for name in files}), f"files of ended processes are left: {files}")
    t.require(REJECTED not in t.bench.daemon.log(), "a file of affinity was rejected")


@own_daemon(None, "clients keep their endpoints over a restart while a connection of the earlier process continues",
            protocols=("tcp",), **ONLY_HERE)
def beside_drain(t):
    services = [sticky(t, FOUR) for _ in range(MANY)]
    other, (server,) = served_at(t, E1)
    t.settle()
    before = met(t, services)
    client, endpoint = conversation(t, other, server)
    t.bench.daemon.stop()
    t.bench.start_daemon()
    t.settle()
    require_same(t, before, services, "after a restart")
    t.require(is_connected(client, endpoint), "the restart has ended the connection")


@own_daemon(None, "session affinity expires while no process runs; clients with a longer timeout stay", protocols=("tcp",), **ONLY_HERE)
def timeout_continues(t):
    long = [sticky(t, FOUR) for _ in range(MANY)]
    short = [sticky(t, FOUR, seconds=SHORT_SECONDS) for _ in range(MANY)]
    t.settle()
    before = met(t, short), met(t, long)
    t.bench.daemon.kill()
    time.sleep(SHORT_SECONDS + 1)  # fixed time: the timeout has to expire
    t.bench.start_daemon()
    t.settle()
    require_same(t, before[1], long, "a longer timeout")
    t.require(met(t, short) != before[0], f"all clients stay after {SHORT_SECONDS} s without a connection")


@own_daemon(None, "a file of session affinity that is malformed or that others can write is rejected with one warning, and the "
            "Services are served", protocols=("tcp",), **ONLY_HERE)
def rejected(t):
    services = [sticky(t, FOUR) for _ in range(3)]
    t.settle()
    met(t, services)
    t.bench.daemon.kill()
    folder = os.path.join(t.bench.daemon.state_dir, "backends", "userspace")
    for path in glob.glob(os.path.join(folder, "affinity-*")):
        os.chmod(path, 0o666)
    with open(os.path.join(folder, f"affinity-ip{t.family}-zzzzzz"), "wb") as file:
        file.write(os.urandom(500_000))
    t.bench.start_daemon()
    t.settle()
    met(t, services)
    lines = [line for line in t.bench.daemon.log().splitlines() if REJECTED in line]
    t.require(1 <= len(lines) <= 2, f"warnings: {lines}")  # one for each address family
    left = [name for name in os.listdir(folder) if name.endswith("zzzzzz")]
    t.require(not left, "the rejected file is still there")
