# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""nftables mode in the kernel: cases 77, 125 to 127, the writes for a change, and the start beside a kube-proxy."""

import re
import time

from lib import foreign, ipvs, kube_proxy_table, leftovers, metrics, nftables, pace, probe
from lib.addresses import E1, E2, E3, E4, EXT_OTHER, FAMILIES, POD_PORT, V4, V6
from lib.cases import DROPPED, EXT, NODE, POD, REJECTED, UNTOUCHED, case, kept, masqueraded, own_daemon
from lib.objects import ready
from lib.services import Front
from lib.writes import WriteWatch
from cases_affinity import remembering
from cases_sync import count_seen

BOTH = [ready(E1), ready(E2)]
ONLY = {"backends": ["nftables"], "protocols": ["tcp"], "sources": ["manifests"]}
CLIENTS = {V4: "203.0.113.0/25", V6: "2001:db8:113::/49"}
QUESTIONS = 10


def services_of_every_kind(t):
    """Services that use every set and every kind of chain."""
    served = t.service(BOTH, type="LoadBalancer", external=True, protocols=["tcp", "udp"])
    local = t.service(BOTH, type="LoadBalancer", external=True, external_policy="Local")
    ranged = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    sticky = t.service([ready(E1), ready(E2), ready(E4)], type="LoadBalancer", external=True, spec=remembering())
    sticky_local = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local", spec=remembering())
    inside = t.service([ready(E2)], internal_policy="Local")
    remote = t.service([ready(E2)], type="LoadBalancer", external=True, external_policy="Local")
    empty = t.service(type="NodePort", node_port=True)
    t.settle()
    return served, local, ranged, sticky, sticky_local, inside, remote, empty


def expect_right(t, kinds):
    served, local, ranged, sticky, sticky_local, inside, remote, empty = kinds
    t.expect(POD, [served.cluster(), served.cluster(protocol="udp")], kept(E1, E2))
    t.expect(EXT, [*served.externals(), ranged.vip()], masqueraded(E1, E2))
    t.expect(EXT, local.externals(), kept(E1))
    t.expect(NODE, local.vip(), masqueraded(E1, E2))
    t.expect(EXT_OTHER, [ranged.vip()], DROPPED)
    t.expect_one(EXT, [sticky.cluster(), *sticky.externals()], masqueraded(E1, E2, E4))
    t.expect(EXT, sticky_local.node(), kept(E1))
    t.expect(POD, inside.cluster(), DROPPED)
    t.expect(EXT, remote.externals(), DROPPED)
    t.expect(POD, remote.vip(), kept(E2))
    t.expect([POD, EXT], [empty.cluster(), empty.node()], REJECTED)
    t.expect([POD, NODE], Front(served.cluster().ip, 9, "tcp"), REJECTED)


def written(lines, *wanted):
    """Splits the lines of `nft monitor`: those about one of these sets, and those about none."""
    about, others = [], []
    for line in lines:
        found = re.match(r"(?:add|delete) element ip6? kube-proxy (\S+) ", line)
        if found and found.group(1) in wanted:
            about.append(line)
        elif not line.startswith("# new generation"):
            others.append(line)
    return about, others


def wait_lists(t, front, *hosts):
    """Waits until exactly these are the endpoints of that frontend in the kernel."""
    expected = sorted(f"{host.ip(t.family)} . {POD_PORT}" for host in hosts)
    t.wait_until(lambda: nftables.lists(nftables.read(t), nftables.frontend(front))[0] == expected,
                 f"{front.ip} has {', '.join(host.name for host in hosts)} in the kernel")


def wait_quiet(t):
    """Waits until unused chains are removed: nothing has been written for a while."""
    last = pace.wait_unchanged(lambda: nftables.lines(t), quiet=3, seconds=40, every=1)
    t.require(last is not None, "something is still written")


# What is written.


@own_daemon(125, "a restart with Services of every kind writes nothing: no element, no rule, no generation of the tables, and "
            "breaks no connection", families=FAMILIES, slow=True, **ONLY)
