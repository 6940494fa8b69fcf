# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""IPVS mode with other settings, on nodes with missing features, and its leftover state."""

import os
import re
import time

from lib import ipvs, leftovers, observed, pace, probe, talk
from lib.addresses import E1, E2, E3, E4, EXT_OTHER, NODE as FIRST, NODE_SECOND, V4, V6
from lib.bench import PERIOD
from lib.cases import EXT, POD, UNTOUCHED, kept, masqueraded, own_daemon
from lib.metrics import scrape
from lib.objects import ready
from cases_ipvs import CLIENTS, foreign_servers, make_foreign
from cases_ipvsdrain import held_at
from cases_ipvsdrift import foreign_objects, make_foreign_objects

BOTH = [ready(E1), ready(E2)]
ONLY = {"protocols": ["tcp"], "backends": ["ipvs"], "sources": ["manifests"]}
NO_LOCAL = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
PAST = {V4: "192.168.7.82", V6: "fd00:192:7::82"}  # an address that the node has for a while
# The schedulers of Debian's kernels; those of the kernel under test are tried.
SCHEDULERS = ("rr", "wrr", "lc", "wlc", "fo", "ovf", "lblc", "lblcr", "dh", "sh", "mh", "sed", "nq", "twos")


def restart(t, *flags):
    t.bench.daemon.stop()
    t.bench.flags = [*t.bench.flags, *flags]
    t.bench.start_daemon()


def of_kernel(t):
    """The schedulers that this kernel has, as a module or built in."""
    folder = "/lib/modules/" + t.topology.run("node", "uname", "-r").stdout.strip()
    with open(os.path.join(folder, "modules.dep"), encoding="ascii") as file:
        text = file.read()
    with open(os.path.join(folder, "modules.builtin"), encoding="ascii") as file:
        text += file.read().replace(".ko", ".ko:")
    return [name for name in SCHEDULERS if re.search(rf"/ip_vs_{name}\.ko(\.\w+)?:", text)]


@own_daemon(None, "every scheduler of the kernel: new and existing virtual servers get it, and serve",
            families=[V4], slow=True, **ONLY)
def schedulers(t):
    found = of_kernel(t)
    t.require(len(found) >= 10, f"this kernel has only {found}")
    service = t.service(BOTH)
    t.settle()
    flags = t.bench.flags
    for name in found:
        t.bench.flags = flags
        restart(t, "--ipvs-scheduler", name)
        server = ipvs.servers(t)[ipvs.key(service.cluster())]
        t.require(server.scheduler == name, f"with {name}: {server}")
        lines = probe.ask(t.topology, POD, "tcp", service.cluster().ip, 80, t.family, 2)
        t.require(all(line.startswith("ok e") for line in lines), f"with {name}: {lines}")
    t.remark(f"tried: {', '.join(found)}")


@own_daemon(None, "scheduler sh: clients whose endpoint drains are served by another one when they connect again", families=[V4], legacy=["ipvs"], **ONLY)
def source_hashing_drains(t):
    restart(t, "--ipvs-scheduler", "sh")
    service, client, endpoint, _ = held_at(t, E1, E2)
    t.require(0 in ipvs.weights(t, service.cluster()).values(), "no server drains")
    draining = ipvs.real(t, E1, service.wanted["ports"][0][2])
    before = ipvs.connections(t, service.cluster())
    # Some of these clients hash to the draining endpoint, others to the other one.
    for sender in (POD, E1, E4):
        talk.connect(t, sender, service.cluster())
    now = ipvs.connections(t, service.cluster())
    t.require(now[draining] == before[draining], f"new connections went where it drains: before {before}, now {now}")
    t.require(talk.is_connected(client, endpoint), "the connection from before was cut")


@own_daemon(None, "a scheduler that the kernel does not have: the start fails with exit status 1 and one error that names it and "
            "its module",
            families=[V4], **ONLY)
def unknown_scheduler(t):
    daemon = t.bench.daemon
    daemon.stop()
    t.defer(t.bench.start_daemon)
    before = ipvs.dump(t)
    at = len(daemon.log())
    daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, "--ipvs-scheduler", "nosuch"])
    status = daemon.wait_ended(20)
    lines = [line for line in daemon.log()[at:].splitlines() if "nosuch" in line and line[:1] in "EFW"]
    if status is None:
        daemon.stop()
    t.require(status == 1, f"exit status {status}")
    t.require(lines and "ip_vs_nosuch" in lines[-1], f"it says {lines or daemon.log_tail()}")
    t.require(ipvs.dump(t) == before, f"it changed something: {ipvs.difference(before, ipvs.dump(t))}")


