# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 82, 92 and 94–104: when the rules are written, and that nothing else is written."""

import contextlib
import datetime
import time

from lib import bulk, chains, leftovers, nftables, pace, stray
from lib.addresses import E1, E2, E3, POD_PORT, V4, V6
from lib.bench import prompt
from lib.cases import EXT, POD, REJECTED, case, kept, masqueraded, own_daemon
from lib.differences import INVALID_PASSES
from lib.metrics import FAMILY, scrape
from lib.objects import endpoint_slice, port, ready
from lib.writes import WriteWatch

BOTH = [ready(E1), ready(E2)]
SOURCES = ["manifests", "apiserver"]
IPTABLES = ["iptables"]
WRITING_IPTABLES = ["iptables", "ipvs", "userspace"]  # backends that use the iptables programs, for few rules too
EVERY_BACKEND = [*WRITING_IPTABLES, "nftables"]
OURS = "KUBE-"
SHARED = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL")
LIBERAL = "net.netfilter.nf_conntrack_tcp_be_liberal"
WAIT, PAUSE = "sluice_sync_wait_duration_seconds", "sluice_sync_interval_seconds"
ROUNDS, PERIOD = 4, 4  # changes, and the seconds between two syncs that they are compared with
PAUSES = (3, 6, 12, 24, 48)  # seconds between two syncs: the next one if the machine was too busy for the one before
LARGE = 1000  # endpoints up to which rules of endpoints have comments
STALE = ["KUBE-SVC-AAAAAAAAAAAAAAAA", "KUBE-SVL-AAAAAAAAAAAAAAAA", "KUBE-EXT-AAAAAAAAAAAAAAAA",
         "KUBE-FW-AAAAAAAAAAAAAAAA", "KUBE-SEP-AAAAAAAAAAAAAAAA"]
NOT_OURS = ["KUBE-MARK-DROP", "KUBE-ROUTER-INPUT", "CILIUM_PRE_nat"]


def of_this_family(t):
    """The part of the status for the family of the case; None without a status."""
    name = {V4: "IPv4", V6: "IPv6"}[t.family]
    return next(one for one in t.status()["families"] if one["family"] == name) if t.has_status else None


@contextlib.contextmanager
def restore_inputs(t):
    """The input lines of iptables-restore while open; complete once it is closed."""
    lines = []
    tools, namespace = t.topology.tools, t.topology.namespace("node")
    with tools.wrapped():
        before = len(tools.inputs(namespace))
        yield lines
        lines += [line for text in tools.inputs(namespace)[before:] for line in text.splitlines()]


def served_by(service, *hosts):
    """A condition on the kernel: these endpoints have a chain, or an element of the list, and no others."""
    def in_the_map(t):
        found = nftables.lists(nftables.read(t), nftables.frontend(service.cluster()))[0]
        return found == sorted(f"{host.ip(t.family)} . {POD_PORT}" for host in hosts)

    wanted = {chains.of_endpoint(service, host) for host in hosts}
    possible = {chains.of_endpoint(service, host) for host in (E1, E2, E3)}
    return lambda t: in_the_map(t) if t.nftables else {chain for chain in possible if any(line.startswith(f":{chain} ") for line in t.saved("nat"))} == wanted


def wait_served_by(t, service, *hosts, seconds=10):
    """Returns the last time at which they did not serve yet."""
    condition, begun = served_by(service, *hosts), [time.monotonic()]

    def served():
        begun.append(time.monotonic())
        return condition(t)

    t.wait_until(served, f"served by {', '.join(host.name for host in hosts) or 'no endpoint'} in the kernel", seconds)
    return begun[-2]


def count_seen(t, writes):
    """The number of lines of the watch for all that is in the kernel by now: `nft monitor` may lag behind."""
    if t.topology.variant == "legacy":
        return len(writes.lines())
    mark = f"seen_{time.monotonic_ns()}"
    t.topology.run("node", "nft", f"add table inet {mark}; delete table inet {mark}")

    def end():
        lines = writes.lines()
        at = max((number for number, line in enumerate(lines) if mark in line), default=len(lines))
        return next((number + 1 for number in range(at, len(lines)) if lines[number].startswith("# new generation")), None)

    return t.wait_until(end, "the watch has seen everything so far")