def second_sync_is_empty(t):
    kinds = services_of_every_kind(t)
    held, hammer = t.hold(EXT, kinds[3].vip()), t.hammer(POD, kinds[0].cluster())
    met = t.expect_one(EXT, kinds[3].vip(), masqueraded(E1, E2, E4))
    t.bench.daemon.stop()
    before = nftables.lines(t)
    with WriteWatch(t.topology) as writes:
        t.bench.start_daemon()
        writes.expect_none(t, "a restart")
    t.require(nftables.kernel_writes(t) == 0, f"{nftables.kernel_writes(t):.0f} writes are counted")
    t.require(nftables.lines(t) == before, f"another table: {ipvs.difference(before, nftables.lines(t))}")
    t.require(t.expect_one(EXT, kinds[3].vip(), masqueraded(E1, E2, E4)) == met, "the affinity entries differ")
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
    t.require_unbroken(hammer, "during the restart")
    expect_right(t, kinds)


@case((95, 97, 125), "an endpoint is replaced by another: one element of the list, and no chain, rule or frontend is written; another number "
      "of endpoints: the frontends get another class", exclusive=True, families=FAMILIES, **ONLY)
def endpoints_change(t):
    service = t.service([ready(E2), ready(E3)], type="LoadBalancer", external=True)
    # So that chains for two and for three endpoints exist.
    t.service([ready(E1), ready(E2), ready(E3)], type="LoadBalancer", external=True)
    bystander = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    front = service.cluster()
    wait_lists(t, front, E2, E3)
    with WriteWatch(t.topology) as writes:
        service.set_endpoints([ready(E2), ready(E4, node_name="node-2")])
        wait_lists(t, front, E2, E4)
        lists = "endpoints", "nodeport-endpoints"
        t.wait_until(lambda: len(written(writes.lines(), *lists)[0]) >= 8, "every change has been notified")
        time.sleep(0.3)  # fixed time: nothing else is written meanwhile
        about, others = written(writes.lines(), *lists)
    t.require(not others, f"besides elements of lists: {others[:3]}")
    # Cluster IP, external IP, balancer and node port; each is removed and added.
    t.require(len(about) == 2 * 4, f"{len(about)} elements, not 8: {about[:4]}")
    with WriteWatch(t.topology) as writes:
        service.set_endpoints([ready(E2), ready(E4, node_name="node-2"), ready(E3)])
        wait_lists(t, front, E2, E4, E3)
        lists = "endpoints", "nodeport-endpoints", "service-treatments", "nodeport-treatments"
        t.wait_until(lambda: len(written(writes.lines(), *lists)[0]) >= 12, "every change has been notified")
        time.sleep(0.3)  # fixed time: nothing else is written meanwhile
        about, others = written(writes.lines(), *lists)
    t.require(not others, f"besides elements of lists and classes: {others[:3]}")
    t.require(len(about) == 4 + 2 * 4, f"{len(about)} elements, not 12: {about[:4]}")
    t.expect(EXT, [service.vip(), service.node()], masqueraded(E2, E3, E4))
    t.expect(EXT, bystander.vip(), masqueraded(E1, E2))


@case(96, "a deleted Service: its elements are removed, and no others", exclusive=True, families=FAMILIES, **ONLY)
def service_deleted(t):
    for _ in range(2):
        bystander = t.service(BOTH, type="LoadBalancer", external=True, source_ranges=[CLIENTS[t.family]], spec=remembering())
    service = t.service(BOTH, type="LoadBalancer", external=True, source_ranges=[CLIENTS[t.family]], spec=remembering())
    t.settle()
    wait_quiet(t)
    before, syncs = nftables.lines(t), t.status()["families"]
    own = [service.cluster().ip, service.external().ip, service.vip().ip]
    number = f" . {service.node_port}"
    word = nftables.read(t).elements("affinity-services")[nftables.frontend(service.cluster())]
    theirs = {line for line in before if line.startswith(t.family) and (
        nftables.about([line], *own) or f"{number} " in line or f"{number} . " in line or
        re.search(rf"affinity-slots {word} |affinity-(local-)?endpoints ", line) and _is_of(line, word))}
    with WriteWatch(t.topology) as writes:
        service.delete_service()
        t.wait_until(lambda: not nftables.about(nftables.lines(t), *own), "nothing names its addresses")
        t.wait_until(lambda: len(_of_table(t, writes)) >= len(theirs), "every change has been notified")
        time.sleep(0.3)  # fixed time: nothing else is written meanwhile
        lines = _of_table(t, writes)
    t.require(not [line for line in lines if not line.startswith("delete element ")], f"something else is written: {lines[:4]}")
    t.require(len(lines) == len(theirs), f"{len(theirs)} elements were its own, {len(lines)} are deleted")
    # Chains that became unused earlier may have been removed meanwhile; that none is written is asserted above.
    before, after = ({line for line in some if line.startswith(t.family) and not is_of_a_shared_chain(line)}
                     for some in (before, nftables.lines(t)))
    gone, new = before - after, after - before
    t.require(gone == theirs, f"left: {sorted(theirs - gone)[:3]}, deleted foreign elements: {sorted(gone - theirs)[:3]}")
    t.require(not new, f"new: {sorted(new)[:3]}")
    now = t.status()["families"]
    t.require([one["full_syncs"] for one in now] == [one["full_syncs"] for one in syncs], "it took a full sync")
    t.expect_one(EXT, bystander.vip(), masqueraded(E1, E2))