@own_daemon((73, 74), "affinity is persistence of each virtual server, with its timeout; switched off and changed in place",
            families=[V4, V6], **ONLY)
def persistence(t):
    def affinity(seconds):
        return {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}}

    service = t.service(BOTH, type="LoadBalancer", external=True, spec=affinity(10800))
    fronts = [service.cluster(), *service.externals(), service.node(NODE_SECOND)]
    for spec, options in ((affinity(10800), "-p 10800"), (affinity(77), "-p 77"), (None, "")):
        service.update(spec=spec)
        t.settle()
        found = {ipvs.servers(t)[ipvs.key(front)].options for front in fronts}
        t.require(found == {options}, f"with {spec}: {found}")


@own_daemon(74, "a UDP client that is silent for longer than the session timeout is scheduled again", families=[V4],
            **{**ONLY, "protocols": ["udp"]})
def memory_ends(t):
    restart(t, "--ipvs-udp-timeout", "1s")
    any_of_them = masqueraded(E1, E2, E3, E4)
    for seconds in (4, 20, 100):
        service = t.service([ready(E1), ready(E2), ready(E3), ready(E4)], spec={
            "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}})
        t.settle()
        began = time.monotonic()
        first = t.expect_one(EXT, service.cluster(), any_of_them, questions=3)
        again = t.expect_one(EXT, service.cluster(), any_of_them, questions=3)
        if time.monotonic() - began < seconds:  # a machine that takes longer proves nothing
            break
    t.require(again == first, f"had {first}, then {again}")
    # Endpoints take turns, so the next connection goes to another one.
    def moved():
        time.sleep(seconds + 3)  # fixed time: the persistence entry has to expire
        return t.expect_one(EXT, service.cluster(), any_of_them, questions=1) != first

    t.require(any(moved() for _ in range(3)), f"always {first}, whatever the silence")


@own_daemon(None, "timeouts of IPVS are set, an unset one stays as it is", families=[V4], **ONLY)
def timeouts(t):
    def now():
        return [int(word) for word in re.findall(r"\d+", ipvs.adm(t, "-L", "--timeout"))]

    before = now()
    t.defer(lambda: ipvs.adm(t, "--set", *map(str, before)))
    t.require(before == [900, 120, 300], f"a start without them set {before}")
    restart(t, "--ipvs-tcp-timeout", "10m", "--ipvs-udp-timeout", "7500ms")
    t.require(now() in ([600, 120, 7], [600, 120, 8]), f"{now()}")
    restart(t, "--ipvs-tcpfin-timeout", "33s", "--ipvs-tcp-timeout", "0s", "--ipvs-udp-timeout", "0s")
    t.require(now()[:2] == [600, 33], f"{now()}")


@own_daemon(None, "node ports are not held: a listener of another process on one is one warning, and the Service works",
            families=[V4, V6], **ONLY)
def node_port_clash(t):
    service = t.service(BOTH, type="NodePort", node_port=True)
    t.settle()
    number = service.node_port
    open_now = t.topology.run("node", "ss", "-Hltnu").stdout
    t.require(f":{number} " not in open_now, "a socket holds the node port")
    t.listen("node", f"clash-{number}", number)

    def warnings():
        return [line for line in t.bench.daemon.log().splitlines() if line[:1] in "WE" and re.search(rf"\b{number}\b", line)]

    t.wait_until(warnings, "there is a warning", seconds=25)
    t.expect(EXT, service.node(), masqueraded(E1, E2))
    time.sleep(2.5 * PERIOD)  # fixed time: proves that no other warning follows
    t.require(len(warnings()) == 1, f"{len(warnings())} warnings: {warnings()}")


@own_daemon(None, "the event and the log line about the deprecation of ipvs mode upstream: once per start", families=[V4],
            **{**ONLY, "sources": ["apiserver"]})
def deprecation(t):
    source = t.bench.source

    def events():
        found = source.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [one for one in found if one["reason"] == "IPVSDeprecation"]

    t.wait_until(events, "the event is there")
    found = events()
    if found:
        one = found[0]
        t.require(len(found) == 1 and one["type"] == "Warning" and one["action"] == "StartKubeProxy" and
                  one["regarding"]["kind"] == "Node", f"the events are {found}")
    lines = [line for line in t.bench.daemon.log().splitlines() if "ipvs" in line.lower() and "deprecated" in line]
    t.require(len(lines) == 1, f"lines of log: {lines}")


@own_daemon(None, "metrics count virtual servers, real servers, draining ones, entries and messages; the gauge of "
            "Services without local endpoints counts Services", families=[V4], **ONLY)
def metrics(t):
    before = scrape(t)
    service = t.service(BOTH, type="NodePort", node_port=True, protocols=["tcp", "udp"])
    t.settle()
    now = scrape(t)
    t.service([ready(E2)], type="LoadBalancer", vip=True, external_policy="Local", protocols=["tcp", "udp"])
    t.settle()
    elsewhere = scrape(t).count(NO_LOCAL, traffic_policy="external") - now.count(NO_LOCAL, traffic_policy="external")
    t.require(elsewhere == 1, f"{elsewhere} Services more without local endpoints, not 1 with two ports")

    def rise(what):
        name = f"sluice_ipvs_{what}"
        t.require(name in now.types, f"there is no {name}")
        return now.count(name, ip_family="IPv4") - before.count(name, ip_family="IPv4")

    # Cluster IP and two node addresses, for TCP and UDP.
    t.require(rise("virtual_servers") == 6, f"{rise('virtual_servers')} virtual servers more")
    t.require(rise("real_servers") == 12, f"{rise('real_servers')} real servers more")
    t.require(rise("addresses") == 1, f"{rise('addresses')} addresses more")
    t.require(rise("set_entries") >= 5, f"{rise('set_entries')} entries more")
    t.require(rise("draining_real_servers") == 0, f"{rise('draining_real_servers')} drain")
    t.require(rise("messages_total") > 0, "no message is counted")
    t.require(now.count("sluice_kernel_writes_total") > before.count("sluice_kernel_writes_total"), "no write is counted")
    shown = ipvs.servers(t)
    t.require(ipvs.key(service.node(FIRST)) in shown, "the Service is not there")
    for name in ("kubeproxy_sync_proxy_rules_duration_seconds", "kubeproxy_sync_proxy_rules_iptables_restore_failures_total"):
        t.require(name in now.types, f"there is no {name}")
    t.require(observed.metrics(t, "/proxyMode").body == "ipvs", f"/proxyMode says {observed.metrics(t, '/proxyMode').body}")


# What is left.


def services_of_every_kind(t):
    return [t.service(BOTH, type="LoadBalancer", external=True, protocols=["tcp", "udp", "sctp"]),
            t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]], external_policy="Local")]