def only_about(lines, names):
    """The lines that contain none of these names."""
    return [line for line in lines if line and not line.startswith(("*", "COMMIT", "#")) and
            not any(name in line for name in names)]


@own_daemon(82, "from A to B and back to A between two syncs: nothing is written", families=[V4, V6],
            backends=["iptables", "nftables"])
def there_and_back(t):
    # So that shared chains exist before and after.
    for endpoints in ([ready(E1)], BOTH):
        t.service(endpoints)
    service = t.service([ready(E1)])
    for pause in PAUSES:
        t.bench.daemon.stop()
        t.bench.daemon.start(t.bench.source.daemon_flags(), [
            *t.bench.flags, "--iptables-sync-period", f"{5 * pause}s", "--iptables-min-sync-period", f"{pause}s"])
        t.bench.daemon.wait_synced()
        wait_served_by(t, service, E1, seconds=pause + 10)
        with WriteWatch(t.topology) as writes:
            # The pause until the next sync begins with the end of this one, which comes after `unserved`.
            service.set_endpoints(BOTH)
            unserved = wait_served_by(t, service, E1, E2, seconds=pause + 10)
            seen = count_seen(t, writes)
            service.set_endpoints([ready(E1)])
            time.sleep(0.2)  # fixed time: long enough for a daemon without a pause to begin
            service.set_endpoints(BOTH)
            in_time = time.monotonic() - unserved < pause / 2
            time.sleep(pause + 1)  # fixed time: the next sync writes nothing
            # In the other family unused chains may be removed.
            written, more = ([line for line in some if not t.nftables or f" {nftables.IPX[t.family]} " in line]
                             for some in (writes.lines()[:seen], writes.lines()[seen:]))
        if in_time:  # a busy machine may be too slow to do all within the pause
            break
        service.set_endpoints([ready(E1)])
    t.require(in_time, f"A to B to A always took longer than half of the pause, which was {pause} s at last")
    t.require(written and not more, f"{len(more)} writes after A to B to A, first: {more[:1]}")


@own_daemon(105, "changes wait for a minimum sync period only if it is set; otherwise pauses follow the cost of syncs",
            backends=EVERY_BACKEND)
def adaptive_pace(t):
    name = "ipvs" if t.bench.backend == "ipvs" else "iptables"
    without_period = t.bench.flags[len(prompt(t.bench.backend)):]
    service = t.service([ready(E1)])

    def stream(flags):
        """Changes, each as soon as packets show the one before: how long they waited for syncs, and the pause at the end."""
        t.bench.daemon.stop()
        t.bench.daemon.start(t.bench.source.daemon_flags(), [*without_period, *flags])
        t.bench.daemon.wait_synced()
        t.settle()
        before = scrape(t)
        for turn in range(ROUNDS):
            service.set_endpoints([ready(E1)] if turn % 2 else BOTH)
            t.settle()
        # Packets may arrive before the daemon has updated its counters.
        t.wait_until(lambda: scrape(t).count(WAIT + "_count") - before.count(WAIT + "_count") >= ROUNDS, "the waits are counted")
        after = scrape(t)
        return after.count(WAIT + "_sum") - before.count(WAIT + "_sum"), after.get(PAUSE, ip_family=FAMILY[t.family])

    waited, pause = stream([])
    # It follows from processor time, which other programs do not change; an emulated machine needs more.
    t.require(0 < pause < 1 or pace.SLOWNESS > 1, f"without a period the pause is {pause} s")
    long, period = stream([f"--{name}-min-sync-period", f"{PERIOD}s"])
    t.require(period == PERIOD, f"the pause is {period} s instead of {PERIOD} s")
    t.require(waited < long, f"changes waited {waited} s without a period, and {long} s with one of {PERIOD} s")


@own_daemon(92, "only trigger times since the start of the daemon count, and only valid ones", sources=SOURCES,
            above=True)