def is_of_a_shared_chain(line):
    name = line.split()[1]
    return name == "service-chains" or nftables.is_shared(name)


def _of_table(t, writes):
    return [line for line in writes.lines() if f" {nftables.IPX[t.family]} kube-proxy " in line]


def _is_of(line, word):
    """Returns whether a line of affinity contains this id, or a token of it."""
    return any(int(number) & 0xffff0000 == word for number in re.findall(r"\d{5,}", line))


@case(126, "a Service loses its endpoints: it is rejected at once, in one transaction; unused chains are removed a "
      "second later or more, none that is used", exclusive=True, families=FAMILIES, **ONLY)
def endpoints_lost(t):
    pods = [E1, E2, E3, E4]
    service = t.service([ready(pod) for pod in pods] + more_endpoints(t, 3), type="NodePort", node_port=True)
    t.settle()
    front = service.cluster()
    chain = "endpoints-7"
    t.require(chain in nftables.read(t).chains, f"there is no {chain}: {sorted(nftables.read(t).chains)}")
    hammer = t.hammer(POD, front)
    began = time.monotonic()
    with WriteWatch(t.topology) as writes:
        service.set_endpoints([])
        t.wait_until(lambda: nftables.frontend(front) in nftables.read(t).elements("rejected-services"), "it has no endpoints")
        table = nftables.read(t)
        t.require(nftables.frontend(front) not in table.elements("service-treatments"), "it is in service-treatments as well")
        t.require(nftables.node_port(service) in table.elements("rejected-nodeports"), "its node port is not among those without")
        t.wait_until(lambda: chain not in nftables.read(t).chains, f"{chain} is removed")
        gone = time.monotonic() - began
        seen = count_seen(t, writes)
        lines = writes.lines()[:seen]
    t.require(gone > 1, f"{chain} was removed after {gone:.1f} s")
    # All changes of elements of the Service are in one generation.
    generations = [at for at, line in enumerate(lines) if line.startswith("# new generation")]
    elements = [at for at, line in enumerate(lines) if f" {front.ip} . " in line]
    t.require(len({sum(at > mark for mark in generations) for at in elements}) == 1, f"not one transaction: {lines[:6]}")
    counts = hammer.stop()
    t.require(counts["failed"] == counts["outcomes"]["refused"], f"outcomes besides ok and refused: {counts['outcomes']}")
    t.expect([POD, EXT], [front, service.node()], REJECTED)


def more_endpoints(t, count):
    """Endpoints that are E1 under other addresses, so that a list is longer than there are pods."""
    made = []
    for number in range(count):
        ip = f"10.180.9.{number + 1}" if t.family == V4 else f"fd00:10:0:180::9:{number + 1}"
        alias(t, ip)
        made.append(ready(E1, address=ip))
    return made


def alias(t, ip):
    """Another address of e1, routed through its first."""
    six, length = (["-6"], "128") if t.family == V6 else ([], "32")
    t.topology.run("e1", "ip", "address", "replace", f"{ip}/{length}", "dev", "lo")
    t.topology.run("node", "ip", *six, "route", "replace", f"{ip}/{length}", "via", E1.ip(t.family), "dev", "vethe1", "onlink")
    t.defer(lambda: t.topology.run("node", "ip", *six, "route", "del", f"{ip}/{length}", check=False))
    t.defer(lambda: t.topology.run("e1", "ip", "address", "del", f"{ip}/{length}", "dev", "lo", check=False))


