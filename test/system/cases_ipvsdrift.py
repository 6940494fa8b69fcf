# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""IPVS mode when other processes change its kernel state, and when the daemon is killed and restarted: the state is repaired, and
foreign objects stay as they were."""

import time

from lib import ipvs, pace
from lib.addresses import E1, E2, E3, E4, NODE_SECOND, V4, V6
from lib.bench import BOTH_CIDRS
from lib.cases import EXT, POD, REJECTED, UNTOUCHED, case, kept, masqueraded, own_daemon
from lib.objects import ready
from lib.services import Front
from cases_ipvs import CLIENTS, foreign_servers, make_foreign, quiet

BOTH = [ready(E1), ready(E2)]
ONLY = {"protocols": ["tcp"], "backends": ["ipvs"], "sources": ["manifests"]}
REPAIRED_WITHIN = 30  # seconds, with default settings
PICTURES_EVERY = 0.5  # seconds
FOREIGN_SET, FOREIGN_ADDRESS = "FOREIGN-SET", "198.51.100.44/32"


def services_of_every_kind(t):
    """Services that use every set but those of SCTP."""
    served = t.service(BOTH, type="LoadBalancer", external=True, protocols=["tcp", "udp"])
    local = t.service(BOTH, type="LoadBalancer", external=True, external_policy="Local")
    ranged = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    t.settle()
    return served, local, ranged


def make_foreign_objects(t):
    """A foreign set, address and rule; returns their listing."""
    t.topology.run("node", "ipset", "create", FOREIGN_SET, "hash:ip,port", "comment", "timeout", "0")
    add_entry(t)
    t.defer(lambda: t.topology.run("node", "ipset", "destroy", FOREIGN_SET, check=False))
    add_address(t)
    rule = ["-s", "198.51.100.0/24", "-m", "comment", "--comment", "theirs", "-j", "ACCEPT"]
    t.topology.run("node", t.topology.tools.program(V4), "-w", "-I", "INPUT", *rule)
    t.defer(lambda: t.topology.run("node", t.topology.tools.program(V4), "-w", "-D", "INPUT", *rule, check=False))
    return foreign_objects(t)


def add_entry(t):
    t.topology.run("node", "ipset", "add", FOREIGN_SET, "198.51.100.9,tcp:22", "comment", "theirs")


def add_address(t):
    t.topology.run("node", "ip", "address", "add", FOREIGN_ADDRESS, "dev", ipvs.LINK)


def foreign_objects(t):
    lines = t.topology.run("node", "ipset", "save", FOREIGN_SET).stdout.splitlines()
    return [*lines[1:], *(line for line in t.saved("filter") if "theirs" in line),
            f"{FOREIGN_ADDRESS} bound" if FOREIGN_ADDRESS in ipvs.bound(t) else "the address is gone"]


def expect_right(t, served, local, ranged):
    t.expect(POD, [served.cluster(), served.cluster(protocol="udp")], kept(E1, E2))
    t.expect(EXT, [*served.externals(), served.node(NODE_SECOND), ranged.vip()], masqueraded(E1, E2))
    t.expect(EXT, local.externals(), kept(E1))
    t.expect(POD, Front(served.cluster().ip, 9, "tcp"), REJECTED)
    t.expect(E1, t.hairpin.cluster(), masqueraded(E1))


def repaired(t, *drifts):
    """After each of these drifts everything is repaired, entry by entry, within 30 s at default settings."""
    with_default_periods(t)
    t.hairpin = t.service([ready(E1)])
    three = services_of_every_kind(t)
    theirs, virtual = make_foreign_objects(t), make_foreign(t)
    quiet(t)
    before = ipvs.dump(t)
    served = three[0]
    for drift in drifts:
        argv = drift(served) if callable(drift) else drift
        repairs, began = count_repairs(t), time.monotonic()
        t.topology.run("node", *argv)
        # Reading takes time, in which the drift may be repaired already.
        drifted = ipvs.dump(t) != before
        t.require(drifted or count_repairs(t) > repairs, f"{' '.join(argv)} changed nothing")
        if argv[:2] == ("ipvsadm", "-C"):
            virtual = make_foreign(t)
        if argv == ("ipset", "flush"):  # all sets, foreign ones too
            add_entry(t)
        if argv[:3] == ("ip", "link", "del"):
            t.wait_until(lambda: ipvs.has_link(t), "there is a link again", seconds=REPAIRED_WITHIN)
            add_address(t)
        # A picture starts half a dozen programs: too expensive to poll.
        t.wait_until(lambda repairs=repairs: count_repairs(t) > repairs, f"{' '.join(argv)} is counted as a repair",
                     seconds=REPAIRED_WITHIN)
        state = {}

        def right(state=state):
            state["difference"] = ipvs.difference(before, ipvs.dump(t))
            return not state["difference"]

        t.wait_until(right, f"everything is as before {' '.join(argv)}", seconds=REPAIRED_WITHIN, every=PICTURES_EVERY)
        took = time.monotonic() - began
        t.require(not state["difference"], f"{' '.join(argv)}: {state['difference']}")
        t.remark(f"{' '.join(argv)}: {took:.0f} s")
        # The daemon guarantees this time, so the bound is fixed. A repair itself is fast, except on a busy machine.
        t.require(took < REPAIRED_WITHIN + t.busiest.stretched(3) - 3, f"{' '.join(argv)} took {took:.0f} s to repair")
        t.require(foreign_servers(t) == virtual, f"virtual servers of others: {foreign_servers(t)}, not {virtual}")
        t.require(foreign_objects(t) == theirs, f"foreign objects left: {foreign_objects(t)}, not {theirs}")
    expect_right(t, *three)
    later = t.service([ready(E2)])
    t.settle()
    t.expect(POD, later.cluster(), kept(E2))


def with_default_periods(t):
    """Restarts with the default periods."""
    t.bench.daemon.stop()
    t.bench.flags = BOTH_CIDRS
    t.bench.start_daemon()


def count_repairs(t):
    return sum(family["repairs"] for family in t.status()["families"])


def where(service):
    return ipvs.where(service.cluster().ip, 80)


def in_set(t, name):
    return ipvs.set_name(name, t.family)


@own_daemon(None, "`ipvsadm -C`, a real server that is deleted, one whose weight is changed, one that is added, a virtual server that "
            "is deleted or edited, one after the other: repaired", families=[V4], slow=True, **ONLY)
def drifted_servers(t):
    repaired(t, ("ipvsadm", "-C"),
             lambda one: ("ipvsadm", "-d", "-t", where(one), "-r", ipvs.real(t, E1)),
             lambda one: ("ipvsadm", "-e", "-t", where(one), "-r", ipvs.real(t, E1), "-m", "-w", "0"),
             lambda one: ("ipvsadm", "-a", "-t", where(one), "-r", "10.99.9.9:80", "-m"),
             lambda one: ("ipvsadm", "-D", "-t", where(one)),
             lambda one: ("ipvsadm", "-E", "-t", where(one), "-s", "wrr", "-p", "300"))


@own_daemon(None, "`ipvsadm -C`, then real servers deleted, changed and added and virtual servers deleted and edited all at once: repaired",
            families=[V4], slow=True, legacy=["ipvs"], **ONLY)
def drifted_servers_at_once(t):
    def every_way(one):
        cluster, datagrams, external, balancer, node = (ipvs.where(front.ip, front.port) for front in (
            one.cluster(), one.cluster(protocol="udp"), one.external(), one.vip(), one.node(NODE_SECOND)))
        return ("sh", "-ec", f"ipvsadm -d -t {cluster} -r {ipvs.real(t, E1)}; ipvsadm -e -u {datagrams} -r {ipvs.real(t, E1)} -m -w 0; "
                             f"ipvsadm -a -t {external} -r 10.99.9.9:80 -m; ipvsadm -D -t {balancer}; "
                             f"ipvsadm -E -t {node} -s wrr -p 300")

    repaired(t, ("ipvsadm", "-C"), every_way)


@own_daemon(None, "a set that is flushed, an entry that is deleted, one that is replaced by another: repaired", families=[V4, V6],
            slow=True, **ONLY)
def drifted_sets(t):
    def replace(one):
        name, entry = in_set(t, "CLUSTER-IP"), ipvs.entry(one.cluster())
        other = entry.replace(":80", ":8888")
        return ("sh", "-c", f"ipset del {name} {entry} && ipset add {name} {other}")

    repaired(t, ("ipset", "flush", in_set(t, "CLUSTER-IP")), ("ipset", "flush"),
             lambda one: ("ipset", "del", in_set(t, "LOAD-BALANCER"), ipvs.entry(one.vip())), replace)


@own_daemon(None, "all rules flushed and all sets destroyed: repaired", families=[V4], slow=True, **ONLY)
def sets_destroyed(t):
    tools = " ".join(f"{t.topology.tools.program(family)} -w -t {table} -F;" for family in (V4, V6) for table in ("nat", "filter"))
    sets = " ".join(ipvs.set_name(name, family) for name in ipvs.SETS for family in (V4, V6))
    rule = "-s 198.51.100.0/24 -m comment --comment theirs -j ACCEPT"
    repaired(t, ("sh", "-c", f"{tools} for one in {sets}; do ipset destroy $one; done; "
                             f"{t.topology.tools.program(V4)} -w -I INPUT {rule}"))


@own_daemon(None, "`ip link del kube-ipvs0`, and an address that is taken from it: repaired", families=[V4, V6], slow=True, **ONLY)
def drifted_link(t):
    repaired(t, ("ip", "link", "del", ipvs.LINK),
             lambda one: ("ip", "address", "del", ipvs.on_link(one.cluster()), "dev", ipvs.LINK))


@own_daemon(None, "rules of a chain that are flushed, a chain whose rules are replaced, a jump that is deleted: repaired", families=[V4],
            slow=True, **ONLY)
def drifted_rules(t):
    tool = t.topology.tools.program(t.family)
    repaired(t, (tool, "-w", "-t", "nat", "-F", "KUBE-SERVICES"), (tool, "-w", "-F", "KUBE-IPVS-FILTER"),
             (tool, "-w", "-t", "nat", "-R", "KUBE-LOAD-BALANCER", "1", "-j", "RETURN"),
             ("sh", "-c", f"{tool}-save -t nat | sed -n 's/^-A \\(PREROUTING .*KUBE-SERVICES\\)$/-D \\1/p' | "
                          f"xargs {tool} -w -t nat"))


# Killed and started.


@own_daemon(None, "killed during changes, and started: servers, sets, addresses and rules are those of a start on an empty "
            "node, entry by entry; no connect to unchanged Services fails", families=[V4], slow=True, **ONLY)
def killed_during_churn(t):
    steady = t.service(BOTH)
    services = [t.service([ready(E1)], type="LoadBalancer", external=True) for _ in range(6)]
    t.settle()
    hammer = t.hammer(POD, steady.cluster())
    for turn in range(4):
        changing(t, services, turn)
        time.sleep((0.1 + 0.15 * turn) * pace.SLOWNESS)  # fixed time: each kill comes at another step of a sync
        t.bench.daemon.kill()
        changing(t, services, turn + 1)
        t.bench.start_daemon()
    t.settle()
    t.require_unbroken(hammer, "while it was killed and started")
    quiet(t)
    after = ipvs.dump(t)
    t.bench.daemon.stop()
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
    t.bench.start_daemon()
    t.settle()
    quiet(t)
    fresh = ipvs.dump(t)
    there, here = (comparable(lines) for lines in (after, fresh))
    t.require(there == here, f"after the kills, and on an empty node: {ipvs.difference(there, here)}")


def of_barrier(line):
    """Its endpoint is e1 or e4; Services of this case have e1, and IPv4 only."""
    return line.startswith("add ") and "LOOP-BACK " in line and any(ip in line for ip in (E4.ip(V4), E4.ip(V6), E1.ip(V6)))


def comparable(lines):
    """Without the barrier's Service, which has a new port, and may have another endpoint, after each use. Rules that close one
    frontend each stand in the order in which they came to be."""
    kept_lines = [line for line in lines if "172.30.255.1" not in line and "::ffff" not in line and not of_barrier(line)]
    single = [line for line in kept_lines if "--vaddr" in line]
    return [line for line in kept_lines if "--vaddr" not in line] + sorted(single)


def changing(t, services, turn):
    pods = (E1, E2, E3)
    for at, one in enumerate(services):
        one.set_endpoints([ready(pod) for pod in pods[:(turn + at) % 4]])
    services[turn % len(services)].update(external=turn % 2 == 0, type="LoadBalancer" if turn % 2 == 0 else "ClusterIP")
    extra = t.service([ready(pods[turn % 3])], external_ip=True)
    if turn % 2:
        extra.delete()


@own_daemon(None, "a restart without change writes nothing at all, and no connection breaks",
            families=[V4], legacy=["ipvs"], **ONLY)
def restart_writes_nothing(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    t.settle()
    hammer, held = t.hammer(POD, service.cluster()), t.hold(EXT, service.vip())
    quiet(t)
    before = ipvs.dump(t)
    t.bench.daemon.stop()
    t.bench.start_daemon()
    quiet(t)
    t.require(ipvs.all_writes(t) == (0, 0), f"writes and messages: {ipvs.all_writes(t)}")
    t.require(ipvs.dump(t) == before, f"differences: {ipvs.difference(before, ipvs.dump(t))}")
    survived, last = held.end()
    t.require(survived, f"an established connection broke: {last}")
    t.require_unbroken(hammer, "during the restart")


@own_daemon(None, "objects that became stale while no daemon ran are removed at a start: virtual servers, real "
            "servers, entries, addresses",
            families=[V4, V6], **ONLY)
def stale_after_restart(t):
    gone = t.service(BOTH, type="LoadBalancer", external=True, source_ranges=[CLIENTS[t.family]])
    changed = t.service(BOTH)
    t.settle()
    t.bench.daemon.kill()
    gone.delete()
    changed.set_endpoints([ready(E3)])
    t.bench.start_daemon()
    t.settle()
    left = ipvs.about(ipvs.dump(t), gone.cluster().ip, gone.external().ip, gone.vip().ip)
    t.require(not left, f"left: {left[:4]}")
    t.require(ipvs.weights(t, changed.cluster()) == {ipvs.real(t, E3): 1}, f"{ipvs.weights(t, changed.cluster())}")
    t.expect(POD, changed.cluster(), kept(E3))
    t.expect(POD, gone.cluster(), UNTOUCHED)


@case(None, "an address that appears on the node serves node ports, one that goes does not any more; SCTP sets too",
      exclusive=True, **{**ONLY, "families": [V4], "protocols": ["tcp", "sctp"]})
def addresses_followed(t):
    service = t.service(BOTH, type="NodePort", node_port=True)
    t.settle()
    ip = "192.168.7.81"
    t.defer(lambda: t.topology.run("node", "ip", "addr", "del", f"{ip}/32", "dev", "eth1", check=False))

    def there():
        served = ipvs.key(service.at(ip)) in ipvs.servers(t)
        listed = f"{ip},sctp:{service.node_port}" in ipvs.entries(t, "NODE-PORT-SCTP-HASH")
        return served, listed

    yes = (True, t.protocol == "sctp")
    for _ in range(2):
        t.topology.run("node", "ip", "addr", "add", f"{ip}/32", "dev", "eth1")
        t.wait_until(lambda: there() == yes, "the address serves")
        t.topology.run("node", "ip", "addr", "del", f"{ip}/32", "dev", "eth1")
        t.wait_until(lambda: there() == (False, False), "the address serves no more")


@case(None, "an external IP that an interface gets is unbound from kube-ipvs0 and served there, and bound again when the interface "
      "loses it", exclusive=True, **{**ONLY, "families": [V4, V6]})
def external_ip_moves(t):
    service = t.service(BOTH, external_ip=True)
    t.settle()
    front = service.external()
    words = [ipvs.on_link(front), "dev", "eth1"]
    t.defer(lambda: t.topology.run("node", "ip", "addr", "del", *words, check=False))
    for _ in range(2):
        t.require(ipvs.on_link(front) in ipvs.bound(t), "the address is not bound")
        t.topology.run("node", "ip", "addr", "add", *words, *(["nodad"] if t.family == V6 else []))
        t.wait_until(lambda: ipvs.on_link(front) not in ipvs.bound(t), "the address is unbound")
        t.expect(EXT, front, masqueraded(E1, E2))
        t.topology.run("node", "ip", "addr", "del", *words)
        t.wait_until(lambda: ipvs.on_link(front) in ipvs.bound(t), "the address is bound again")
        t.expect_soon(EXT, front, masqueraded(E1, E2))
