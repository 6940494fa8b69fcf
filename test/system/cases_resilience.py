# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What must not happen when things go wrong: no lost connection, no lost change, no foreign rule touched."""

import time

from lib import foreign
from lib.addresses import E1, E2
from lib.cases import EXT, POD, UNTOUCHED, kept, masqueraded, own_daemon
from lib.objects import ready
from lib.writes import WriteWatch

BOTH = [ready(E1), ready(E2)]
BOTH_SOURCES = ["manifests", "apiserver"]
RULES_OF_OURS = "KUBE-"


def steady(t):
    """A Service that must be reachable throughout, and the hammer that watches it."""
    service = t.service(BOTH)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    return service, t.hammer(POD, service.cluster())


def survives(t, trouble):
    """Through the trouble no connection fails, and changes made after it arrive."""
    _, hammer = steady(t)
    trouble()
    later = t.service([ready(E2)])
    # Services and EndpointSlices are watched apart, and each comes back at its own time.
    t.settle()
    t.expect_soon(POD, later.cluster(), kept(E2), seconds=15)
    t.require_unbroken(hammer, "during the trouble")


@own_daemon(None, "the API server goes away and comes back")
def api_server_restarts(t):
    survives(t, t.bench.source.restart)


@own_daemon(None, "the API server goes away: the rules stay as they are, connections too")
def api_server_down(t):
    service, hammer = steady(t)
    held = t.hold(POD, service.cluster())
    before = foreign.ruleset(t.topology)
    t.bench.source.gate(True)
    t.defer(lambda: t.bench.source.gate(False))
    t.bench.source.admin("cut", {"how": "abrupt"})
    time.sleep(4)
    t.require(foreign.ruleset(t.topology) == before, "the rules changed while the API server was away")
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
    t.require_unbroken(hammer, "while the API server was away")


def fault_case(title, *faults):
    """One case per kind of misbehaviour of the API server on running watches."""

    def body(t):
        def trouble():
            for fault in faults:
                t.bench.source.fault(**fault)
            # Watches that are established take a fault only when they are opened anew.
            t.bench.source.admin("cut", {"how": "abrupt"})
            time.sleep(1)

        survives(t, trouble)
        t.bench.source.clear_faults()

    body.__name__ = "api_fault_" + "_".join(fault["kind"].replace("-", "_") for fault in faults)
    body.__module__ = __name__
    own_daemon(None, f"the API server misbehaves: {title}")(body)


fault_case("a watch is cut in the middle of a line", {"match": "watch", "kind": "cut-mid-line", "count": 2})
fault_case("410 on watches, then a new list", {"match": "watch", "kind": "410-event", "count": 2})
fault_case("429 with Retry-After", {"match": "all", "kind": "status", "code": 429, "retry_after": 1, "count": 3})
fault_case("500 on lists and watches", {"match": "all", "kind": "status", "code": 500, "count": 3})
fault_case("a stalled answer", {"match": "watch", "kind": "stall", "seconds": 2, "count": 2})
fault_case("garbage between the objects", {"match": "watch", "kind": "garbage-line", "count": 2})
fault_case("an event of unknown type", {"match": "watch", "kind": "unknown-event", "count": 2})


@own_daemon(None, "kill -9 while everything changes, and a new start: no failed connect, and converged",
            sources=BOTH_SOURCES)
def killed_during_churn(t):
    _, hammer = steady(t)
    t.bench.start_churn()
    for _ in range(3):
        time.sleep(1)
        t.bench.daemon.kill()
        time.sleep(0.3)
        t.bench.start_daemon()
    counts = t.bench.stop_churn()
    t.require(counts["changes"] > 10, f"only {counts['changes']} changes were made")
    t.require(counts["failed"] == 0, f"{counts['failed']} failed connects under churn, first: {counts['first_failure']}")
    later = t.service([ready(E1)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E1))
    t.require_unbroken(hammer, "while the daemon was killed")


