# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""nftables mode when other processes change its table, and when the daemon is killed and restarted: the table is repaired, and
foreign objects stay as they were."""

import time

from lib import foreign, ipvs, nftables, pace
from lib.addresses import E1, E2, E3, FAMILIES, V4
from lib.bench import BOTH_CIDRS
from lib.cases import POD, case, kept, own_daemon
from lib.objects import ready
from cases_nftables import ONLY, expect_right, services_of_every_kind, wait_quiet

BOTH = [ready(E1), ready(E2)]
REPAIRED_WITHIN = 6  # seconds, with default settings: a notification reports it, and there is a pause of a second
VERIFIED_WITHIN = 5


def count_repairs(t):
    return sum(family["repairs"] for family in t.status()["families"])


def count_fulls(t):
    return sum(family["full_syncs"] for family in t.status()["families"])


def without_barrier(lines):
    """The barrier's Service has another port, and may have another endpoint, after each use."""
    return [line for line in lines if "172.30.255.1 " not in line and "172.30.255.1(" not in line and "::ffff " not in line]


def meaning(t, family=None):
    return without_barrier(nftables.meaning(t, family))


def repaired(t, *drifts):
    """After each of these drifts the table has its old meaning within seconds, with the default periods."""
    t.bench.daemon.stop()
    t.bench.flags = BOTH_CIDRS
    t.bench.start_daemon()
    kinds = services_of_every_kind(t)
    hammer = t.hammer(POD, kinds[0].cluster())
    foreign.add(t.topology)
    t.defer(lambda: _remove_foreign(t))
    before, theirs = nftables.meaning(t), foreign.dump(t.topology)
    for drift in drifts:
        text = drift(kinds) if callable(drift) else drift
        # The backend pauses twenty times as long as its last comparison took.
        rest = 20 * max(family["last_apply"]["seconds"] for family in t.status()["families"])
        repairs, fulls, began = count_repairs(t), count_fulls(t), time.monotonic()
        done = nftables.nft(t, text, check=False)
        t.require(done.returncode == 0, f"cannot execute '{text}': {done.stderr[:200]}")
        if "flush ruleset" in text:
            foreign.add(t.topology)
            theirs = foreign.dump(t.topology)
        state = {"limit": 0.0}

        def right(state=state, repairs=repairs, fulls=fulls):
            state["limit"] = max(state["limit"], pace.stretched(REPAIRED_WITHIN))
            # In this order: the table may be right before the drift is there, but then no repair is counted.
            counted = count_repairs(t) > repairs and count_fulls(t) > fulls
            state["difference"] = ipvs.difference(before, nftables.meaning(t))
            return counted and not state["difference"]

        t.wait_until(right, f"everything is as before '{text}'", seconds=REPAIRED_WITHIN + VERIFIED_WITHIN + rest)
        took = time.monotonic() - began
        t.require(not state["difference"], f"'{text}': {state['difference']}")
        t.remark(f"{text}: {took:.1f} s")
        # A notification leads to the repair: the next sync without one is much later. The timeout is that of the busiest time.
        rest = max(rest, 20 * max(family["last_apply"]["seconds"] for family in t.status()["families"]))
        t.require(took < state["limit"] + rest, f"'{text}' took {took:.1f} s to repair")
        t.require(not nftables.slot_problems(nftables.read(t)), f"'{text}': {nftables.slot_problems(nftables.read(t))[:2]}")
        changed = foreign.difference(theirs, foreign.dump(t.topology))
        t.require(not changed, f"foreign rules changed after '{text}': {changed}")
    hammer.stop()
    expect_right(t, kinds)
    later = t.service([ready(E2)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E2))


def _remove_foreign(t):
    if foreign.FOREIGN_TABLE in t.topology.run("node", "nft", "list", "tables").stdout:
        foreign.remove(t.topology)


def ours(t):
    return f"{nftables.IPX[t.family]} kube-proxy"


def front(kinds, at=0):
    return nftables.frontend(kinds[at].cluster())


@own_daemon(100, "the table deleted, everything flushed, the table's rules flushed: repaired within seconds", families=FAMILIES, slow=True,
            **ONLY)
def drifted_table(t):
    repaired(t, f"delete table {ours(t)}", "flush ruleset", f"flush table {ours(t)}")


@own_daemon(100, "a chain flushed, a rule added, a rule replaced, a jump deleted, a shared chain flushed: repaired within "
            "seconds", families=[V4], slow=True, **ONLY)
def drifted_rules(t):
    def handle(chain, at=0):
        return nftables.read(t).handles[chain][at]

    repaired(t, f"flush chain {ours(t)} services", f"insert rule {ours(t)} services counter drop",
             lambda kinds: f"replace rule {ours(t)} masquerading handle {handle('masquerading')} accept",
             lambda kinds: f"delete rule {ours(t)} nat-prerouting handle {handle('nat-prerouting')}",
             f"flush chain {ours(t)} endpoints-2",
             lambda kinds: f"flush chain {ours(t)} nat-postrouting; delete chain {ours(t)} nat-postrouting")


