# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One backend is swapped for another, or for another build of itself, under continuous traffic: between all
modes nothing fails, nothing is cut or lost, and afterwards no state of the old backend is left."""

import itertools
import os
import random
import time

from lib import addresses as a
from lib import artifacts, churn, pace, port_reuse, swapping, traffic
from lib.addresses import FAMILIES, V4
from lib.cases import POD, own_daemon

LONG = os.environ.get("SLUICE_LONG", "0") != "0"
HELD = 300 if LONG else 3  # seconds that connections live on after a swap
# For that long connections live on, and UDP clients that never pause keep their flows. The time begins when the new backend
# serves; an emulated machine takes seconds until `sluicectl reload` ends. On a busy machine it is longer (swapping.drain).
DRAIN = round(HELD + 3 * pace.SLOWNESS)
BEFORE_ITS_END = 0.5  # seconds: connections are checked this long before the drain can end
NATIVE = ("iptables", "nftables", "userspace")
MANY = int(os.environ.get("SLUICE_TEST_SWAPS") or (1000 if LONG else 20))
RATE_MS = 5
# Source ports outside of the kernel's ephemeral range.
AGAIN, ELDERS = range(20000, 20024), range(21000, 21004)
OTHER = "acme.nft"  # as long as nftables
ATTEMPTS = 5
AT_ONCE, PLANNED = 256, 1024  # connections that swaptraffic has open at once for a flow; those it plans during a pause

ONLY = {"sources": ["manifests"], "backends": ["iptables", "ipvs"], "protocols": ("tcp",)}


def modes(t):
    """The installed modes, except ipvs."""
    return [name for name in t.bench.programs.backends(t.topology.directory) if name in NATIVE]


def edges(t):
    """Every ordered pair of modes, and each mode with another build of itself; with IPVS, its pairs too."""
    if t.ipvs:
        return [("ipvs", "ipvs")] + [pair for other in modes(t) for pair in (("ipvs", other), (other, "ipvs"))]
    return list(itertools.product(modes(t), repeat=2))


def wait_answered(t, running, times):
    """Returns once every flow and every twin has that many more answers."""
    before = running.progress()
    t.wait_until(lambda: all(one["ok"] >= times for one in traffic.since(before, running.progress()).values()),
                 f"each flow is answered {times} times", seconds=15)


def exchange(t, daemon, everywhere, local, steady, one, other, forgotten=0):
    """One swap of the walk."""
    occasion = f"{one} → {other}"
    before = steady.progress()
    drain = swapping.drain(DRAIN, steady.flows, before)
    connections = traffic.Traffic(t, swapping.held(everywhere, local)).wait_flowing()
    begun = time.monotonic()
    daemon.swap(other, drain=drain)
    served = time.monotonic()
    # The drain begins after `begun`. On a busy machine less of it may be left than HELD.
    left = begun + drain - BEFORE_ITS_END - served
    time.sleep(max(0.0, min(HELD, left)))  # fixed time: connections have to live on for so long
    if left > 0:
        traffic.require_unharmed(t, connections.flows, connections.stop(), occasion)
    else:
        connections.stop()
        t.remark(f"{occasion}: the swap took longer than the drain of {drain} s: held connections may end")
    daemon.wait_retired(occasion, drain + 25)  # tracked flows delay it by 10 s
    retired = time.monotonic()
    daemon.require_tidy(occasion)
    counts = traffic.since(before, steady.progress())
    traffic.require_unharmed(t, steady.flows, counts, occasion, ended=False, forgotten=forgotten)
    t.remark(f"{occasion}: swapped in {served - begun:.2f} s (at {begun:.2f}, retired at {retired:.2f}); "
             f"{traffic.summary(steady.flows, counts)}")


@own_daemon(None, "from every mode to every mode, and to another build of the same: new and held connections, UDP from a fixed "
            f"port, node ports: nothing fails, {HELD} s later nothing has been cut, and nothing of the old backend is left",
            families=FAMILIES, slow=True, **ONLY)
def every_pair(t):
    way = swapping.walk(edges(t))
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, way[0][0], DRAIN)
    t.settle()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local, RATE_MS)).wait_flowing()
    forgotten = 0
    for one, other in way:
        forgotten += one == "ipvs" != other
        exchange(t, daemon, everywhere, local, steady, one, other, forgotten)
    traffic.require_unharmed(t, steady.flows, steady.stop(), "altogether", forgotten=forgotten)


@own_daemon(None, "to a third-party backend and back, also with an overlap of owned objects: the same", families=FAMILIES,
            sources=["manifests"], backends=["iptables"], slow=True)
def third_party(t):
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, "iptables", DRAIN)
    daemon.add_third_party(OTHER, "nftables")
    t.settle()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local, RATE_MS)).wait_flowing()
    for one, other in swapping.walk([pair for mode in modes(t) for pair in ((mode, OTHER), (OTHER, mode))]):
        exchange(t, daemon, everywhere, local, steady, one, other)
    traffic.require_unharmed(t, steady.flows, steady.stop(), "altogether")


@own_daemon(None, f"{MANY} swaps in a row between modes chosen at random, while Services come and go: nothing fails, nothing is left",
            sources=["manifests"], backends=["iptables"], slow=True)
def many(t):
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, modes(t)[0])
    t.settle()
    unrest = churn.Churn(t.bench)
    unrest.start()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local, RATE_MS)).wait_flowing()
    order = random.Random(MANY)
    history, held, longest = [], None, 0
    for number in range(MANY):
        one = daemon.mode
        drain = swapping.drain(5, steady.flows, steady.progress())
        longest = max(longest, drain)
        daemon.swap(order.choice([mode for mode in modes(t) if mode != one]), drain=drain)
        history.append((time.monotonic(), f"{one} → {daemon.mode}"))
        if number == 9:  # by now every library has been loaded, and every part of the daemon used
            daemon.wait_retired("after ten", longest + 10)
            held = artifacts.process_resources(daemon.daemon.pid)
    counts = steady.stop()
    changes = unrest.stop()
    traffic.require_unharmed(t, steady.flows, counts, f"{MANY} swaps")
    when = min((one["t"] for count in counts.values() for one in count["first_failures"]), default=None)
    t.require(when is None, f"around the first failure: {[(f'{at - when:+.2f} s', what) for at, what in history if abs(at - when) < 3]}"
              if when else "")
    t.require(changes["failed"] == 0 and changes["ok"] > 0, f"during {changes['changes']} changes: {changes}")
    daemon.wait_retired("at the end", longest + 10)
    daemon.require_tidy("at the end")
    now = artifacts.process_resources(daemon.daemon.pid)
    # A backend of another mode has other libraries and descriptors than the one at the first measurement.
    for what, more in (("KiB", 4096 + 16 * MANY), ("descriptors", 60), ("shared objects", 12)):
        t.require(now[what] <= held[what] + more, f"{what}: {held[what]} after ten swaps, {now[what]} after {MANY}")
    t.remark(f"{traffic.summary(steady.flows, counts)}; {changes['changes']} changes; {held} after ten swaps, {now} at the end")


@own_daemon(None, "from ipvs mode: a client that reuses its ports loses no connection when IPVS removes the earlier ones",
            families=FAMILIES, slow=True, sources=["manifests"], backends=["ipvs"])
def same_ports(t):
    everywhere, _ = swapping.services(t)
    daemon = swapping.Swappable(t, "ipvs", drain=round(60 * pace.SLOWNESS))
    t.settle()
    ways = [(POD, everywhere.cluster()), (a.NODE2, everywhere.node())]  # the second way is masqueraded
    for mode in [mode for mode in modes(t) if LONG or mode == "nftables"]:
        elders, clients = ([port_reuse.Client(t, *way) for way in ways] for _ in range(2))
        for elder, client in zip(elders, clients):
            elder.keep(ELDERS)
            client.keep(AGAIN)
            client.end()
        time.sleep(port_reuse.TW_REUSE_AFTER)  # fixed time: the clock of TCP timestamps advances
        daemon.swap(mode)
        for client in clients:
            t.require(not (wrong := client.keep(AGAIN)), f"{mode}: from ports used before: {wrong}")
        t.require(daemon.retiring(), f"{mode}: ipvs mode has nothing left: nothing is tested")
        if LONG:
            time.sleep(125)  # fixed time: the kernel removes ended connections one by one after 120 s
            for client in clients:
                t.require(not (wrong := client.faults()), f"{mode}: one by one: {wrong}")
        for elder in elders:
            t.require(not (wrong := elder.faults()), f"{mode}: through IPVS: {wrong}")
            elder.end()
        daemon.wait_retired(mode, 60)
        t.require("restored conntrack entries that IPVS removed" in daemon.daemon.log(), f"{mode}: no entry was removed: nothing is tested")
        for client in clients:
            t.require(not (wrong := client.faults()), f"{mode}: with their virtual server: {len(wrong)} of {len(AGAIN)}: {wrong}")
            client.end()
        daemon.swap("ipvs")


@own_daemon(None, "back to userspace mode while an earlier backend drains: the new one serves everything at once, node ports too",
            families=FAMILIES, sources=["manifests"], backends=["iptables"])
def back_while_draining(t):
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, "userspace", drain=60)
    t.settle()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local)).wait_flowing()
    for mode in ("iptables", "nftables", "userspace", "nftables", "userspace"):
        daemon.swap(mode)
        t.require(mode != "nftables" or daemon.retiring(), "userspace mode does not drain: nothing is tested")
        wait_answered(t, steady, 10)
    counts = steady.stop()
    traffic.require_unharmed(t, steady.flows, counts, "back while draining")
    t.remark(traffic.summary(steady.flows, counts))


@own_daemon(None, "a Service without endpoints is rejected, and nothing else, through swaps to and from userspace mode",
            families=FAMILIES, protocols=("tcp", "udp"), sources=["manifests"], backends=["iptables"])
def without_endpoints(t):
    service = t.service(type="LoadBalancer", external=True)
    daemon = swapping.Swappable(t, "userspace")
    t.settle()
    hammers = [t.hammer(sender, front) for sender, front in
               ((POD, service.cluster()), (a.EXT, service.vip()), (a.EXT, service.node()), (POD, service.external()))]
    for mode in ("iptables", "userspace", "nftables", "userspace", "userspace"):
        daemon.swap(mode)
        for hammer in hammers:
            hammer.wait_attempts(5)
    for hammer in hammers:
        counts = hammer.stop()
        t.require(counts["ok"] == 0 and counts["failed"] == counts["outcomes"]["refused"], f"besides refused: {counts['outcomes']}")


@own_daemon(None, "the traffic of these tests detects packets that are dropped, rejected, answered late or answered by another "
            "server for 300 ms, and reports nothing if nothing is wrong", families=FAMILIES, sources=["manifests"], backends=["iptables"])
def notices(t):
    everywhere, local = swapping.services(t)
    t.settle()
    flows = swapping.steady(everywhere, local, RATE_MS) + swapping.held(everywhere, local)
    by_name = {flow.name: flow for flow in flows}

    def disturbed(action=None):
        """Faults found in each flow while that is done for 300 ms to packets for both Services."""
        running = traffic.Traffic(t, flows).wait_flowing()
        if action:
            with swapping.interference(t, action, (everywhere, local)):
                time.sleep(0.3)  # fixed time: how long packets are disturbed
        wait_answered(t, running, 10)
        counts = running.stop()
        # On a busy machine more answers may be late by chance; the disturbance must be detected all the same.
        busy = 1.0 if action else t.busiest.load
        return {name: traffic.faults(flow, counts, True, busy=busy) for name, flow in by_name.items()}, counts

    said, counts = disturbed()
    t.require(not any(said.values()), f"undisturbed: {said}")
    # When IPVS is left, one lost datagram per client is allowed, and none of a twin.
    flow = by_name["UDP to the cluster IP"]
    for name, lost, forgotten, good in ((flow.name, 1, 0, False), (flow.name, flow.count, 1, True), (flow.name, flow.count + 1, 1, False),
                                        (flow.twins[0], 1, 1, False)):
        less = {**counts, name: {**counts[name], "lost": lost, "ok": counts[name]["sent"] - lost}}
        found = traffic.faults(flow, less, True, forgotten)
        t.require(good == (not found), f"{lost} lost of {name}, IPVS having gone {forgotten} times: {found}")
    # A client on the node knows that a packet did not leave the node, and does not count it as sent again.
    for action, counters in (("drop", {"tcp-new": "repeated", "tcp-held": "late", "udp-fixed": "lost"}),
                             ("reject with tcp reset", {"tcp-new": "ECONNREFUSED", "tcp-held": "reset"}),
                             ("reject", {"udp-fixed": "ECONNREFUSED"})):
        unnoticed = {name: counters[flow.kind] for name, flow in by_name.items() if flow.kind in counters}
        for _ in range(ATTEMPTS):
            said, counts = disturbed(action)
            straight = [sentence for sentences in said.values() for sentence in sentences if "directly to" in sentence]
            t.require(not straight, f"{action}: the twins suffered: {straight}")
            for name, counter in list(unnoticed.items()):
                count = counts[name]["failed"].get(counter, 0) if counter.isupper() else counts[name][counter]
                if count > 0 and any(sentence.startswith(f"{name}: ") for sentence in said[name]):
                    del unnoticed[name]
            if not unnoticed:  # on a busy machine the twins are late, too, which hides other late answers
                break
        for name, counter in unnoticed.items():
            t.require(False, f"{action}: {name}: it is not detected ({counter}): {said[name]}, {counts[name]}")
    # Without rules all requests are answered, by other servers.
    running = traffic.Traffic(t, flows).wait_flowing()
    t.bench.daemon.stop()
    t.bench.cleanup()

    def without_other_server(counts):
        return [flow.name for flow in flows if flow.kind == "tcp-new" and "node port" not in flow.name and
                not any("answered by outside" in sentence for sentence in traffic.faults(flow, counts, False))]

    t.wait_until(lambda: not without_other_server(running.progress()), "without rules another server answers")
    counts = running.stop()
    for name in without_other_server(counts):
        t.require(False, f"no rules: {name}: no other server answered: {counts[name]}")
    t.bench.start_daemon()


@own_daemon(None, "the traffic of these tests detects that an endpoint sees the node instead of the client", families=FAMILIES,
            sources=["manifests"], backends=["iptables"])
def notices_addresses(t):
    everywhere, local = swapping.services(t)
    t.settle()
    flows = [flow for flow in swapping.steady(everywhere, local, RATE_MS) if flow.kept]
    by_pod = {flow.name for flow in flows if flow.sender is POD and flow.kind == "tcp-new"}
    running = traffic.Traffic(t, flows).wait_flowing()
    family = "ip" if t.family == V4 else "ip6"
    # Before the proxy's own rules; not for twins, which have another port.
    rule = f"{family} saddr {POD.ip(t.family)} tcp dport {traffic.PORT} masquerade"
    table = f"table {family} hides {{\nchain post {{\ntype nat hook postrouting priority 90\n{rule}\n}}\n}}\n"
    t.topology.run("node", "nft", "-f", "-", stdin=table)
    t.defer(lambda: t.topology.run("node", "nft", "delete", "table", family, "hides", check=False))
    t.wait_until(lambda: all(running.progress()[name]["failed"] for name in by_pod), "connections of the pod fail")
    counts = running.stop()
    for flow in flows:
        found = traffic.faults(flow, counts, True, busy=t.busiest.load)
        wrong = any("the server saw the client as" in sentence for sentence in found)
        t.require(wrong == (flow.name in by_pod), f"{flow.name}: {found}")


@own_daemon(None, "the traffic of these tests opens at most 256 connections at once after a pause, and catches up",
            families=(V4,), sources=["manifests"], backends=["iptables"])
def catches_up(t):
    everywhere, local = swapping.services(t)
    t.settle()
    flows = swapping.steady(everywhere, local, RATE_MS)[:1]
    running = traffic.Traffic(t, flows).wait_flowing()
    running.limit_descriptors(3 * AT_ONCE + 60)  # of the flow and its two twins
    before = running.progress()[flows[0].name]["sent"]
    with running.paused():
        time.sleep(PLANNED * RATE_MS / 1000)  # fixed time: the length of the pause
    t.wait_until(lambda: running.progress()[flows[0].name]["sent"] > before + PLANNED, "the connections planned during the pause are made")
    for name, count in running.stop().items():
        t.require(not count["failed"] and not count["reset"], f"{name}: connections failed after the pause: {count}")


@own_daemon(None, "unowned objects are found: a chain, a table, a set and a link beside those of the daemon",
            families=(V4,), sources=["manifests"], backends=["iptables"])
def finds_orphans(t):
    state_dir = t.bench.daemon.state_dir
    t.require(not artifacts.orphans(t.topology, state_dir), f"before: {artifacts.orphans(t.topology, state_dir)}")
    tool = t.topology.tools.program(V4)
    for made, undone, name in (
            ([tool, "-w", "-t", "nat", "-N", "KUBE-PORTALS-HOST"], [tool, "-w", "-t", "nat", "-X", "KUBE-PORTALS-HOST"],
             "iptables/nat/KUBE-PORTALS-HOST"),
            (["nft", "add", "table", "ip6", "kube-proxy"], ["nft", "delete", "table", "ip6", "kube-proxy"], "nft/ip6/kube-proxy"),
            (["ipset", "create", "KUBE-CLUSTER-IP", "hash:ip"], ["ipset", "destroy", "KUBE-CLUSTER-IP"], "ipset/KUBE-CLUSTER-IP"),
            (["ip", "link", "add", "kube-ipvs0", "type", "bridge"], ["ip", "link", "del", "kube-ipvs0"], "link/kube-ipvs0")):
        t.topology.run("node", *made)
        found = artifacts.orphans(t.topology, state_dir)
        t.topology.run("node", *undone)
        t.require(found == [name], f"{name} is not found: {found}")
