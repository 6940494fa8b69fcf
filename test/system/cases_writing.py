# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Difficult writes of rules: a rejected one, a held lock, hundreds of Services at once."""

import subprocess
import time

from lib import bulk, pace, probe, shell
from lib.addresses import E1, E2, E3, E4
from lib.cases import POD, UNTOUCHED, kept, own_daemon
from lib.objects import ready

BOTH = [ready(E1), ready(E2)]
IPTABLES = ["iptables"]
GOOD_SERVICES = 20
# Enough to find one of GOOD_SERVICES by bisection, twice, and for the retries meanwhile.
MOST_REFUSALS = 25
LOCK = "/run/xtables.lock"
LOCK_SECONDS = 8
LOAD = 400
# iptables-nft-restore loads them in some dozens of runs.
LONG_LOAD = 3000


def one_refused(t, manner):
    """One Service whose rules iptables-restore rejects, among others, in a delta and then at a start."""
    tools = t.topology.tools
    bad = t.service()
    title = f"{bad.namespace}/{bad.name}:p80"
    with tools.wrapped():
        # Its rule without endpoints is accepted; those with endpoints are not.
        tools.refuse(f"^-[AI] .*{title}.*-j KUBE-", manner)
        t.defer(tools.accept_all)
        t.settle()
        before = tools.turned_away()
        bad.set_endpoints(BOTH)
        good = [t.service([ready(E1)]) for _ in range(GOOD_SERVICES)]
        t.settle()
        expect_without(t, bad, good, title, "in a delta")
        t.require(0 < tools.turned_away() - before <= MOST_REFUSALS, f"{tools.turned_away() - before} refused attempts")
        good[0].set_endpoints([ready(E2)])
        t.settle()
        t.expect(POD, good[0].cluster(), kept(E2))
        good[0].set_endpoints([ready(E1)])

        t.bench.daemon.stop()
        t.bench.cleanup()
        t.bench.start_daemon()
        t.settle()
        expect_without(t, bad, good, title, "at a start")

        tools.accept_all()
        # The daemon retries after a minute, or as soon as the Service changes.
        bad.set_endpoints([ready(E1), ready(E2), ready(E3)])
        t.settle()
        t.expect(POD, bad.cluster(), kept(E1, E2, E3))
        t.expect(POD, [one.cluster() for one in good], kept(E1))
        t.wait_until(lambda: not not_programmed(t), "every service port is programmed")


def expect_without(t, bad, good, title, occasion):
    t.expect(POD, [one.cluster() for one in good], kept(E1))
    answers = probe.ask(t.topology, POD, "tcp", bad.cluster().ip, bad.cluster().port, t.family, 2, 350)
    # No rule at all, or the earlier REJECT: but no jump into an incomplete chain.
    t.require(set(answers) <= {"refused"} or probe.check(t.topology, POD, "tcp", bad.cluster().ip, bad.cluster().port,
                                                         t.family, UNTOUCHED) is None,
              f"{occasion}: the refused Service is half there: {answers}")
    t.require(t.bench.daemon.wait_logged(title, "not programmed") is not None, f"{occasion}: no log line names {title}")
    t.wait_until(lambda: not_programmed(t) == [title], f"{occasion}: `sluicectl status` names {title} and no other")


def not_programmed(t):
    return [one["service_port"] for family in t.status()["families"] for one in family["not_programmed"]]


@own_daemon(None, "one Service is refused by iptables-restore, which names the line: the others work, it is reported, "
            "and served once it can be", sources=["manifests"], backends=IPTABLES, legacy=True)
def refused_with_line(t):
    one_refused(t, "line")


@own_daemon(None, "one Service is refused at the commit, no line is named: the others work, it is reported, "
            "and served once it can be", sources=["manifests"], backends=IPTABLES, legacy=True)
def refused_at_commit(t):
    one_refused(t, "commit")


@own_daemon(None, f"another process holds the iptables lock for {LOCK_SECONDS} s: reported, waited for, and caught up "
            "with soon after", sources=["manifests"], backends=IPTABLES, variants=["legacy"], legacy=True)
def lock_held(t):
    restart_with_long_period(t)
    service = t.service([ready(E1)])
    t.settle()
    holder = hold_lock(t)
    began = time.monotonic()
    changed = [t.service([ready(E1)])]
    time.sleep(LOCK_SECONDS / 2)  # fixed time: the next change arrives while the daemon waits for the lock
    changed.append(t.service([ready(E1)]))
    service.set_endpoints([ready(E2)])
    t.require(t.bench.daemon.wait_logged("lock", seconds=LOCK_SECONDS) is not None, "no log line mentions the lock")
    t.expect(POD, service.cluster(), kept(E1))
    time.sleep(max(0.0, began + LOCK_SECONDS - time.monotonic()))  # fixed time: the lock is held for longer than an attempt waits
    t.require(holder.poll() is None, "the lock was not held long enough")
    release(holder)
    for one in changed:
        t.expect_soon(POD, one.cluster(), kept(E1), seconds=5)
    t.expect_soon(POD, service.cluster(), kept(E2), seconds=5)