@own_daemon((104, 127), "a start keeps the table and its content; what became stale while no daemon ran is removed: frontends, "
            "lists, chains, unknown elements and chains", families=FAMILIES, **ONLY)
def stale_after_restart(t):
    steady, gone = t.service(BOTH), t.service(BOTH, type="LoadBalancer", external=True, source_ranges=[CLIENTS[t.family]])
    changed = t.service(BOTH, spec=remembering())
    t.settle()
    before = nftables.read(t)
    hammer = t.hammer(POD, steady.cluster())
    t.bench.daemon.kill()
    gone.delete()
    changed.set_endpoints([ready(E3)])
    ipx, unknown = nftables.IPX[t.family], "172.30.77.77" if t.family == V4 else "fd00:172:30::7777"
    nftables.nft(t, f"""add chain {ipx} kube-proxy endpoints-77
add rule {ipx} kube-proxy endpoints-77 drop
add chain {ipx} kube-proxy nodeport-endpoints-77
add element {ipx} kube-proxy rejected-services {{ {unknown} . tcp . 80 }}
add element {ipx} kube-proxy cluster-ips {{ {unknown} }}
""")
    t.bench.start_daemon()
    t.settle()
    left = nftables.about(nftables.lines(t), gone.cluster().ip, gone.external().ip, gone.vip().ip, unknown)
    t.require(not left, f"left: {left[:4]}")
    t.wait_until(lambda: not {"endpoints-77", "nodeport-endpoints-77"} & set(nftables.read(t).chains), "foreign chains are removed")
    after = nftables.read(t)
    t.require(after.handle == before.handle, "the table is a new one")
    t.require(after.handles["services"] == before.handles["services"], "rules were written again")
    t.expect(POD, changed.cluster(), kept(E3))
    t.expect(POD, gone.cluster(), UNTOUCHED)
    t.require_unbroken(hammer, "during the restart")


@case(77, "affinity: entries have the timeout of the Service and survive changes of other endpoints", families=FAMILIES,
      **{**ONLY, "protocols": ["tcp", "udp"]})
def memory_in_the_kernel(t):
    services = [t.service([ready(E1), ready(E2), ready(E3), ready(E4)], type="NodePort", node_port=True, spec=remembering(1000 + at))
                for at in range(6)]
    t.settle()
    any_endpoint = masqueraded(E1, E2, E3, E4)
    met = [t.expect_one(EXT, [one.cluster(), one.node()], any_endpoint, questions=3) for one in services]
    spec = nftables.read(t).specs["affinity"]
    t.require({"timeout"} <= set(spec.get("flags", [])), f"the set is {spec}")
    text = t.topology.run("node", "nft", "list", "map", nftables.IPX[t.family], "kube-proxy", "affinity").stdout
    for seconds in range(1000, 1006):
        t.require(f"timeout {seconds // 60}m{seconds % 60}s" in text, f"no memory of {seconds} s: {text[-300:]}")
    # All other endpoints are replaced: slots move, tokens do not.
    for one, name in zip(services, met):
        here = next(pod for pod in (E1, E2, E3, E4) if pod.name == name)
        one.set_endpoints([ready(here)])
    t.settle()
    for one in services:
        one.set_endpoints([ready(E4), ready(E3), ready(E2), ready(E1)])
    t.settle()
    again = [t.expect_one(EXT, [one.cluster(), one.node()], any_endpoint, questions=3) for one in services]
    t.require(again == met, f"had {met}, then {again}")


@case(None, "`nft list table` names each Service in the comments of its frontends, and its output can be loaded again unchanged",
      exclusive=True, families=FAMILIES, **ONLY)