def trigger_times(t):
    t.status()  # this case needs the status
    service = t.service([ready(E1)])

    def sample_after(trigger, endpoints):
        made = endpoint_slice(service.namespace, f"{service.name}-slice1", service.name, t.family,
                              [port("p80", POD_PORT, t.protocol)], endpoints)
        made["metadata"]["annotations"] = {"endpoints.kubernetes.io/last-change-trigger-time": trigger}
        service.put_slice(made, "slice1")
        # The kernel has a change before the status shows it. The second barrier needs a later sync, so the status is current.
        t.settle()
        t.settle()
        return of_this_family(t).get("last_programming_seconds")

    for trigger, endpoints in (("2020-01-01T00:00:00Z", BOTH), ("yesterday", [ready(E1)])):
        t.require(sample_after(trigger, endpoints) is None, f"a sample was taken from the trigger time {trigger}")
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    t.require(sample_after(now, BOTH) is not None, "no sample was taken from a trigger time after the start")


@own_daemon(94, "nothing is written before both Services and EndpointSlices are listed",
            backends=EVERY_BACKEND, legacy=True)
def waits_for_both(t):
    service = t.service([ready(E1)])
    t.settle()
    start_afresh(t)
    t.bench.source.fault(match="all", resource="endpointslices", kind="status", code=503, count=100000)
    t.defer(t.bench.source.clear_faults)
    with WriteWatch(t.topology) as writes:
        before = asked(t)
        t.bench.daemon.start(t.bench.source.daemon_flags(), t.bench.flags)
        t.wait_until(lambda: all(asked(t)[kind] > before[kind] for kind in before), "both kinds were asked for")
        writes.expect_none(t, "with Services listed and EndpointSlices not")
    ours = [line for line in t.saved() if OURS in line and "KUBE-FIREWALL" not in line]
    ours += [name for name in leftovers.tables(t.topology) if name.endswith(" kube-proxy")]
    t.require(not ours, f"there are rules of Sluice: {ours[:2]}")
    t.bench.source.clear_faults()
    t.expect_soon(POD, service.cluster(), kept(E1), seconds=30)


def start_afresh(t):
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")


def asked(t):
    """The number of requests to the API server per kind."""
    requests = t.bench.source.admin_get("stats")["requests"]  # by verb and kind
    return {kind: sum(requests.get(f"{verb} {kind}", 0) for verb in ("list", "watch"))
            for kind in ("services", "endpointslices")}


@own_daemon(94, "in an empty cluster the rules that need no Service are written, in one full sync", sources=SOURCES,
            backends=EVERY_BACKEND)
def empty_cluster(t):
    start_afresh(t)
    t.bench.barrier.delete()
    t.bench.start_daemon()
    fixed = (":KUBE-PORTALS-HOST ", ":KUBE-NODEPORT-CONTAINER ", "-A PREROUTING ", "-A OUTPUT ") if t.relayed else \
            (":KUBE-SERVICES ", ":KUBE-POSTROUTING ", "-A POSTROUTING ", "-A KUBE-POSTROUTING ")
    if t.nftables:
        t.wait_until(lambda: (table := nftables.read(t)) and {"services", "masquerading", "nat-output"} <= set(table.chains),
                     "the chains that need no Service")
        t.require(not nftables.read(t).elements("service-treatments"), "there are elements of Services")
        fixed = ()
    for wanted in fixed:
        t.wait_until(lambda wanted=wanted: any(line.startswith(wanted) for line in t.saved()), f"a line {wanted}")
    t.require(not any("KUBE-SVC" in line or "--dport" in line for line in t.saved()), "there are rules of Services")
    if t.has_status:
        now = of_this_family(t)
        t.require((now["full_syncs"], now["delta_syncs"], now["failures"]) == (1, 0, 0), f"unexpected syncs: {now}")


@case((95, 97), "an endpoint is removed: only the chains of its Service are written", protocols=["tcp"],
      backends=IPTABLES, exclusive=True, legacy=True)