@own_daemon(None, "SIGTERM leaves the rules in place", sources=["manifests"])
def sigterm_leaves_rules(t):
    service, hammer = steady(t)
    before = foreign.ruleset(t.topology)
    status = t.bench.daemon.stop()
    t.require(status == 0, f"exit status {status} on SIGTERM")
    t.require(foreign.ruleset(t.topology) == before, "the rules changed at SIGTERM")
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require_unbroken(hammer, "while the daemon ended")
    t.bench.start_daemon()


@own_daemon(None, "a restart with nothing to do writes nothing", sources=BOTH_SOURCES)
def restart_writes_nothing(t):
    service, hammer = steady(t)
    t.bench.daemon.stop()
    before = foreign.ruleset(t.topology)
    with WriteWatch(t.topology) as writes:
        t.bench.start_daemon()
        time.sleep(2)
        writes.expect_none(t, "after a restart")
    t.require(foreign.ruleset(t.topology) == before, "rules or their handles differ after the restart")
    t.require_unbroken(hammer, "during the restart")
    t.expect(POD, service.cluster(), kept(E1, E2))


@own_daemon(None, "changes made while the daemon was away arrive when it starts", sources=BOTH_SOURCES)
def changes_while_away(t):
    changed, gone = t.service([ready(E1)]), t.service([ready(E1)])
    t.settle()
    t.expect(POD, [changed.cluster(), gone.cluster()], kept(E1))
    t.bench.daemon.kill()
    changed.set_endpoints([ready(E2)])
    gone.delete()
    new = t.service([ready(E2)])
    t.bench.start_daemon()
    t.settle()
    t.expect(POD, [changed.cluster(), new.cluster()], kept(E2))
    t.expect(POD, gone.cluster(), UNTOUCHED)


@own_daemon((104,), "foreign rules are the same bytes before, during and after; --cleanup removes ours only",
            sources=["manifests"])
def foreign_rules(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    before = foreign.picture(t.topology)
    t.require("FOREIGN-NAT" in before, "the foreign rules are not there to begin with")
    t.bench.start_daemon()
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(EXT, service.vip(), masqueraded(E2))
    changed = foreign.difference(before, foreign.picture(t.topology))
    t.require(not changed, f"foreign rules changed while the daemon ran: {changed}")
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
    changed = foreign.difference(before, foreign.picture(t.topology))
    t.require(not changed, f"foreign rules changed by --cleanup: {changed}")
    left = [line for line in foreign.ruleset(t.topology).splitlines() if RULES_OF_OURS in line and
            "KUBE-FIREWALL" not in line]
    t.require(not left, f"--cleanup left {len(left)} lines, first: {left[:1]}")
    t.expect(POD, service.cluster(), UNTOUCHED)
    t.bench.start_daemon()


def repaired(t, *command):
    """After somebody's flush, the Service works again within the sync period, without any other event."""
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.topology.run("node", *command)
    t.expect_soon(POD, service.cluster(), kept(E1, E2), seconds=8)
    t.expect_soon(EXT, service.vip(), masqueraded(E1, E2), seconds=8)
    later = t.service([ready(E2)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E2))


@own_daemon((100,), "`iptables -t nat -F` is repaired", sources=["manifests"], backends=["iptables", "ipvs", "userspace"])
def nat_flush_repaired(t):
    repaired(t, "iptables-nft", "-w", "-t", "nat", "-F")


@own_daemon((100,), "`nft flush ruleset` is repaired", sources=["manifests"])
def ruleset_flush_repaired(t):
    repaired(t, "nft", "flush", "ruleset")


@own_daemon(None, "a connection that is established outlives changes and a restart of the daemon", sources=["manifests"])
def established_survives(t):
    service = t.service([ready(E1)])
    t.settle()
    held = t.hold(POD, service.cluster())
    t.require(held.server() == E1.name, f"held by {held.greeting}")
    service.set_endpoints([ready(E1), ready(E2)])
    t.settle()
    t.bench.daemon.kill()
    t.bench.start_daemon()
    t.settle()
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