def lose_address(t, service):
    """Stops the daemon, then removes an address of the node at which node ports were served."""
    where = [f"{PAST[t.family]}/{32 if t.family == V4 else 128}", "dev", "eth1"]
    t.topology.run("node", "ip", "addr", "add", *where, *(["nodad"] if t.family == V6 else []))
    t.defer(lambda: t.topology.run("node", "ip", "addr", "del", *where, check=False))
    t.wait_until(lambda: ipvs.key(service.at(PAST[t.family])) in ipvs.servers(t), "the address serves")
    t.bench.daemon.stop()
    t.topology.run("node", "ip", "addr", "del", *where)
    t.require(ipvs.key(service.at(PAST[t.family])) in ipvs.servers(t), "nothing is left at the address of before")


@own_daemon(None, "--cleanup removes everything of ipvs mode, both families, and nothing foreign; again it finds nothing",
            families=[V4, V6], **ONLY)
def cleaned_up(t):
    theirs = make_foreign_objects(t)
    make_foreign(t)
    services = services_of_every_kind(t)
    t.settle()
    # A foreign one with the number of a node port, at an address that is not the node's either.
    strange = ipvs.where({V4: "203.0.113.77", V6: "2001:db8:99::5"}[t.family], services[0].node_port)
    ipvs.adm(t, "-A", "-t", strange, "-s", "rr")
    t.defer(lambda: ipvs.adm(t, "-D", "-t", strange, check=False))
    virtual = foreign_servers(t)
    t.require(any(strange in line for line in virtual), f"{strange} is not there")
    lose_address(t, services[0])
    for attempt in (1, 2):
        done = t.bench.cleanup()
        t.require(done.returncode == 0, f"attempt {attempt}: exit {done.returncode}: {done.stderr[-300:]}")
        others = ("198.51.100.", "203.0.113.77", "2001:db8:99:", "/-f ")  # the last one is by firewall mark
        left = [line for line in ipvs.dump(t) if "KUBE" in line and "KUBE-FIREWALL" not in line or
                line.startswith("server") and not any(word in line for word in others)]
        t.require(not left, f"attempt {attempt}: left are {left[:5]}")
        t.require(foreign_servers(t) == virtual, f"attempt {attempt}: virtual servers of others: {foreign_servers(t)}")
        # The link has kube-proxy's name, and is removed with all addresses bound to it.
        t.require(not ipvs.has_link(t), f"attempt {attempt}: {ipvs.LINK} is left")
        t.require(foreign_objects(t)[:-1] == theirs[:-1], f"attempt {attempt}: foreign objects left: {foreign_objects(t)}, not {theirs}")
    t.expect(POD, services[0].cluster(), UNTOUCHED)
    t.bench.start_daemon()


