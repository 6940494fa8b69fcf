# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""nftables mode with offloadInterfaces: established flows skip the forward hook, end when they must, and leave nothing behind.
Most cases need a kernel with flowtables, see part vm."""

import json
import re

from lib import addresses as a
from lib import nftables, pace, swapping, traffic
from lib.addresses import E1, E2, FAMILIES
from lib.bench import PERIOD
from lib.cases import EXT, POD, Skip, masqueraded, own_daemon
from lib.objects import ready
from lib.traffic import Flow
from cases_conntrack import Client, entries
from cases_nftables import ONLY, services_of_every_kind
from cases_swap import DRAIN, exchange

INTERFACES = "[eth0, \"veth*\"]"
FLOWTABLE = "service-flows"
WITHOUT = "the kernel has no flowtables"
PROBE = "table inet sluice-try { flowtable try { hook ingress priority 0; }; chain forward { flow add @try; }; }\n"


def supported(t):
    """Whether the kernel has flowtables."""
    return nftables.nft(t, PROBE + "delete table inet sluice-try\n", check=False).returncode == 0


def offload(t, interfaces=INTERFACES):
    """The fields of the second document that turn it on."""
    section = f"backends:\n  nftables:\n    offloadInterfaces: {interfaces}\n" if interfaces else ""
    return f"manifests: {t.bench.source.daemon_flags()[1]}\n{section}"


def started(t, interfaces=INTERFACES, **settings):
    if not supported(t):
        raise Skip(WITHOUT)
    return swapping.Swappable(t, "nftables", more=offload(t, interfaces), **settings)


def offloaded_interfaces(t):
    """The interfaces of the flowtable; None without one."""
    listed = t.topology.run("node", "nft", "--json", "list", "flowtables", nftables.IPX[t.family]).stdout
    for entry in json.loads(listed)["nftables"]:
        if entry.get("flowtable", {}).get("name") == FLOWTABLE:
            devices = entry["flowtable"].get("dev", [])
            return {devices} if isinstance(devices, str) else set(devices)
    return None


def forwarded(t):
    """The packets of translated connections that passed the forward hook."""
    listed = t.topology.run("node", "nft", "list", "table", nftables.IPX[t.family], "counted").stdout
    return int(re.search(r"packets (\d+)", listed).group(1))


def count_forwarded(t):
    ipx = nftables.IPX[t.family]
    nftables.nft(t, f"table {ipx} counted {{ chain seen {{ type filter hook forward priority -200; ct status dnat counter; }}; }}\n")
    t.defer(lambda: t.topology.run("node", "nft", "delete", "table", ipx, "counted", check=False))


@own_daemon(None, "offloadInterfaces on a kernel without flowtables: the reload fails, names what is missing, and the running "
            "configuration is kept", **ONLY)
def refused_without_flowtables(t):
    if supported(t):
        raise Skip("the kernel has flowtables")
    daemon = swapping.Swappable(t, "nftables")
    service = t.service([ready(E1), ready(E2)], type="LoadBalancer", external=True)
    t.settle()
    daemon.write(more=offload(t))
    done = daemon.reload()
    t.require(done.returncode != 0, "the reload succeeded")
    said = done.stdout + done.stderr
    t.require("offloadInterfaces needs flowtables" in said and "nft_flow_offload" in said, f"it says {said[-300:]}")
    t.expect(EXT, service.vip(), masqueraded(E1, E2))
    daemon.write(more=offload(t, None))
    daemon.require_reload("without it")


@own_daemon(None, "offloadInterfaces: packets of established connections skip the forward hook, by cluster IP and node port; a "
            "connection to an endpoint, and without a translation, is not offloaded", families=FAMILIES, **ONLY)
def skips_the_forward_hook(t):
    started(t)
    service = t.service([ready(E1), ready(E2)], type="NodePort", node_port=True, protocols=["tcp", "udp"],
                        ports=[("p80", 80, traffic.PORT)])
    traffic.serve(t, E1, E2)
    t.settle()
    count_forwarded(t)
    both, beat = (E1, E2), round(20 * pace.SLOWNESS)
    cluster, node = service.cluster(), service.node()
    flows = [Flow("to the cluster IP", "tcp-held", POD, cluster.ip, 80, both, every_ms=beat, count=2, kept=True),
             Flow("to the node port", "tcp-held", a.NODE2, node.ip, node.port, both, every_ms=beat),
             Flow("UDP to the cluster IP", "udp-fixed", POD, cluster.ip, 80, both, every_ms=beat, kept=True),
             Flow("UDP to the node port", "udp-fixed", a.NODE2, node.ip, node.port, both, every_ms=beat)]
    running = traffic.Traffic(t, flows).wait_flowing()

    def all_offloaded():
        found = [line for protocol in ("tcp", "udp") for line in entries(t, protocol)]
        through = [line for line in found if f" dport={traffic.PORT} " not in line.partition("src=")[2].partition("src=")[0]
                   and (f" dst={cluster.ip} " in line or f" dport={node.port} " in line)]
        return len(through) >= 5 and all("[OFFLOAD]" in line for line in through)

    t.wait_until(all_offloaded, "all flows through the Service are offloaded", seconds=20)
    before, seen = running.progress(), forwarded(t)
    t.wait_until(lambda: all(traffic.since(before, running.progress())[flow.name]["ok"] >= 20 for flow in flows),
                 "each flow is answered 20 times", seconds=60)
    passed = forwarded(t) - seen
    answered = sum(traffic.since(before, running.progress())[flow.name]["ok"] for flow in flows)
    t.require(passed <= answered // 20, f"{passed} packets passed the forward hook while {answered} requests were answered")
    straight = [line for line in entries(t, "tcp") if f" dport={traffic.STRAIGHT_PORT} " in line]
    t.require(straight and not any("[OFFLOAD]" in line for line in straight), f"flows without a Service are {straight[:2]}")
    traffic.require_unharmed(t, flows, running.stop(), "offloaded")


@own_daemon(None, "offloadInterfaces: an offloaded UDP flow moves at once when its endpoint is removed, and ends with the last one",
            families=FAMILIES, **{**ONLY, "protocols": ("udp",)})
def endpoint_removed(t):
    started(t)
    service = t.service([ready(E1)], type="LoadBalancer", external=True)
    t.settle()
    moving = [Client(t, POD, service.cluster()), Client(t, EXT, service.vip()), Client(t, EXT, service.node())]

    def offload_flow(client, host):
        t.wait_until(lambda: client.ask() == host.name and "[OFFLOAD]" in client.tracked(), f"a flow to {host.name} is offloaded",
                     seconds=30)

    for client in moving:
        offload_flow(client, E1)
    service.set_endpoints([ready(E2)])
    t.settle()
    for client in moving:
        client.expect_soon(E2, "after e1 was replaced")
        offload_flow(client, E2)
    service.set_endpoints([])
    t.settle()
    for client in moving:
        client.expect_removed("after the last endpoint went")


@own_daemon(None, "offloadInterfaces: a restart writes nothing; new interfaces are added, and those that another process removed; a "
            "flushed ruleset is repaired; `nft` loads its own listing; turned off, nothing of it is left", **ONLY)
def interfaces_come_and_go(t):
    daemon = started(t)
    kinds = services_of_every_kind(t)
    first = {"eth0", "vethpod", "vethe1", "vethe4"}
    t.wait_until(lambda: offloaded_interfaces(t) == first, f"the interfaces are {first}, not {offloaded_interfaces(t)}")
    daemon.daemon.stop()
    daemon.start()
    t.require(nftables.kernel_writes(t) == 0, f"a restart writes {nftables.kernel_writes(t):.0f} objects")
    t.topology.run("node", "ip", "link", "add", "vethnew", "type", "veth", "peer", "name", "other0")
    t.defer(lambda: t.topology.run("node", "ip", "link", "del", "vethnew", check=False))
    t.wait_until(lambda: offloaded_interfaces(t) == first | {"vethnew"}, "a new interface is offloaded", seconds=3 * PERIOD + 10)
    t.topology.run("node", "ip", "link", "del", "vethnew")
    t.wait_until(lambda: offloaded_interfaces(t) == first, "an interface that was deleted is not offloaded")
    ipx = nftables.IPX[t.family]
    for drift in (f"delete flowtable {ipx} kube-proxy {FLOWTABLE} {{ hook ingress priority 0; devices = {{ vethe1 }}; }}\n",
                  f"flush chain {ipx} kube-proxy offload-flows\n", "flush ruleset\n"):
        nftables.nft(t, drift)
        t.wait_until(lambda: offloaded_interfaces(t) == first and "flow add" in t.topology.run(
            "node", "nft", "list", "chain", ipx, "kube-proxy", "offload-flows", check=False).stdout, f"repaired: {drift}", seconds=20)
    t.expect(EXT, kinds[0].vip(), masqueraded(E1, E2))
    daemon.write(more=offload(t, "[\"none*\"]"))
    daemon.require_reload("other interfaces")
    t.wait_until(lambda: offloaded_interfaces(t) == set(), "no interface is left")
    # The namespace that loads it has no interfaces.
    done, text, again = nftables.reload_listing(t)
    t.require(done.returncode == 0 and text == again, f"the listing does not load: {done.stderr[:300]}")
    daemon.write(more=offload(t, None))
    daemon.require_reload("turned off")
    t.wait_until(lambda: offloaded_interfaces(t) is None, "the flowtable is gone")
    table = nftables.read(t)
    t.require(not {"offload-flows", "filter-forward-offload"} & set(table.chains), "a chain is left")
    t.require(not {"service-traffic", "nodeport-traffic"} & set(table.sets), "a set is left")
    t.expect(EXT, kinds[0].vip(), masqueraded(E1, E2))


@own_daemon(None, "offloadInterfaces: swaps to iptables mode and back, under traffic: nothing fails, nothing is cut or lost, offloaded "
            "connections live on, and nothing is left", families=FAMILIES, slow=True, **{**ONLY, "protocols": ("tcp",)})
def swapped(t):
    daemon = started(t, drain=DRAIN)
    everywhere, local = swapping.services(t)
    t.settle()
    steady = traffic.Traffic(t, swapping.steady(everywhere, local)).wait_flowing()
    for other in ("iptables", "nftables"):
        if daemon.mode == "nftables":
            t.wait_until(lambda: any("[OFFLOAD]" in line for line in entries(t, "udp")), "flows are offloaded", seconds=60)
        exchange(t, daemon, everywhere, local, steady, daemon.mode, other)
    t.wait_until(lambda: any("[OFFLOAD]" in line for line in entries(t, "udp")), "flows are offloaded again", seconds=60)
    traffic.require_unharmed(t, steady.flows, steady.stop(), "altogether")
