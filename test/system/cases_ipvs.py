# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 116–124: kernel state of ipvs mode, read with ipvsadm, ipset and ip, and its effect on packets. Removal
without loss is in cases_ipvsdrain.py, drift in cases_ipvsdrift.py, settings in cases_ipvssettings.py."""

import re
import time

from lib import chains, health, ipvs, pace, talk
from lib.addresses import CLUSTER_CIDR, E1, E2, E3, NODE as FIRST, NODE_SECOND, V4, Host, node_addresses
from lib.cases import EXT, POD, REJECTED, case, kept, masqueraded, own_daemon
from lib.differences import NO_LOCAL
from lib.objects import ready, terminating
from lib.services import Front
from lib.writes import WriteWatch

BOTH = [ready(E1), ready(E2)]
EVERY_PROTOCOL = ("tcp", "udp", "sctp")
ONLY = {"backends": ["ipvs"], "sources": ["manifests"]}
TCP_ONLY = {"protocols": ["tcp"], **ONLY}
CLIENTS = {V4: "203.0.113.0/25", "v6": "2001:db8:113::/49"}
NODES = {V4: "192.168.0.0/24", "v6": "fd00:192:168::/64"}
ELSEWHERE = {V4: "198.51.100.0/24", "v6": "2001:db8:99::/48"}


def there(t, front, *real):
    """Requires that virtual server with exactly these real servers, all of weight 1, and an address on the link."""
    found = ipvs.servers(t).get(ipvs.key(front))
    wanted = ipvs.VirtualServer("rr", "", {ipvs.real(t, host): 1 for host in real})
    t.require(found == wanted, f"{ipvs.key(front)} is {found}, not {wanted}")
    t.require(ipvs.on_link(front) in ipvs.bound(t), f"{front.ip} is not bound")


def mine(host, service):
    """The same host at an address that no other Service has as endpoint."""
    number = 1000 + service.number
    return Host(host.name, f"10.180.{number >> 8}.{number & 255}", f"fd00:10:0:180::{number:x}", host.node)


@case(116, "a new Service is a virtual server with rr and masquerading real servers, an address on kube-ipvs0, and entries of "
      "sets; on deletion all of it is removed", **{**ONLY, "protocols": EVERY_PROTOCOL})
def new_service(t):
    service = t.service()
    local = mine(E1, service)
    service.set_endpoints([ready(local), ready(E2)])
    t.settle()
    front = service.cluster()
    there(t, front, local, E2)
    lines = [line for line in ipvs.adm(t, "-Sn").splitlines() if f" {ipvs.where(front.ip, front.port)} " in line]
    t.require(all(" -m " in line for line in lines if line.startswith("-a")), f"not all masquerade: {lines}")
    hairpin = f"{local.ip(t.family)},{t.protocol}:80,{local.ip(t.family)}"
    wanted = {"CLUSTER-IP": ipvs.entry(front), "LOOP-BACK": hairpin, "IPVS-IPS": front.ip}
    sets = ipvs.saved_sets(t)
    for name, entry in wanted.items():
        t.require(entry in sets[ipvs.set_name(name, t.family)], f"{entry} is not in {name}")
    remote = E2.ip(t.family)
    t.require(not any(entry.startswith(f"{remote},") for entry in sets[ipvs.set_name("LOOP-BACK", t.family)]),
              "an endpoint elsewhere is among those of hairpins")
    found = {name: sum(front.ip in entry.split(",") for entry in entries) for name, entries in sets.items()}
    found = {name: count for name, count in found.items() if count}
    t.require(set(found) == {ipvs.set_name(name, t.family) for name in ("CLUSTER-IP", "IPVS-IPS")}, f"it is in {found}")
    service.delete()
    t.settle()
    t.require(ipvs.key(front) not in ipvs.servers(t), "the virtual server is still there")
    t.require(ipvs.on_link(front) not in ipvs.bound(t), "the address is still bound")
    sets = ipvs.saved_sets(t)
    left = [name for name, entry in wanted.items() if entry in sets[ipvs.set_name(name, t.family)]]
    t.require(not left, f"entries are left in {left}")


@case(116, "all sets of both families exist, with the right type and name, and no others",
      **{**TCP_ONLY, "families": [V4]})
def all_sets(t):
    lines = t.topology.run("node", "ipset", "save").stdout.splitlines()
    found = {words[1]: words[2:] for words in map(str.split, lines) if words[0] == "create"}
    for family, word in (("v4", "inet"), ("v6", "inet6")):
        for name, kind in ipvs.SETS.items():
            described = found.pop(ipvs.set_name(name, family), ["missing"])
            t.require(described[0] == kind, f"{ipvs.set_name(name, family)} is of type {described[0]}, not {kind}")
            form = ["range", "0-65535"] if kind == "bitmap:port" else ["family", word]
            t.require(described[1:3] == form, f"{ipvs.set_name(name, family)} is {' '.join(described)}")
    t.require(not found, f"there are other sets: {sorted(found)}")


@case(117, "two Services with one address: bound once, served at both ports, and kept until the last one is removed", **ONLY)
def shared_address(t):
    first = t.service([ready(E1)])
    ip = first.cluster().ip
    second = t.service([ready(E2)], spec={"clusterIP": ip, "clusterIPs": [ip]}, ports=[("p81", 81, 80)])
    other = Front(ip, 81, t.protocol)
    t.settle()
    there(t, first.cluster(), E1)
    there(t, other, E2)
    t.expect(POD, first.cluster(), kept(E1))
    t.expect(POD, other, kept(E2))
    first.delete()
    t.settle()
    t.require(ipvs.key(first.cluster()) not in ipvs.servers(t), "the first virtual server is still there")
    there(t, other, E2)
    t.expect(POD, other, kept(E2))
    second.delete()
    t.settle()
    t.require(ipvs.on_link(other) not in ipvs.bound(t), "the address is still bound")


@case(118, "an external IP of an interface of the node is served and not bound to kube-ipvs0", **ONLY)
def address_of_the_node(t):
    ip = NODE_SECOND.ip(t.family)
    service = t.service(BOTH, spec={"externalIPs": [ip]}, ports=[("p", 20000 + t.bench.allocator.number(), 80)])
    t.settle()
    front = Front(ip, service.wanted["ports"][0][1], t.protocol)
    t.require(ipvs.weights(t, front) == {ipvs.real(t, E1): 1, ipvs.real(t, E2): 1}, f"{ipvs.weights(t, front)}")
    t.require(ipvs.on_link(front) not in ipvs.bound(t), "the address is bound to kube-ipvs0")
    t.require(ip not in ipvs.entries(t, "IPVS-IPS"), "the address is among those of kube-ipvs0")
    t.require(ipvs.entry(front) in ipvs.entries(t, "EXTERNAL-IP"), "it is not among the external IPs")
    t.expect([EXT, POD], front, masqueraded(E1, E2))


@case(119, "a TCP endpoint is removed with a connection open: weight 0 and no new clients; it comes back, and keeps the "
      "connection; removed again, its real server goes when the connection has ended", **TCP_ONLY)
def graceful(t):
    service, (server, _) = talk.served_at(t, E1, E2)
    number = service.wanted["ports"][0][2]
    here, other = ipvs.real(t, E1, number), ipvs.real(t, E2, number)
    service.set_endpoints([ready(E1)])
    t.settle()
    front = service.cluster()
    client, endpoint = talk.conversation(t, service, server)
    t.require(talk.is_connected(client, endpoint), "the connection does not work")
    service.set_endpoints([ready(E2)])
    t.settle()
    t.require(ipvs.weights(t, front) == {here: 0, other: 1}, f"after it went: {ipvs.weights(t, front)}")
    t.require(talk.is_connected(client, endpoint), "the connection broke when its endpoint went")
    service.set_endpoints([ready(E1)])
    t.settle()
    t.require(ipvs.weights(t, front)[here] == 1, f"after it came back: {ipvs.weights(t, front)}")
    t.require(talk.is_connected(client, endpoint), "the connection broke when its endpoint came back")
    service.set_endpoints([ready(E2)])
    t.settle()
    t.require(talk.is_connected(client, endpoint), "the connection broke when its endpoint went again")
    reset(client)
    # The kernel counts it for ten more seconds, and the next scan may come a minute later.
    t.wait_until(lambda: ipvs.weights(t, front) == {other: 1}, "it is removed once its connection has ended", seconds=75)


def reset(one):
    one.setsockopt(talk.socket.SOL_SOCKET, talk.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    one.close()


@case(119, "an endpoint without connections is removed at once; with UDP always",
      **{**ONLY, "protocols": EVERY_PROTOCOL})
def removed_at_once(t):
    service = t.service(BOTH)
    t.settle()
    if t.protocol == "udp":
        t.expect(POD, service.cluster(), kept(E1, E2))
    service.set_endpoints([ready(E2)])
    t.settle()
    t.wait_until(lambda: ipvs.weights(t, service.cluster()) == {ipvs.real(t, E2): 1}, "only e2 is left", seconds=2)


@own_daemon(120, "wrong weights and missing real servers are repaired at a start",
            **TCP_ONLY)
def weights_restored(t):
    service = t.service(BOTH)
    t.settle()
    where = ipvs.where(service.cluster().ip, 80)
    t.bench.daemon.kill()
    ipvs.adm(t, "-e", "-t", where, "-r", ipvs.real(t, E1), "-m", "-w", "0")
    ipvs.adm(t, "-d", "-t", where, "-r", ipvs.real(t, E2))
    t.bench.start_daemon()
    t.settle()
    there(t, service.cluster(), E1, E2)
    t.expect(POD, service.cluster(), kept(E1, E2))


FOREIGN = """-A -t 198.51.100.5:80 -s wrr
-a -t 198.51.100.5:80 -r 198.51.100.6:80 -g -w 7
-A -t 203.0.113.77:80 -s rr -p 100
-a -t 203.0.113.77:80 -r 10.180.0.1:80 -m -w 0
-A -u [2001:db8:99::5]:53 -s rr
-a -u [2001:db8:99::5]:53 -r [2001:db8:99::6]:53 -m -w 3
-A -f 7 -s rr
"""
FOREIGN_NAMES = ("198.51.100.5:", "203.0.113.77:", "[2001:db8:99::5]:")


def make_foreign(t):
    """Foreign virtual servers, in and out of 198.51.100.0/24 and 2001:db8:99::/48; returns their listing."""
    t.topology.run("node", "ipvsadm", "-R", stdin=FOREIGN)
    t.defer(lambda: [ipvs.adm(t, "-D", *words, check=False) for words in
                     (("-t", "198.51.100.5:80"), ("-t", "203.0.113.77:80"), ("-u", "[2001:db8:99::5]:53"), ("-f", "7"))])
    return foreign_servers(t)


def foreign_servers(t):
    return sorted(line for line in ipvs.adm(t, "-Sn").splitlines()
                  if re.search(r" (198\.51\.100\.5|203\.0\.113\.77|\[2001:db8:99::5\]):| -f 7", line))


@own_daemon(121, "foreign virtual servers stay as they are, inside excludeCIDRs and outside, of either family and by mark; our "
            "own unused ones from before are removed", legacy=["ipvs"], **TCP_ONLY)
def foreign_virtual_servers(t):
    gone = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    fronts = [gone.cluster(), *gone.externals()]
    t.bench.daemon.stop()
    before = make_foreign(t)
    t.require(len(before) == 7, f"they could not be made: {before}")
    gone.delete()
    t.bench.flags = [*t.bench.flags, "--ipvs-exclude-cidrs", "198.51.100.0/24,2001:db8:99::/48"]
    t.bench.start_daemon()
    # A Service with the same address and port is not programmed, now and after every full sync that follows.
    clash = t.service(BOTH, spec={"externalIPs": ["198.51.100.5"]})
    service = t.service(BOTH)
    t.settle()
    service.set_endpoints([ready(E2)])
    t.settle()
    t.expect(POD, clash.cluster(), kept(E1, E2))
    left = [front.ip for front in fronts if ipvs.key(front) in ipvs.servers(t)]
    t.require(not left, f"virtual servers of before are left: {left}")
    t.bench.set_node_labels({"topology.kubernetes.io/zone": "b"})
    t.settle()
    t.require(foreign_servers(t) == before, f"of {before} is left, after a second full sync: {foreign_servers(t)}")
    for _ in range(2):
        t.bench.daemon.stop()
        t.bench.start_daemon()
        t.settle()
    t.require(foreign_servers(t) == before, f"of {before} is left: {foreign_servers(t)}")


@case(122, "a node port with external policy Local: the port is in both sets, outside clients keep their address; without a "
      "local endpoint remote ones are used", **ONLY)
def local_node_port(t):
    service = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local")
    plain = t.service(BOTH, type="NodePort", node_port=True)
    t.settle()
    name = t.protocol.upper()
    port, other = str(service.node_port), str(plain.node_port)
    sets = {kind: ipvs.entries(t, f"NODE-PORT-{kind}{name}") for kind in ("", "LOCAL-")}
    t.require(port in sets[""] and port in sets["LOCAL-"], f"{port} is not in both: {sets}")
    t.require(other in sets[""] and other not in sets["LOCAL-"], f"{other} is not in the one without LOCAL alone: {sets}")
    for host in (FIRST, NODE_SECOND):
        weights = ipvs.weights(t, service.node(host))
        t.require(weights == {ipvs.real(t, E1): 1}, f"at {host.ip(t.family)}: {weights}")
        t.expect(EXT, service.node(host), kept(E1))
        t.expect(EXT, plain.node(host), masqueraded(E1, E2))
    t.require(not any(address.split("/")[0] in node_addresses(t.family) for address in ipvs.bound(t)), "a node address is bound")
    service.set_endpoints([ready(E2), ready(E3)])
    t.settle()
    t.expect(EXT, service.node(), t.differs(NO_LOCAL, kept(E2, E3), kept(E2, E3)))


@case(123, "an SCTP node port is in the set of addresses and ports, once per node address",
      **{**ONLY, "protocols": ["sctp"]})
def sctp_node_port(t):
    service = t.service(BOTH, type="NodePort", node_port=True, external_policy="Local")
    plain = t.service(BOTH, type="NodePort", node_port=True)
    t.settle()
    for one, kinds in ((service, ["", "LOCAL-"]), (plain, [""])):
        for kind in ("", "LOCAL-"):
            found = {entry for entry in ipvs.entries(t, f"NODE-PORT-{kind}SCTP-HASH") if entry.endswith(f":{one.node_port}")}
            wanted = {f"{ip},sctp:{one.node_port}" for ip in node_addresses(t.family)} if kind in kinds else set()
            t.require(found == wanted, f"NODE-PORT-{kind}SCTP-HASH has {found}, not {wanted}")


@case(123, "source ranges: load balancer and ranges are in their sets, other clients are dropped; the node itself is allowed "
      "only if a range contains its address", **ONLY)
def source_ranges(t):
    without = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
    with_node = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family], NODES[t.family]])
    t.settle()
    sets = {name: ipvs.entries(t, f"LOAD-BALANCER-{name}") for name in ("FW", "SOURCE-CIDR", "SOURCE-IP")}
    for service, ranges, own in ((without, [CLIENTS], False), (with_node, [CLIENTS, NODES], True)):
        entry = ipvs.entry(service.vip())
        t.require(entry in sets["FW"], f"{entry} is not in FW")
        found = {one for one in sets["SOURCE-CIDR"] if one.startswith(f"{entry},")}
        t.require(found == {f"{entry},{one[t.family]}" for one in ranges}, f"in SOURCE-CIDR is {found}")
        t.require((f"{entry},{service.vip().ip}" in sets["SOURCE-IP"]) == own, f"SOURCE-IP: {sets['SOURCE-IP']}")
        rules = [line for line in chains.rules(t.saved("filter"), "KUBE-IPVS-OUT-FILTER") if f"-s {service.vip().ip}/" in line]
        t.require(bool(rules) != own, f"KUBE-IPVS-OUT-FILTER has {rules}")
        t.require(all(f"--vport {service.vip().port}" in line and line.endswith("-j DROP") for line in rules), f"{rules}")
    last = chains.rules(t.saved("filter"), "KUBE-SOURCE-RANGES-FIREWALL")[-1:]
    t.require(last == ["-A KUBE-SOURCE-RANGES-FIREWALL -j DROP"], f"the last rule is {last}")


def sysctls(t, *names):
    return {name: ipvs.sysctl(t, f"net.ipv4.{name}") for name in names}


def kernel_version(t):
    major, minor = t.topology.run("node", "uname", "-r").stdout.split(".")[:2]
    return int(major), int(re.match(r"\d+", minor).group())


@own_daemon(124, "IPVS sysctls have the values for this kernel; ARP sysctls are set with --ipvs-strict-arp only",
            **TCP_ONLY)
def sysctls_set(t):
    arp = ("conf.all.arp_ignore", "conf.all.arp_announce")
    own = ("vs.conntrack", "vs.expire_nodest_conn", "vs.expire_quiescent_template")
    t.defer(lambda: t.topology.run("node", "sysctl", "-qw", *(f"net.ipv4.{name}=0" for name in arp)))
    t.bench.daemon.stop()
    t.topology.run("node", "sysctl", "-qw", *(f"net.ipv4.{name}=0" for name in (*arp, *own)), "net.ipv4.vs.conn_reuse_mode=1")
    t.bench.start_daemon()
    t.require(set(sysctls(t, *own).values()) == {"1"}, f"{sysctls(t, *own)}")
    reuse = "0" if (4, 1) <= kernel_version(t) < (5, 9) else "1"
    t.require(sysctls(t, "vs.conn_reuse_mode") == {"vs.conn_reuse_mode": reuse}, f"{sysctls(t, 'vs.conn_reuse_mode')}")
    t.require(set(sysctls(t, *arp).values()) == {"0"}, f"without strictARP: {sysctls(t, *arp)}")
    t.bench.daemon.stop()
    t.bench.flags = [*t.bench.flags, "--ipvs-strict-arp"]
    t.bench.start_daemon()
    t.require(list(sysctls(t, *arp).values()) == ["1", "2"], f"with strictARP: {sysctls(t, *arp)}")


@own_daemon(None, "--init-only writes the sysctls of IPVS and of strictARP, creates no rule, set, virtual server or link, and "
            "exits with 0",
            **TCP_ONLY)
def init_only(t):
    own = ("vs.conntrack", "vs.expire_nodest_conn", "vs.expire_quiescent_template", "conf.all.arp_ignore")
    t.defer(lambda: t.topology.run("node", "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=0", "net.ipv4.conf.all.arp_announce=0"))
    t.bench.daemon.stop()
    t.bench.cleanup()
    t.topology.run("node", "sysctl", "-qw", *(f"net.ipv4.{name}=0" for name in own))
    before = ipvs.dump(t)
    done = t.bench.daemon.run([*t.bench.daemon.command([], t.bench.flags)[1:], "--ipvs-strict-arp", "--init-only"])
    t.require(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}")
    t.require(set(sysctls(t, *own).values()) == {"1"}, f"{sysctls(t, *own)}")
    t.require(not ipvs.difference(before, ipvs.dump(t)), f"created: {ipvs.difference(before, ipvs.dump(t))}")
    t.bench.start_daemon()


# The rules.


def rules_of(t, table, chain):
    """Without comments, and without the family in names."""
    lines = [re.sub(r' -m comment --comment ("[^"]*"|\S+)', "", line) for line in chains.rules(t.saved(table), chain)]
    return [line.removeprefix(f"-A {chain} ").replace("KUBE-6-", "KUBE-") for line in lines]


def to(chain, name, dimensions, *more):
    return " ".join(["-m set --match-set", ipvs.set_name(name, V4), dimensions, *more, "-j", chain])


def external(name):
    return [to("ACCEPT", name, "dst,dst", "-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL"),
            to("ACCEPT", name, "dst,dst", "-m addrtype --dst-type LOCAL")]


@case((116, 122, 123), "with every kind of Service the rules are those of the behaviour reference, each in its position",
      exclusive=True, legacy=["ipvs"], **TCP_ONLY)
def all_rules(t):
    for policy in ("Cluster", "Local"):
        t.service(BOTH, type="LoadBalancer", external=True, external_policy=policy, protocols=["tcp", "udp", "sctp"])
    t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family], NODES[t.family]])
    outside = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[ELSEWHERE[t.family]])
    checked = t.service(BOTH, type="LoadBalancer", vip=True, external_policy="Local")
    checked.update(health_port=health.port_for(checked))
    t.settle()
    node_ports = []
    for protocol, dimensions, suffix in (("tcp", "dst", "TCP"), ("udp", "dst", "UDP"), ("sctp", "dst,dst", "SCTP-HASH")):
        node_ports += [f"-p {protocol} " + to(chain, f"NODE-PORT-{kind}{suffix}", dimensions)
                       for kind, chain in (("LOCAL-", "RETURN"), ("", "KUBE-MARK-MASQ"))]
    loopback, length = ("127.0.0.0/8", 32) if t.family == V4 else ("::1/128", 128)
    mark = "0x4000/0x4000"
    wanted = {
        ("nat", "KUBE-SERVICES"): [
            f"-s {loopback} -j RETURN", to("KUBE-LOAD-BALANCER", "LOAD-BALANCER", "dst,dst"),
            f"! -s {CLUSTER_CIDR[t.family]} " + to("KUBE-MARK-MASQ", "CLUSTER-IP", "dst,dst"),
            to("KUBE-MARK-MASQ", "EXTERNAL-IP", "dst,dst"), *external("EXTERNAL-IP"), *external("EXTERNAL-IP-LOCAL"),
            "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT", to("ACCEPT", "CLUSTER-IP", "dst,dst"),
            to("ACCEPT", "LOAD-BALANCER", "dst,dst")],
        ("nat", "KUBE-LOAD-BALANCER"): [to("RETURN", "LOAD-BALANCER-LOCAL", "dst,dst"), "-j KUBE-MARK-MASQ"],
        ("nat", "KUBE-NODE-PORT"): node_ports,
        ("nat", "KUBE-MARK-MASQ"): [f"-j MARK --set-xmark {mark}"],
        ("nat", "KUBE-POSTROUTING"): [
            to("MASQUERADE", "LOOP-BACK", "dst,dst,src"), f"-m mark ! --mark {mark} -j RETURN",
            "-j MARK --set-xmark 0x4000/0x0", "-j MASQUERADE --random-fully"],
        ("nat", "KUBE-IPVS-HANDOVER"): [
            f"-m conntrack --ctstate DNAT -m mark ! --mark {mark} " + to("MASQUERADE", "IPVS-IPS", "src") + " --random-fully"],
        ("filter", "KUBE-FORWARD"): [f"-m mark --mark {mark} -j ACCEPT", "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"],
        ("filter", "KUBE-NODE-PORT"): [to("ACCEPT", "HEALTH-CHECK-NODE-PORT", "dst")],
        ("filter", "KUBE-PROXY-FIREWALL"): [to("KUBE-SOURCE-RANGES-FIREWALL", "LOAD-BALANCER-FW", "dst,dst")],
        ("filter", "KUBE-SOURCE-RANGES-FIREWALL"): [
            to("RETURN", "LOAD-BALANCER-SOURCE-CIDR", "dst,dst,src"), to("RETURN", "LOAD-BALANCER-SOURCE-IP", "dst,dst,src"),
            "-j DROP"],
        ("filter", "KUBE-IPVS-FILTER"): [
            *(to("RETURN", name, "dst,dst") for name in ("LOAD-BALANCER", "CLUSTER-IP", "EXTERNAL-IP", "EXTERNAL-IP-LOCAL")),
            to("RETURN", "HEALTH-CHECK-NODE-PORT", "dst"),
            "-m conntrack --ctstate NEW " + to("REJECT", "IPVS-IPS", "dst")],
        ("filter", "KUBE-IPVS-OUT-FILTER"): [
            f"-s {outside.vip().ip}/{length} -m ipvs --vaddr {outside.vip().ip} --vproto 6 --vport 80 -j DROP"],
    }
    for (table, chain), rules in wanted.items():
        found = rules_of(t, table, chain)
        # Names of sets are truncated, those of IPv6 sooner.
        rules = [re.sub(r"(?<=--match-set )KUBE-(\S+)",
                        lambda name: ipvs.set_name(name[1], t.family).replace("KUBE-6-", "KUBE-"), line) for line in rules]
        # REJECT is listed with its ICMP type; the address after vaddr with or without its length.
        found = [re.sub(r" --reject-with \S+", "", re.sub(r"(--vaddr \S+?)/\d+", r"\1", line)) for line in found]
        found = [re.sub(r"-m (tcp|udp|sctp) ?", "", line) for line in found]
        t.require(sorted_words(found) == sorted_words(rules), f"{table} {chain} is {found}, not {rules}")
    jumps = {("nat", "PREROUTING", "KUBE-SERVICES"), ("nat", "OUTPUT", "KUBE-SERVICES"), ("nat", "POSTROUTING", "KUBE-POSTROUTING"),
             ("nat", "POSTROUTING", "KUBE-IPVS-HANDOVER"),
             ("filter", "FORWARD", "KUBE-FORWARD"), ("filter", "INPUT", "KUBE-NODE-PORT"), ("filter", "INPUT", "KUBE-PROXY-FIREWALL"),
             ("filter", "FORWARD", "KUBE-PROXY-FIREWALL"), ("filter", "INPUT", "KUBE-IPVS-FILTER"),
             ("filter", "OUTPUT", "KUBE-IPVS-OUT-FILTER")}
    found = [(table, chain, line.rsplit(" ", 1)[1]) for table in ("nat", "filter")
             for chain in ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
             for line in chains.rules(t.saved(table), chain) if " -j KUBE-" in line and "KUBE-FIREWALL" not in line]
    t.require(len(found) == len(jumps) and set(found) == jumps, f"the jumps are {found}")


def sorted_words(rules):
    """Rules in order; the position of a match within a rule does not matter."""
    return [sorted(rule.split()) for rule in rules]


# What is written.


IMPOSSIBLE = {V4: ("0.0.0.0", "127.0.0.9", "224.0.0.9", "255.255.255.255"), "v6": ("::", "::1", "ff05::9")}


@case(None, "external IPs that no node can have (unspecified, loopback, multicast, broadcast) are skipped with one log line; "
      "the rest of the Service is served, and all other Services", exclusive=True, **{**TCP_ONLY, "families": [V4, "v6"]})
def impossible_addresses(t):
    before = len(t.bench.daemon.log())
    bad = [t.service(BOTH, spec={"externalIPs": [ip]}) for ip in IMPOSSIBLE[t.family]]
    other = t.service(BOTH)
    t.settle()
    t.expect(POD, [one.cluster() for one in bad], kept(E1, E2))
    other.set_endpoints([ready(E2)])
    t.settle()
    t.wait_until(lambda: ipvs.weights(t, other.cluster()) == {ipvs.real(t, E2): 1}, "another Service changes", seconds=2)
    bound = {address.split("/")[0] for address in ipvs.bound(t)}
    t.require(not bound & set(IMPOSSIBLE[t.family]), f"bound are {bound}")
    said = t.bench.daemon.log()[before:].splitlines()
    for ip, service in zip(IMPOSSIBLE[t.family], bad):
        lines = [line for line in said if line[:1] in "WE" and f'"{ip}" ' in line and f"/{service.name}" in line]
        t.require(len(lines) == 1, f"of {ip} it says {lines}")


@case(81, "a change of labels and annotations only writes nothing to IPVS, sets and addresses either", exclusive=True, **TCP_ONLY)
def metadata_writes_nothing(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    quiet(t)
    before, writes = ipvs.dump(t), ipvs.all_writes(t)
    service.update(labels={"team": "blue"}, annotations={"note": "changed"})
    time.sleep(1)  # fixed time: proves that nothing is written
    t.require(ipvs.all_writes(t) == writes, f"writes and messages were {writes}, now {ipvs.all_writes(t)}")
    t.require(ipvs.dump(t) == before, f"something changed: {ipvs.difference(before, ipvs.dump(t))}")
    # By now it has arrived in any case.
    t.settle()
    before, now = (ipvs.about(lines, service.cluster().ip, service.external().ip, service.vip().ip)
                   for lines in (before, ipvs.dump(t)))
    t.require(before and now == before, f"something changed: {ipvs.difference(before, now)}")


def draining(t):
    """Our virtual servers with a real server that takes no new connections."""
    return [name for name, server in ipvs.servers(t).items()
            if 0 in server.real.values() and not name.startswith(FOREIGN_NAMES)]


def quiet(t):
    """Returns once earlier changes are written. A draining real server would be deleted later."""
    t.wait_until(lambda: not draining(t), "what went has drained", seconds=80)
    t.require(pace.wait_unchanged(lambda: ipvs.all_writes(t), quiet=0.7, seconds=20, every=0.2) is not None, "writing never ends")


@case((82, 95, 97), "an endpoint comes and goes: few netlink messages, only about its own virtual servers",
      exclusive=True, legacy=["ipvs"], **TCP_ONLY)
def endpoint_leaves(t):
    bystander = t.service(BOTH, type="LoadBalancer", external=True)
    service = t.service([ready(E2), ready(E3)], type="LoadBalancer", external=True)
    t.settle()
    quiet(t)
    fronts = [ipvs.key(front) for front in [service.cluster(), *service.externals(), service.node(NODE_SECOND)]]
    with WriteWatch(t.topology) as watch:
        before, writes = ipvs.dump(t), ipvs.kernel_writes(t)
        service.set_endpoints([ready(E2)])
        gone = ipvs.real(t, E3)
        t.wait_until(lambda: not any(gone in ipvs.servers(t)[front].real for front in fronts), "e3 is gone")
        quiet(t)
        after, took = ipvs.dump(t), ipvs.kernel_writes(t) - writes
        watch.expect_none(t, "an endpoint went")
    lines = sorted(set(before) ^ set(after))
    wanted = sorted(f"server {front} real {gone} -m weight 1" for front in fronts)
    t.require(lines == wanted, f"changed are {lines}, not {wanted}")
    t.require(0 < took <= 2 * len(fronts), f"{took} writes")
    t.expect(EXT, service.vip(), masqueraded(E2))
    t.expect(EXT, bystander.vip(), masqueraded(E1, E2))


@case(96, "a deleted Service: only its virtual servers, entries and addresses are removed; the only rules that change are those "
      "of sets that became empty", exclusive=True, **TCP_ONLY)
def service_deleted(t):
    t.service(BOTH, type="LoadBalancer", external=True)
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    quiet(t)
    addresses = [service.cluster().ip, service.external().ip, service.vip().ip]

    def own(lines):
        return {*ipvs.about(lines, *addresses), *(line for line in lines if re.search(rf"[: ]{service.node_port}(/|$)", line))}

    before, rules = ipvs.dump(t), t.saved()
    service.delete_service()
    t.wait_until(lambda: ipvs.key(service.cluster()) not in ipvs.servers(t), "its virtual server is gone")
    quiet(t)
    after = ipvs.dump(t)
    changed = sorted((set(before) ^ set(after)) - own(before) - own(after))
    t.require(not changed, f"foreign objects changed: {changed[:4]}")
    t.require(len(own(before)) > 15, f"there was little of it to begin with: {own(before)}")
    t.require(not own(after), f"of it is left: {sorted(own(after))[:4]}")
    t.require(t.saved() == rules, "rules changed")


@own_daemon(98, "rules that cannot be written are counted as a failure; the next attempt writes everything",
            legacy=["ipvs"], **TCP_ONLY)
def restore_fails(t):
    steady = t.service(BOTH)
    t.settle()
    tools = t.topology.tools
    refused = tools.turned_away()
    with tools.wrapped():
        tools.refuse(".", "nothing")
        t.defer(tools.accept_all)
        # The first one with ranges: sets that were empty get rules.
        service = t.service(BOTH, type="LoadBalancer", vip=True, source_ranges=[CLIENTS[t.family]])
        t.wait_until(lambda: tools.turned_away() > refused, "a write was refused")
        t.wait_until(lambda: any(family["failures"] for family in t.status()["families"]), "it is counted as a failure")
        t.expect(POD, steady.cluster(), kept(E1, E2))
        tools.accept_all()
        t.expect_soon(EXT, service.vip(), masqueraded(E1, E2), seconds=15)
    t.wait_until(lambda: all(family["synced"] for family in t.status()["families"]), "synced again")


@case(None, "terminating endpoints on this node are in the hairpin sets, in every state",
      **TCP_ONLY)
def hairpin_of_terminating(t):
    service = t.service()
    local = mine(E1, service)
    entry = f"{local.ip(t.family)},tcp:80,{local.ip(t.family)}"
    service.set_endpoints([terminating(local), ready(E2)])
    t.settle()
    t.require(entry in ipvs.entries(t, "LOOP-BACK"), "a terminating endpoint is not among those of hairpins")
    service.set_endpoints([ready(E2)])
    t.settle()
    t.require(entry not in ipvs.entries(t, "LOOP-BACK"), "it is still there when it is gone")


@case(None, "an unused port of a service address is rejected for pods, outside clients and the node, TCP and UDP; so is a "
      "ping", **ONLY)
def other_ports(t):
    service = t.service(BOTH)
    t.settle()
    t.expect([POD, EXT, NODE_SECOND], Front(service.cluster().ip, 9, t.protocol), REJECTED)
    done = t.topology.run("pod", "ping", "-c", "1", "-W", f"{pace.stretched(3):.0f}", service.cluster().ip, check=False)
    t.require(done.returncode != 0 and "nreachable" in done.stdout, f"a ping is not rejected: {done.stdout}")