def endpoint_leaves(t):
    bystander = t.service(BOTH, type="LoadBalancer", external=True)
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    own = chains.all_of(service, [E1, E2])
    with WriteWatch(t.topology) as writes, restore_inputs(t) as given:
        before, status = t.saved(), of_this_family(t)
        service.set_endpoints([ready(E1)])
        wait_served_by(t, service, E1)
        if t.has_status:
            t.wait_until(lambda: of_this_family(t)["delta_syncs"] > status["delta_syncs"], "counted as a delta")
    others = only_about(writes.lines(), own) + only_about(given, own)
    t.require(not others, f"{len(others)} lines are not about the Service, first: {others[:1]}")
    left = chains.of_endpoint(service, E2)
    t.require(f":{left} - [0:0]" in given and f"-X {left}" in given, f"{left} was not emptied and removed")
    changed = [line for line in set(before) ^ set(t.saved()) if not any(name in line for name in own)]
    t.require(not changed, f"foreign rules changed: {changed[:2]}")
    if t.has_status:
        now = of_this_family(t)
        t.require(now["full_syncs"] == status["full_syncs"], "it took a full sync")
        t.require(now["delta_syncs"] == status["delta_syncs"] + 1, f"{now['delta_syncs'] - status['delta_syncs']} syncs")
        t.require(0 < now["last_apply"]["kernel_writes"] < 20, f"{now['last_apply']['kernel_writes']} kernel writes")
    t.expect(EXT, [service.vip(), service.node()], masqueraded(E1))
    t.expect(EXT, bystander.vip(), masqueraded(E1, E2))


@case(96, "a deleted Service: only its chains are flushed and deleted, and only its rules in shared chains",
      protocols=["tcp"], backends=IPTABLES, exclusive=True, legacy=True)
def service_deleted(t):
    bystander = t.service(BOTH, type="LoadBalancer", external=True)
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    own = chains.all_of(service, [E1, E2])
    title = f"{service.namespace}/{service.name}:"
    there = {chain for chain in own if any(line.startswith(f":{chain} ") for line in t.saved("nat"))}
    with WriteWatch(t.topology), restore_inputs(t) as given:  # the watch begins when nothing is written any more
        before, status = t.saved(), of_this_family(t)
        service.delete_service()
        t.wait_until(lambda: not any(chain in line for line in t.saved() for chain in own), "no rule names its chains")
    for chain in there:
        t.require(f":{chain} - [0:0]" in given and f"-X {chain}" in given, f"{chain} was not emptied and removed")
    others = [line for line in only_about(given, there)
              if not line.startswith("-D ") or title not in line or line.split()[1] not in SHARED]
    t.require(not others, f"{len(others)} lines are not about the Service, first: {others[:1]}")
    changed = [line for line in set(before) ^ set(t.saved()) if title not in line and not any(name in line for name in own)]
    t.require(not changed, f"foreign rules changed: {changed[:2]}")
    if t.has_status:
        t.require(of_this_family(t)["full_syncs"] == status["full_syncs"], "it took a full sync")
    t.expect(EXT, bystander.vip(), masqueraded(E1, E2))


@own_daemon(98, "a failed write is counted, and followed by a full sync soon after", sources=["manifests"],
            backends=IPTABLES, legacy=True)
def restore_fails(t):
    service, gone = t.service([ready(E1)]), t.service([ready(E1)])
    t.settle()
    tools = t.topology.tools
    before = of_this_family(t)
    refused = tools.turned_away()
    with tools.wrapped():
        tools.refuse(".", "nothing")
        t.defer(tools.accept_all)
        service.set_endpoints([ready(E2)])
        gone.delete_service()
        t.wait_until(lambda: tools.turned_away() > refused, "a write was refused")
        if t.has_status:
            t.wait_until(lambda: of_this_family(t)["failures"] > before["failures"], "counted as a failure")
            t.require(not of_this_family(t)["synced"], "the status shows no failure")
        t.expect(POD, service.cluster(), kept(E1))
        tools.accept_all()
        t.expect_soon(POD, service.cluster(), kept(E2), seconds=10)
        t.wait_until(lambda: not any(chain in line for line in t.saved() for chain in chains.all_of(gone, [E1])),
                     "the rules of what was deleted are gone")
    if t.has_status:
        t.wait_until(lambda: of_this_family(t)["synced"], "synced again")
        now = of_this_family(t)
        t.require(now["full_syncs"] > before["full_syncs"], "it was repaired without a full sync")