def restart_with_long_period(t):
    """With a sync period that is too long to explain what happens soon."""
    t.bench.daemon.stop()
    t.bench.flags += ["--iptables-sync-period", "60s"]
    t.bench.start_daemon()


def hold_lock(t):
    """Takes the lock in the daemon's mount namespace, which has its own /run."""
    holder = shell.start(["nsenter", "-t", str(t.bench.daemon.pid), "-m", "--", "flock", LOCK, "sh", "-c", "echo held; read end"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    t.defer(lambda: release(holder))
    t.require(holder.stdout.readline().strip() == "held", "the lock could not be taken")
    return holder


def release(holder):
    holder.stdin.close()
    holder.wait(pace.stretched(10))


def load(t, count=LOAD):
    """Creates many Services at the source, while no daemon runs."""
    t.bench.daemon.stop()
    t.bench.source.put(*bulk.services(count, [ready(E1), ready(E2), ready(E3), ready(E4), bulk.nowhere(0)]))


def wait_loaded(t, hammer, count=LOAD):
    t.wait_until(lambda: probe.ask(t.topology, POD, "tcp", bulk.cluster_front(count - 1).ip, 80, t.family, 1, 300)[0]
                 .startswith("ok"), "the last Service is served", seconds=60)
    if t.has_status:
        t.wait_until(lambda: all(one["synced"] for one in t.status()["families"]), "synced", seconds=60)
    hammer.wait_attempts(10)


@own_daemon(None, f"{LOAD} Services are loaded at a start: no connect to an earlier one fails",
            sources=["manifests"], backends=IPTABLES, legacy=True)
def loaded_beside_an_old_one(t):
    service = t.service(BOTH)
    t.settle()
    load(t)
    hammer = t.hammer(POD, service.cluster())
    t.bench.start_daemon()
    wait_loaded(t, hammer)
    t.require_unbroken(hammer, "while the others were loaded")


@own_daemon(None, f"{LOAD} Services are loaded on an empty node: once one of them answers, no connect to it fails",
            sources=["manifests"], backends=IPTABLES, legacy=True)
def loaded_on_an_empty_node(t):
    service = t.service(BOTH)
    load(t)
    t.bench.cleanup()
    t.bench.daemon.start(t.bench.source.daemon_flags(), t.bench.flags)
    front = service.cluster()
    t.wait_until(lambda: probe.ask(t.topology, POD, "tcp", front.ip, front.port, t.family, 1, 100)[0].startswith("ok e"),
                 "the Service answers", seconds=60)
    hammer = t.hammer(POD, front)
    wait_loaded(t, hammer)
    t.require_unbroken(hammer, "until everything was loaded")


@own_daemon(None, f"SIGTERM while {LONG_LOAD} Services are loaded: the daemon ends before all are written, no connect fails, and the "
            "next start writes the rest", sources=["manifests"], backends=IPTABLES, variants=["nft"])
def stopped_during_a_load(t):
    service = t.service(BOTH)
    t.settle()
    load(t, LONG_LOAD)
    hammer = t.hammer(POD, service.cluster())
    t.bench.daemon.start(t.bench.source.daemon_flags(), t.bench.flags)
    t.wait_until(lambda: bulk_chains(t) > 0, "the load begins", seconds=60)
    status = t.bench.daemon.stop()
    t.require(status == 0, f"the daemon ended with status {status}")
    t.require("apply cancelled after" in t.bench.daemon.log(), "the daemon wrote everything before it ended")
    t.require("sync-failed" not in t.bench.daemon.log(), "the cancelled sync was logged as a failure")
    written = bulk_chains(t)
    t.require(0 < written < LONG_LOAD, f"{written} of {LONG_LOAD} Services are in the kernel")
    t.expect(POD, service.cluster(), kept(E1, E2))
    hammer.wait_attempts(10)
    t.bench.start_daemon()
    wait_loaded(t, hammer, LONG_LOAD)
    t.require_unbroken(hammer, "from the stop to the end of the load")
    t.require(bulk_chains(t) == LONG_LOAD, f"{bulk_chains(t)} of {LONG_LOAD} Services are in the kernel")


def bulk_chains(t):
    """How many of the Services packets can reach. iptables-nft-save would start over with each change."""
    tools = t.topology.tools
    rules = t.topology.run("node", tools.program(t.family, ""), "-t", "nat", "-S", "KUBE-SERVICES").stdout
    return sum(f" {bulk.NAMESPACE}/svc-" in line or f'"{bulk.NAMESPACE}/svc-' in line for line in rules.splitlines())
