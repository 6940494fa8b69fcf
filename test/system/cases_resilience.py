# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Requirements under faults: no lost connection, no lost change, no foreign rule touched."""

import time

from lib import foreign, leftovers, pace
from lib.addresses import E1, E2, NODE2
from lib.cases import EXT, IN_KERNEL, POD, UNTOUCHED, kept, masqueraded, own_daemon
from lib.objects import ready
from lib.fault_scenario import FaultScenario
from lib.writes import WriteWatch

BOTH = [ready(E1), ready(E2)]
BOTH_SOURCES = ["manifests", "apiserver"]
RULES_OF_OURS = "KUBE-"


def steady(t):
    """A Service that must be reachable throughout, and the hammer that checks it."""
    service = t.service(BOTH)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    return service, t.hammer(POD, service.cluster())


def survives(t, trouble):
    """No connection fails during the fault, and changes made after it arrive."""
    _, hammer = steady(t)
    trouble()
    later = t.service([ready(E2)])
    # Services and EndpointSlices are watched separately, and each watch resumes at its own time.
    t.settle()
    t.expect_soon(POD, later.cluster(), kept(E2), seconds=15)
    t.require_unbroken(hammer, "during the trouble")


@own_daemon(None, "the API server stops and restarts", above=True)
def api_server_restarts(t):
    survives(t, t.bench.source.restart)


@own_daemon(None, "the API server is unreachable: rules and connections stay, and the status and one line report it")
def api_server_down(t):
    scenario = FaultScenario(t)
    held = t.hold(POD, scenario.steady.cluster())
    scenario.source.stop()
    t.wait_until(lambda: away(t), "the status says of every kind of object that it is not connected, and why")
    shown = t.bench.daemon.status_page()
    t.require(f"{NODE2.v4}:6443" in shown and "not connected" in shown, f"the page does not say so: {shown}")
    time.sleep(2)  # fixed time: attempts to connect go on, and lose nothing
    scenario.require_unharmed("while the API server was away")
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
    scenario.episode.require_explained(["connection"])
    scenario.episode.require_flat_memory()
    scenario.source.restart()
    scenario.expect_arrived(scenario.change())
    t.wait_until(lambda: back(t), "the status says that everything is connected", seconds=40)  # the pauses grow to 13 s and more


def watched(t):
    """The status of each kind of object."""
    status = t.status()
    return status["source"]["resources"] if status else []


def away(t):
    """Returns whether the status reports each kind of object as disconnected, with the server that does not answer."""
    kinds = watched(t)
    return kinds and all(not one["connected"] and NODE2.v4 in one["last_error"] for one in kinds)


def back(t):
    kinds = watched(t)
    return kinds and all(one["connected"] for one in kinds)


@own_daemon(None, "a start while the API server is unreachable: rules of the earlier process stay, then everything converges",
            backends=IN_KERNEL)
def started_without_server(t):
    scenario = FaultScenario(t)
    source, daemon = scenario.source, t.bench.daemon
    gone = t.service([ready(E1)])
    t.settle()
    daemon.kill()
    source.gate(True)
    gone.delete()
    changed = scenario.change()
    before = foreign.ruleset(t.topology)
    daemon.start(source.daemon_flags(), t.bench.flags)
    t.wait_until(lambda: away(t), "the status says that nothing is connected, and why")
    t.require(not t.status()["source"]["synced"], "the status says that everything has been listed")
    time.sleep(3)  # fixed time: nothing is written meanwhile
    t.require(foreign.ruleset(t.topology) == before, "rules were written without a list of Services")
    scenario.episode.require_explained(["connection"])
    source.gate(False)
    scenario.expect_arrived(changed)
    t.expect_soon(POD, gone.cluster(), UNTOUCHED)
    daemon.wait_synced()
    scenario.require_served("after a start without the API server")


@own_daemon(None, "the server is restored from an older backup: objects that it no longer has are removed, the rest is untouched",
            above=True)
def restored_from_backup(t):
    scenario = FaultScenario(t)
    source = scenario.source
    version = source.version()
    after_backup = t.service([ready(E1)])
    t.settle()
    t.expect(POD, after_backup.cluster(), kept(E1))
    source.admin("options", {"bookmark_interval": 1})
    source.admin("restore", {"resourceVersion": version})
    t.expect_soon(POD, after_backup.cluster(), UNTOUCHED, seconds=15)
    scenario.expect_arrived(scenario.change())
    scenario.require_served("after the server went back")
    scenario.episode.require_no_flood()
    scenario.episode.require_backoff()


# The kernel needs about 40 s to find out that the peer is gone.
NOTICED_WITHIN = 60