def listing_loads_again(t):
    kinds = services_of_every_kind(t)
    table = nftables.read(t)
    for one in kinds[:5]:
        said = table.comments["service-treatments"].get(nftables.frontend(one.cluster()), "")
        t.require(f"{one.namespace}/{one.name}:p80" in said, f"the comment of {one.cluster().ip} is '{said}'")
    done, text, again = nftables.reload_listing(t)
    t.require(done.returncode == 0, f"it does not load: {done.stderr[:300]}")
    # Remaining times of affinity entries are ignored.
    t.require(_timeless(text) == _timeless(again), f"it loads as something else: {foreign.difference(_timeless(text), _timeless(again))[:500]}")
    wrong = nftables.slot_problems(table)
    t.require(not wrong, f"lists with holes: {wrong[:3]}")


def _timeless(text):
    return re.sub(r" (expires|timeout) \w+", "", text)


@case(None, "two Services want one external address: the first one keeps it, the other is reported, and gets it when it is free",
      exclusive=True, families=FAMILIES, **ONLY)
def clash(t):
    first = t.service([ready(E1)], external_ip=True)
    t.settle()
    front = first.external()
    second = t.service([ready(E2)], spec={"externalIPs": [front.ip]})
    t.settle()
    t.expect(EXT, front, masqueraded(E1))
    t.expect(POD, second.cluster(), kept(E2))
    name = f"{second.namespace}/{second.name}:p80"
    t.require(t.bench.daemon.wait_logged(name, front.ip) is not None, f"no line names {name} and {front.ip}")
    first.update(external_ip=False)
    t.settle()
    t.expect(EXT, front, masqueraded(E2))


# Counters.

PACKETS, BYTES = "sluice_nftables_service_packets_total", "sluice_nftables_service_bytes_total"


def counted(t, service):
    now, name = metrics.scrape(t), f"{service.namespace}/{service.name}"
    return now.count(PACKETS, service=name), now.count(BYTES, service=name)


def wait_all_counted(t, other, service):
    """The counts of `other`, once two scrapes agree: each one counts a
    question to `service`, too."""
    front, seen = service.cluster(), {}

    def same_again():
        wanted = counted(t, service)[0] + (2 if t.protocol == "udp" else 4)
        probe.ask(t.topology, POD, front.protocol, front.ip, front.port, t.family, 1)
        t.wait_until(lambda: counted(t, service)[0] >= wanted, f"{wanted:.0f} packets are counted at {front.ip}")
        before, seen["other"] = seen.get("other"), counted(t, other)
        return before == seen["other"]

    t.wait_until(same_again, "no more packets of another Service are counted", seconds=20)
    return seen["other"]


@case(None, "counters: packets and bytes of a Service grow by its traffic in both directions, by cluster IP, load balancer and "
      "node port; those of another do not", config="nftables-counters", exclusive=True, families=FAMILIES,
      **{**ONLY, "protocols": ["tcp", "udp"]})