def started_as(t, mode):
    """A daemon of another mode on the same node and source."""
    t.bench.daemon.stop()
    # pylint: disable=protected-access
    t.bench.daemon._backend = mode
    t.bench.flags = [flag.replace("--ipvs-", "--iptables-") if mode != "ipvs" else flag.replace("--iptables-", "--ipvs-")
                     for flag in t.bench.flags]
    t.bench.start_daemon()


@own_daemon(None, "from ipvs mode to iptables mode and back: no connect fails, and nothing of the earlier mode is left",
            families=[V4, V6], legacy=["ipvs"], slow=True, **ONLY)
def switched(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    t.defer(lambda: started_as(t, "ipvs"))
    fronts = [service.cluster(), *service.externals()]
    inside, outside = t.hammer(POD, service.cluster()), t.hammer(EXT, service.external())
    for mode, gone in (("iptables", lambda: not ipvs.has_link(t) and not leftovers.sets(t.topology) and not ipvs.servers(t)),
                       ("ipvs", lambda: not any("KUBE-SVC-" in line or "KUBE-SEP-" in line or "KUBE-NODEPORTS" in line
                                                for line in t.saved()))):
        started_as(t, mode)
        t.wait_until(gone, f"in {mode} mode the state of the other mode is gone", seconds=15)
        t.expect(EXT, fronts, masqueraded(E1, E2))
        t.expect(POD, service.cluster(), kept(E1, E2))
        later = t.service([ready(E2)])
        t.settle()
        t.expect(EXT_OTHER, later.cluster(), masqueraded(E2))
    text = "\n".join(ipvs.dump(t))
    t.require("KUBE-EXTERNAL-SERVICES" not in text, "a chain of iptables mode is left")
    for hammer in (inside, outside):
        t.require_unbroken(hammer, "from one mode to the other and back")


@own_daemon(None, "an idle daemon: in a minute no netlink message, almost no CPU", families=[V4], slow=True, **ONLY)
def idle(t):
    services_of_every_kind(t)
    t.settle()
    t.bench.daemon.stop()
    t.bench.flags = [flag for flag in t.bench.flags if "sync-period" not in flag and not re.fullmatch(r"\d+s", flag)]
    t.bench.start_daemon()
    t.require(pace.wait_unchanged(lambda: ipvs.all_writes(t), quiet=5, seconds=60) is not None, "the start never ends")
    writes, cpu = ipvs.all_writes(t), cpu_seconds(t)
    time.sleep(55)  # fixed time: proves that nothing is written, and shows what it costs
    used = cpu_seconds(t) - cpu
    t.require(ipvs.all_writes(t) == writes, f"writes and messages were {writes}, now {ipvs.all_writes(t)}")
    t.remark(f"{used:.2f} s of CPU in 55 s")
    # CPU time, which a busy machine does not add to.
    t.require(used < 0.6 * pace.SLOWNESS * pace.processor_slowness(), f"{used:.2f} s of CPU")


def cpu_seconds(t):
    with open(f"/proc/{t.bench.daemon.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