@own_daemon(None, "the path to the server drops packets silently: noticed within a minute, and resynced afterwards",
            slow=True, above=True)
def half_dead(t):
    scenario = FaultScenario(t)
    source = scenario.source
    source.blackhole(True)
    t.defer(lambda: source.blackhole(False))
    changed = scenario.change()
    t.wait_until(lambda: away(t), f"the loss is noticed within {NOTICED_WITHIN} s", NOTICED_WITHIN)
    noticed = scenario.episode.seconds
    scenario.require_unharmed("while packets vanished")
    scenario.episode.require_explained(["connection"])
    source.blackhole(False)
    scenario.expect_arrived(changed)
    t.require(noticed > 5, f"noticed after {noticed:.0f} s: the packets did not vanish silently")


def wait_changes(t, count):
    """Returns once the churn has made that many more changes, with or without a running daemon."""
    wanted = t.bench.churn.changes + count
    t.require(pace.wait_until(lambda: t.bench.churn.changes >= wanted, 10), f"the churn did not make {count} changes")


@own_daemon(None, "kill -9 during changes, and a new start: no failed connect, and converged",
            sources=BOTH_SOURCES, backends=IN_KERNEL)
def killed_during_churn(t):
    _, hammer = steady(t)
    t.bench.start_churn()
    for _ in range(3):
        wait_changes(t, 4)
        t.bench.daemon.kill()
        wait_changes(t, 2)
        t.bench.start_daemon()
    counts = t.bench.stop_churn()
    t.require(counts["changes"] > 10, f"only {counts['changes']} changes were made")
    t.require(counts["failed"] == 0, f"{counts['failed']} failed connects under churn, first: {counts['first_failure']}")
    later = t.service([ready(E1)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E1))
    t.require_unbroken(hammer, "while the daemon was killed")


@own_daemon(None, "SIGTERM leaves the rules in place", sources=["manifests"], backends=IN_KERNEL)
def sigterm_leaves_rules(t):
    service, hammer = steady(t)
    before = foreign.ruleset(t.topology)
    status = t.bench.daemon.stop()
    t.require(status == 0, f"exit status {status} on SIGTERM")
    t.require(foreign.ruleset(t.topology) == before, "the rules changed at SIGTERM")
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require_unbroken(hammer, "while the daemon ended")
    t.bench.start_daemon()


@own_daemon(None, "a restart with nothing to do writes nothing", sources=BOTH_SOURCES,
            legacy=["iptables", "userspace"])
def restart_writes_nothing(t):
    service, hammer = steady(t)
    t.bench.daemon.stop()
    before = foreign.ruleset(t.topology)
    with WriteWatch(t.topology) as writes:
        t.bench.start_daemon()
        time.sleep(2)  # fixed time: nothing is written meanwhile
        writes.expect_none(t, "after a restart")
    t.require(foreign.ruleset(t.topology) == before, "rules or their handles differ after the restart")
    if not t.relayed:
        t.require_unbroken(hammer, "during the restart")
    t.expect(POD, service.cluster(), kept(E1, E2))


@own_daemon(None, "changes made while no daemon ran arrive at its start", sources=BOTH_SOURCES)
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


@own_daemon((104,), "foreign rules are the same bytes before, during and after; --cleanup removes only rules of Sluice",
            sources=["manifests"], legacy=["iptables", "userspace"])
def foreign_rules(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    before = foreign.dump(t.topology)
    t.require("FOREIGN-NAT" in before, "the foreign rules are not there to begin with")
    t.bench.start_daemon()
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(EXT, service.vip(), masqueraded(E2))
    changed = foreign.difference(before, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed while the daemon ran: {changed}")
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
    changed = foreign.difference(before, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed by --cleanup: {changed}")
    left = [line for line in foreign.ruleset(t.topology).splitlines() if RULES_OF_OURS in line and
            "KUBE-FIREWALL" not in line]
    left += [name for name in leftovers.tables(t.topology) if name.endswith(" kube-proxy")]
    t.require(not left, f"--cleanup left {len(left)} lines, first: {left[:1]}")
    t.expect(POD, service.cluster(), UNTOUCHED)
    t.bench.start_daemon()


def repaired(t, *command):
    """After a foreign flush, the Service works again within the sync period, without any other event."""
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
    repaired(t, t.topology.tools.program(t.family), "-w", "-t", "nat", "-F")


@own_daemon((100,), "`nft flush ruleset` is repaired", sources=["manifests"], variants=["nft"])
def ruleset_flush_repaired(t):
    repaired(t, "nft", "flush", "ruleset")


@own_daemon(None, "a connection that is established outlives changes and a restart of the daemon", sources=["manifests"],
            backends=IN_KERNEL)
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