def counters(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    other = t.service(BOTH)
    t.settle()
    t.expect(POD, other.cluster(), kept(E1, E2))
    idle = wait_all_counted(t, other, service)
    packets, size = counted(t, service)
    for sender, front in ((POD, service.cluster()), (EXT, service.vip()), (EXT, service.node())):
        lines = probe.ask(t.topology, sender, front.protocol, front.ip, front.port, t.family, QUESTIONS)
        t.require(all(line.startswith("ok ") for line in lines), f"{front.ip} answers {lines[:2]}")
        # A datagram each way; for a connection at least two packets that open it, and two with data.
        least = packets + QUESTIONS * (2 if t.protocol == "udp" else 4)
        t.wait_until(lambda least=least: counted(t, service)[0] >= least, f"{least:.0f} packets are counted at {front.ip}")
        now = counted(t, service)
        header = (28 if t.protocol == "udp" else 40) + (20 if t.family == V6 else 0)
        if t.protocol == "udp":
            t.require(now[0] == least, f"{now[0] - packets:.0f} packets at {front.ip}, {2 * QUESTIONS} being sent")
        t.require(now[1] - size >= (now[0] - packets) * header, f"{now[1] - size:.0f} bytes in {now[0] - packets:.0f} packets")
        packets, size = now
    t.require(counted(t, other) == idle, f"another Service had {idle}, then {counted(t, other)}")


@case(None, "without counters there are no sets for them, and no metrics", families=[V4], **ONLY)
def no_counters(t):
    service = t.service(BOTH)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    t.require(not {"service-traffic", "nodeport-traffic"} & set(nftables.read(t).sets), "there are sets for them")
    t.require(PACKETS not in metrics.scrape(t).text, "there are metrics")


# Beside and after others.


GONE = {V4: ("172.30.250.", "1.2.250."), V6: ("fd00:172:30::fa:", "fd00:1:2::fa:")}


def kube_proxy_table_for(t, services, write=kube_proxy_table.text):
    """The table of a kube-proxy for these Services, and for others that are gone."""
    pods = tuple(pod.ip(t.family) for pod in (E1, E2))
    base, external = GONE[t.family]
    ports = [kube_proxy_table.Port(f"{one.namespace}/{one.name}/tcp/p80", one.cluster().ip, 80, pods, node_port=one.node_port,
                                   external=one.vip().ip) for one in services]
    for at in range(1, 30):
        ports.append(kube_proxy_table.Port(
            f"gone/svc-{at}/tcp/p80", f"{base}{at}", 80, pods if at % 3 else (), node_port=32000 + at,
            external=f"{external}{at}" if at % 2 else "", ranges=(CLIENTS[t.family],) if at % 4 == 1 and at % 3 else (),
            sticky=at % 5 == 0))
    return write(t.family, ports)


@own_daemon(None, "a start on the live table of a kube-proxy: it is replaced in one transaction, no connect of up to 200 "
            "clients per second fails, nothing of it is left, other tables stay", families=FAMILIES, slow=True, **ONLY)
def takes_over(t):
    services = [t.service(BOTH, type="LoadBalancer", external=True) for _ in range(5)]
    t.bench.daemon.stop()
    t.bench.cleanup()
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    theirs = foreign.dump(t.topology)
    done = nftables.nft(t, kube_proxy_table_for(t, services), check=False)
    t.require(done.returncode == 0, f"the table of kube-proxy: {done.stderr[:300]}")
    t.expect(POD, [one.cluster() for one in services], kept(E1, E2))
    t.expect(EXT, services[0].vip(), masqueraded(E1, E2))
    hammers = [(t.hammer(POD, services[0].cluster()), "a pod"), (t.hammer(EXT, services[1].vip()), "outside"),
               (t.hammer(EXT, services[2].node()), "a node port")]
    held = t.hold(EXT, services[3].vip())
    t.bench.start_daemon()
    t.settle()
    table = nftables.read(t)
    names = {"service-ips", "service-nodeports", "no-endpoint-services", "no-endpoint-nodeports", "firewall-ips", "reject-chain"}
    old = [name for name in [*table.sets, *table.chains] if "/" in name or name in names]
    t.require(not old, f"of kube-proxy is left: {old[:3]}")
    gone = GONE[t.family]
    theirs_left = [line for line in nftables.lines(t)
                   if any(f"{prefix}{at} " in line for prefix in gone for at in range(1, 30)) or
                   any(f" {32000 + at} " in line for at in range(1, 30))]
    t.require(not theirs_left, f"elements of kube-proxy are left: {theirs_left[:3]}")
    for hammer, _ in hammers:
        hammer.wait_attempts(10)
    for hammer, name in hammers:
        t.require_unbroken(hammer, f"{name}, while the table was replaced")
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
    changed = foreign.difference(theirs, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed: {changed}")
    t.expect(EXT, [services[1].vip(), services[2].node()], masqueraded(E1, E2))


@own_daemon(None, "a kube-proxy takes over the table in one transaction: no connect fails, and kube-proxy serves",
            families=FAMILIES, **ONLY)
def handed_back(t):
    services = [t.service(BOTH, type="LoadBalancer", external=True) for _ in range(3)]
    services_of_every_kind(t)
    t.settle()
    t.bench.daemon.stop()
    hammers = [(t.hammer(POD, services[0].cluster()), "a pod"), (t.hammer(EXT, services[1].vip()), "outside"),
               (t.hammer(EXT, services[2].node()), "a node port")]
    done = nftables.nft(t, kube_proxy_table_for(t, services, kube_proxy_table.taking_over), check=False)
    t.require(done.returncode == 0, f"kube-proxy's transaction over our table: {done.stderr[:300]}")
    for hammer, _ in hammers:
        hammer.wait_attempts(10)
    for hammer, name in hammers:
        t.require_unbroken(hammer, f"{name}, while kube-proxy took over")
    t.require("service-ips" in nftables.read(t).sets, "there is no map of kube-proxy's")
    t.expect(EXT, [services[1].vip(), services[2].node()], masqueraded(E1, E2))
    t.bench.start_daemon()
    t.settle()
    t.expect(EXT, [services[1].vip(), services[2].node()], masqueraded(E1, E2))
    t.require("service-ips" not in nftables.read(t).sets, "of kube-proxy's table is left")


@own_daemon(None, "a start after iptables mode, whose rules are active: no connect fails, they are gone once the table "
            "stands, the rules of kubelet stay", families=FAMILIES, slow=True, **ONLY)
def from_iptables(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.bench.daemon.stop()
    t.bench.cleanup()
    before = [line for line in t.saved() if "KUBE-" in line]
    # The last option counts.
    t.bench.daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, "--proxy-mode", "iptables"])
    t.expect_soon(POD, service.cluster(), kept(E1, E2), seconds=20)
    t.bench.daemon.wait_synced()
    t.bench.daemon.stop()
    t.require(any("KUBE-SVC" in line for line in t.saved()), "there are no rules of iptables mode")
    hammers = [t.hammer(POD, service.cluster()), t.hammer(EXT, service.vip())]
    t.bench.start_daemon()
    t.wait_until(lambda: not any("KUBE-S" in line for line in t.saved()), "rules of iptables mode are gone", seconds=20)
    for hammer in hammers:
        t.require_unbroken(hammer, "from iptables mode to nftables")
    left = [line for line in t.saved() if "KUBE-" in line and line not in before and "KUBE-FIREWALL" not in line]
    t.require(not left, f"left: {left[:3]}")
    t.expect(EXT, [service.vip(), service.node()], masqueraded(E1, E2))
    t.bench.daemon.stop()
    hammer = t.hammer(POD, service.cluster())
    t.bench.daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, "--proxy-mode", "iptables"])
    t.wait_until(lambda: not [name for name in leftovers.tables(t.topology) if name.endswith(" kube-proxy")],
                 "the table is gone in iptables mode", seconds=20)
    t.require_unbroken(hammer, "from nftables mode to iptables")
    t.bench.daemon.stop()
    t.bench.start_daemon()