@own_daemon(100, "elements deleted, added, replaced by others, sets flushed, also those of affinity and of service classes: "
            "repaired within seconds", families=[V4], slow=True, **ONLY)
def drifted_elements(t):
    def number(kinds, name, at):
        return nftables.read(t).elements(name)[front(kinds, at)]

    def classed(word):
        return f"{word >> 16:x}:{word & 0xffff:x}"

    def exchange(kinds):
        here = front(kinds)
        return (f"delete element {ours(t)} endpoints {{ {here} . 0:1 }}; "
                f"add element {ours(t)} endpoints {{ {here} . 0:1 : 10.99.9.9 . 80 }}")

    def other_class(kinds):
        right, wrong = (classed(number(kinds, "service-treatments", at)) for at in (0, 3))
        t.require(right != wrong, f"both have class {right}")
        return (f"delete element {ours(t)} service-treatments {{ {front(kinds)} }}; "
                f"add element {ours(t)} service-treatments {{ {front(kinds)} : {wrong} }}")

    repaired(t, lambda kinds: f"delete element {ours(t)} service-treatments {{ {front(kinds)} }}",
             lambda kinds: f"delete element {ours(t)} endpoints {{ {front(kinds)} . 0:1 }}", exchange, other_class,
             lambda kinds: f"add element {ours(t)} rejected-services {{ {front(kinds)} }}",
             f"add element {ours(t)} cluster-ips {{ 172.30.99.99 }}", f"add element {ours(t)} cluster-ips {{ * }}",
             f"add element {ours(t)} service-treatments {{ * : 0:1 }}", f"add element {ours(t)} service-chains {{ * : drop }}",
             f"flush set {ours(t)} hairpin-connections",
             f"flush map {ours(t)} endpoints", f"flush map {ours(t)} affinity-services", f"flush map {ours(t)} affinity-slots",
             f"flush map {ours(t)} affinity-endpoints", f"flush map {ours(t)} firewalled-services", f"flush map {ours(t)} service-chains")


@case(None, "other processes change their own tables all the time: nothing is written or repaired, at almost no CPU",
      exclusive=True, families=[V4], **ONLY)
def others_change_theirs(t):
    t.service(BOTH)
    t.settle()
    wait_quiet(t)
    before, repairs, used = nftables.kernel_writes(t), count_repairs(t), processor_seconds(t)
    began = time.monotonic()
    t.defer(lambda: t.topology.run("node", "nft", "delete", "table", "ip", "foreign_busy", check=False))
    for number in range(100):
        nftables.nft(t, "add table ip foreign_busy; add set ip foreign_busy s { type inet_service; }; "
                        f"add element ip foreign_busy s {{ {1000 + number} }}")
    time.sleep(1)  # fixed time: nothing is written meanwhile
    t.require(nftables.kernel_writes(t) == before, f"{nftables.kernel_writes(t) - before:.0f} writes")
    t.require(count_repairs(t) == repairs, "something was repaired")
    took = processor_seconds(t) - used
    t.require(took < 0.5 * (time.monotonic() - began), f"{took:.1f} s of a processor")


def processor_seconds(t):
    with open(f"/proc/{t.bench.daemon.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


# Killed and started.


@own_daemon(None, "repeatedly killed during changes and started: the table has the meaning of a start on an empty node, no "
            "connect to unchanged Services fails, and a start without change writes nothing", families=[V4], slow=True, **ONLY)
def killed_during_churn(t):
    steady = t.service(BOTH)
    sticky = t.service(BOTH, spec={"sessionAffinity": "ClientIP"})
    services = [t.service([ready(E1)], type="LoadBalancer", external=True) for _ in range(6)]
    t.settle()
    hammers = [t.hammer(POD, steady.cluster()), t.hammer(POD, sticky.cluster())]
    for turn in range(5):
        changing(t, services, turn)
        time.sleep(0.02 + 0.15 * turn)  # fixed time: each kill comes at another instant of a sync
        t.bench.daemon.kill()
        changing(t, services, turn + 1)
        t.bench.start_daemon()
    t.settle()
    for hammer in hammers:
        t.require_unbroken(hammer, "while it was killed and started")
    wait_quiet(t)
    after = [meaning(t, family) for family in FAMILIES]
    t.bench.daemon.kill()
    t.bench.start_daemon()
    t.require(nftables.kernel_writes(t) == 0, f"a start without change wrote {nftables.kernel_writes(t):.0f}")
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
    t.bench.start_daemon()
    t.settle()
    wait_quiet(t)
    for there, family in zip(after, FAMILIES):
        here = meaning(t, family)
        t.require(there == here, f"{family}: after the kills, and on an empty node: {ipvs.difference(there, here)}")


def changing(t, services, turn):
    pods = (E1, E2, E3)
    for at, one in enumerate(services):
        one.set_endpoints([ready(pod) for pod in pods[:(turn + at) % 4]])
    services[turn % len(services)].update(external=turn % 2 == 0, type="LoadBalancer" if turn % 2 == 0 else "ClusterIP")
    extra = t.service([ready(pods[turn % 3])], external_ip=True, external_policy="Local" if turn % 2 else None)
    if turn % 2:
        extra.delete()