@own_daemon(99, "above 1,000 endpoints the rules of endpoints have no comments, the others keep them; no restart writes",
            sources=["manifests"], backends=IPTABLES, legacy=True)
def large_cluster(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    filler = t.service([bulk.nowhere(number) for number in range(LARGE - 2 - 1)])  # one more belongs to the barrier
    t.settle()
    found = comments(t, service, E2)
    t.require(found == {"dispatch": True, "external": True, "balancing": True, "endpoint": True},
              f"with {LARGE} endpoints: {found}")
    restart_writes_nothing(t, f"with {LARGE} endpoints")
    filler.set_endpoints([bulk.nowhere(LARGE)], "slice2")
    t.settle()
    service.set_endpoints([ready(E1), ready(E2), ready(E3)])
    t.settle()
    found = comments(t, service, E3)  # rules that stay need not be written again for that
    t.require(found == {"dispatch": True, "external": True, "balancing": False, "endpoint": False},
              f"with more than {LARGE} endpoints: {found}")
    t.expect(POD, service.cluster(), kept(E1, E2, E3))
    t.expect(EXT, service.vip(), masqueraded(E1, E2, E3))
    restart_writes_nothing(t, f"with more than {LARGE} endpoints")
    t.expect(POD, service.cluster(), kept(E1, E2, E3))


def comments(t, service, host):
    """Which kinds of rules of the Service have a comment: all of that kind, or none (else the number of those)."""
    lines = t.saved("nat")
    kinds = {
        "dispatch": [line for chain in SHARED for line in chains.rules(lines, chain)
                     if chains.of("SVC", service) in line or chains.of("EXT", service) in line],
        "external": [line for line in chains.rules(lines, chains.of("EXT", service)) if "KUBE-MARK-MASQ" in line],
        "balancing": [line for line in chains.rules(lines, chains.of("SVC", service)) if "KUBE-SEP-" in line],
        "endpoint": chains.rules(lines, chains.of_endpoint(service, host)),
    }
    counts = {kind: (sum("--comment" in line for line in found), len(found)) for kind, found in kinds.items()}
    return {kind: commented == every if every and commented in (0, every) else f"{commented} of {every}"
            for kind, (commented, every) in counts.items()}


def restart_writes_nothing(t, occasion):
    t.bench.daemon.stop()
    with WriteWatch(t.topology) as writes:
        t.bench.start_daemon()
        writes.expect_none(t, f"a restart {occasion}")


def flushed(t, flush):
    """After the flush everything works again within the sync period, without any other event."""
    served = t.service(BOTH, type="LoadBalancer", external=True)
    empty = t.service()
    t.settle()
    t.expect(EXT, served.vip(), masqueraded(E1, E2))
    t.expect(POD, empty.cluster(), REJECTED)
    flush()
    t.expect_soon(EXT, served.vip(), masqueraded(E1, E2), seconds=10)
    t.expect_soon(POD, empty.cluster(), REJECTED, seconds=10)
    # In ipvs mode packets are forwarded even without some of the rules.
    t.wait_until(lambda: any(line.startswith("-A FORWARD ") for line in t.saved()), "the jumps from the built-in chains are there",
                 seconds=10)
    before = set(t.saved())
    t.settle()


@own_daemon(100, "everything flushed, chains and all, is repaired", sources=["manifests"], backends=["iptables", "ipvs"],
            legacy=True)
def everything_flushed(t):
    flushed(t, lambda: [t.topology.tools.empty(t.topology, t.family, table) for table in ("filter", "nat", "mangle")])


@own_daemon(100, "the flushed table filter alone is repaired", sources=["manifests"], backends=["iptables", "ipvs"],
            legacy=True)
def filter_flushed(t):
    flushed(t, lambda: t.topology.run("node", t.topology.tools.program(t.family), "-w", "-t", "filter", "-F"))


@own_daemon(101, "INVALID packets are dropped, unless conntrack was liberal at the start; later changes have no effect",
            sources=["manifests"], backends=["iptables", "nftables"], legacy=True)
def liberal_conntrack(t):
    def check(dropped, occasion):
        dropped = t.differs(INVALID_PASSES, dropped, False)
        service = t.service([ready(E1)])
        t.settle()
        t.expect(POD, service.cluster(), kept(E1))
        rule = any("INVALID" in line for line in chains.rules(t.saved("filter"), "KUBE-FORWARD"))
        t.require(rule == dropped, f"{occasion}: the rule is {'there' if rule else 'missing'}")
        t.require(stray.arrives(t.topology, EXT, E1) != dropped,
                  f"{occasion}: an invalid packet {'got through' if dropped else 'was dropped'}")

    def set_liberal(value):
        t.topology.run("node", "sysctl", "-qw", f"{LIBERAL}={value}")

    t.defer(lambda: set_liberal(0))
    check(True, "by default")
    set_liberal(1)
    check(True, "made liberal after the start")
    t.bench.daemon.stop()
    t.bench.start_daemon()
    check(False, "liberal at the start")
    set_liberal(0)
    check(False, "made strict after the start")


@own_daemon(102, "with iptables before 1.6.2 --random-fully is not used", sources=["manifests"],
            backends=["iptables", "ipvs"], legacy=True)
def old_iptables(t):
    def masquerades():
        # The rule of ipvs mode for hairpins has a set, and never picks a port at random.
        return [line for line in chains.rules(t.saved("nat"), "KUBE-POSTROUTING")
                if "-j MASQUERADE" in line and "--match-set" not in line]

    t.require(len(masquerades()) == 1 and "--random-fully" in masquerades()[0], f"this version: {masquerades()}")
    t.bench.daemon.stop()
    tools = t.topology.tools
    tools.claim_version("iptables v1.6.1" + (" (nf_tables)" if tools.variant == "nft" else "") + "\n")
    t.defer(lambda: tools.claim_version(""))
    with tools.wrapped():
        t.bench.start_daemon()
        service = t.service([ready(E1)], type="NodePort", node_port=True)
        t.settle()
        t.require(len(masquerades()) == 1 and "--random-fully" not in masquerades()[0], f"version 1.6.1: {masquerades()}")
        t.expect(EXT, service.node(), masqueraded(E1))
        t.bench.daemon.stop()
    t.bench.start_daemon()


@own_daemon(104, "leftover chains of another proxy are removed, foreign chains stay", sources=["manifests"], backends=IPTABLES,
            legacy=True)
def stale_chains(t):
    service = t.service(BOTH)
    t.settle()
    t.bench.daemon.stop()
    made = [*(f":{chain} - [0:0]" for chain in STALE + NOT_OURS),
            f"-A {STALE[0]} -j {STALE[4]}", f"-A {STALE[4]} -s 10.9.9.9 -j RETURN",
            *(f"-A {chain} -s 10.9.9.9 -j RETURN" for chain in NOT_OURS)]
    t.topology.run("node", t.topology.tools.program(t.family, "-restore"), "--noflush",
                   stdin="\n".join(["*nat", *made, "COMMIT"]) + "\n")
    t.defer(lambda: t.topology.run(
        "node", t.topology.tools.program(t.family, "-restore"), "--noflush",
        stdin="\n".join(["*nat", *(f":{chain} - [0:0]" for chain in NOT_OURS), *(f"-X {chain}" for chain in NOT_OURS),
                         "COMMIT"]) + "\n"))
    t.bench.start_daemon()
    t.wait_until(lambda: not any(chain in line for line in t.saved("nat") for chain in STALE), "stale chains are gone")
    kept_lines = [line for line in t.saved("nat") if any(chain in line for chain in NOT_OURS)]
    t.require(len(kept_lines) == 2 * len(NOT_OURS), f"foreign chains left: {kept_lines}")
    t.expect(POD, service.cluster(), kept(E1, E2))