@own_daemon(None, "--cleanup removes the table of both families and nothing else; a second run finds nothing", **{**ONLY, "families": [V4]})
def cleanup(t):
    services_of_every_kind(t)
    t.bench.daemon.stop()
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    before = foreign.dump(t.topology)
    for _ in range(2):
        done = t.bench.cleanup()
        t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
        left = [name for name in leftovers.tables(t.topology) if name.endswith(" kube-proxy")]
        t.require(not left, f"left: {left}")
    changed = foreign.difference(before, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed: {changed}")
    t.bench.start_daemon()


@own_daemon(77, "affinity entries of a deleted Service do not apply to a later one, also after a repair", families=FAMILIES,
            **ONLY)
def gone_with_its_memory(t):
    def ids(services):
        known = nftables.read(t).elements("affinity-services")
        return {known[nftables.frontend(one.cluster())] for one in services}

    had = set()
    for occasion in ("while the daemon runs", "after a repair"):
        former = [t.service([ready(E1)], spec=remembering()) for _ in range(3)]
        t.settle()
        t.expect(EXT, [one.cluster() for one in former], masqueraded(E1))
        had |= ids(former)
        for one in former:
            one.delete()
        t.settle()
        if occasion == "after a repair":
            before = sum(one["full_syncs"] for one in t.status()["families"])
            nftables.nft(t, f"flush chain {nftables.IPX[t.family]} kube-proxy services")
            t.wait_until(lambda before=before: sum(one["full_syncs"] for one in t.status()["families"]) > before, "it is repaired")
        later = [t.service([ready(E1), ready(E2)], spec=remembering(1000)) for _ in range(3)]
        t.settle()
        again = had & ids(later)
        t.require(not again, f"{occasion}: ids {sorted(again)} of Services that are gone, whose clients have affinity, are used again")
        for one in later:
            one.delete()
        t.settle()
