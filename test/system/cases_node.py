# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel settings of the node (BEH 9.2), and changes of the Node object and of the
node's addresses at run time (BEH 1.4, 11.4; case 139)."""

import copy

from lib import ipvs, nftables, objects
from lib.addresses import E1, E2, NODE, NODE_SECOND, V4
from lib.bench import BOTH_CIDRS, prompt
from lib.cases import EXT, REJECTED, VACANT, case, masqueraded, own_daemon
from lib.objects import ready

ABOVE_BACKENDS = True

CONNTRACK = "net.netfilter.nf_conntrack_"


def setting(t, name):
    return t.topology.run("node", "sysctl", "-n", CONNTRACK + name).stdout.strip()


def restart(t, flags):
    t.bench.daemon.stop()
    t.bench.daemon.start(t.bench.source.daemon_flags(), [*prompt(t.bench.backend), *flags])


@own_daemon(None, "conntrack settings are those of kube-proxy; settings that a namespace may not change are one warning",
            sources=["manifests"])
def conntrack_settings(t):
    before = {name: setting(t, name) for name in ("udp_timeout", "udp_timeout_stream", "tcp_be_liberal")}
    t.defer(lambda: t.topology.run("node", "sysctl", "-qw", *(f"{CONNTRACK}{n}={v}" for n, v in before.items())))
    t.require(setting(t, "tcp_timeout_established") == "86400", "the default of established connections")
    t.require(setting(t, "tcp_timeout_close_wait") == "3600", "the default of half closed connections")
    t.topology.run("node", "sysctl", "-qw", CONNTRACK + "tcp_timeout_close_wait=55")
    restart(t, [*BOTH_CIDRS, "--conntrack-udp-timeout=77900ms", "--conntrack-udp-timeout-stream=2m",
                "--conntrack-tcp-timeout-close-wait=0", "--conntrack-tcp-be-liberal", "--conntrack-min=654321"])
    t.bench.daemon.wait_synced()
    seen = {name: setting(t, name) for name in (*before, "tcp_timeout_close_wait")}
    wanted = {"udp_timeout": "77", "udp_timeout_stream": "120", "tcp_be_liberal": "1", "tcp_timeout_close_wait": "55"}
    t.require(seen == wanted, f"the kernel has {seen}")
    invalid = [line for line in t.saved("filter") if "INVALID" in line]
    t.require(not invalid, f"the backend does not know that conntrack is liberal: {invalid}")
    # No machine has this value already.
    warnings = [line for line in t.bench.daemon.log().splitlines() if "nf_conntrack_max" in line and "654321" in line]
    t.require(len(warnings) == 1, f"{len(warnings)} lines about it: {warnings}")
    with open(f"/proc/{t.bench.daemon.pid}/oom_score_adj", encoding="utf-8") as file:
        score = file.read().strip()
    # Some root users, in containers, may not lower it; then the log says so.
    t.require(score == "-999" or "cannot set /proc/self/oom_score_adj" in t.bench.daemon.log(), f"the OOM score is {score}")


def with_node(t, change):
    """Creates the Node object again, changed by the function."""
    made = copy.deepcopy(objects.node({objects.ZONE_LABEL: "a"}))
    change(made)
    t.bench.source.put(made)


@own_daemon(139, "NodeCIDR: a changed range ends the daemon with exit status 1 and an error")
def pod_cidrs_change(t):
    with_node(t, lambda node: node["spec"].update(podCIDRs=["10.0.0.0/8"], podCIDR="10.0.0.0/8"))
    restart(t, ["--detect-local-mode", "NodeCIDR"])
    t.bench.daemon.wait_synced()
    # A real server forbids the change; a Node that is created again may have another range.
    t.bench.source.delete(objects.node({}))
    with_node(t, lambda node: node["spec"].update(podCIDRs=["10.1.0.0/16"], podCIDR="10.1.0.0/16"))
    line = t.bench.daemon.wait_logged("changed from 10.0.0.0/8 to 10.1.0.0/16")
    t.require(line is not None, f"no sentence: {t.bench.daemon.log_tail()}")
    t.require(t.bench.daemon.stop() == 1, "the exit status is not 1")
    restart(t, BOTH_CIDRS)
    t.bench.daemon.wait_synced()


@own_daemon(None, "`primary` waits for a late Node, and keeps its first addresses")
def late_node(t):
    daemon, source = t.bench.daemon, t.bench.source
    daemon.stop()
    source.delete(objects.node({}))
    daemon.start(source.daemon_flags(), [*prompt(t.bench.backend), *BOTH_CIDRS, "--nodeport-addresses",
                                           "primary"])
    daemon.wait_synced()
    service = t.service([ready(E1), ready(E2)], type="NodePort", node_port=True)
    first, second = service.node(NODE), service.node(NODE_SECOND)
    # Unknown: every address.
    t.expect_soon(EXT, second, masqueraded(E1, E2))
    with_node(t, lambda node: node["status"].update(addresses=[]))
    t.require(daemon.wait_logged("has no addresses yet") is not None, "no word of a Node without addresses")
    with_node(t, lambda node: None)
    unserved = VACANT if t.relayed else REJECTED
    t.expect_soon(EXT, second, unserved)
    t.expect(EXT, first, masqueraded(E1, E2))
    with_node(t, lambda node: node["status"].update(
        addresses=[{"type": "InternalIP", "address": NODE_SECOND.v4}]))
    t.require(daemon.wait_logged("changed to", "until a restart") is not None, "no word of the change")
    t.expect(EXT, first, masqueraded(E1, E2))
    t.expect(EXT, second, unserved)
    source.delete(objects.node({}))
    t.require(daemon.wait_logged("was deleted from the API server") is not None, "no word of the deletion")
    t.expect(EXT, first, masqueraded(E1, E2))
    t.expect(EXT, second, unserved)


def written(t):
    """State of the backend in the kernel, as lines."""
    if t.ipvs:
        return ipvs.dump(t)
    return nftables.lines(t) if t.nftables else t.saved("nat")


def address_case(name, title, config, inside, outside):
    """`inside` is an address that serves node ports when it appears; `outside` never does."""

    @case(None, title, config=config, families=[V4], protocols=["tcp"], sources=["manifests"],
          exclusive=True, above=False)
    def run(t):
        def device(action, ip):
            t.topology.run("node", "ip", "addr", action, f"{ip}/32", "dev", "eth1", check=action == "add")

        service = t.service([ready(E1), ready(E2)], type="NodePort", node_port=True)
        t.settle()
        hammer = t.hammer(EXT, service.node(NODE))
        for ip in filter(None, (inside, outside)):
            t.topology.run("client", "ip", "route", "replace", f"{ip}/32", "via", NODE.v4)
            t.defer(lambda ip=ip: t.topology.run("client", "ip", "route", "del", f"{ip}/32"))
            t.defer(lambda ip=ip: device("del", ip))
        for _ in range(2):
            for ip in filter(None, (inside, outside)):
                device("add", ip)
            if inside:
                t.expect_soon(EXT, service.at(inside), masqueraded(E1, E2))
            if outside:
                t.expect_soon(EXT, service.at(outside), VACANT if t.relayed else REJECTED)
            for ip in filter(None, (inside, outside)):
                device("del", ip)
            if inside:
                # No host has the address any more, so packets cannot show it.
                t.wait_until(lambda: not any(inside in line for line in written(t)), f"no rule for {inside}")
        t.require_unbroken(hammer, "while addresses came and went")

    run.__name__ = name


address_case("cidr_addresses", "node ports in a range: a new address in the range serves, one outside does not",
             "nodeports-one-subnet", "192.168.0.77", "192.168.7.77")
address_case("primary_addresses", "node ports on `primary`: added and removed addresses change nothing",
             "nodeports-primary", None, "192.168.0.78")
address_case("all_addresses", "node ports on all addresses: an address serves as soon as the kernel has it",
             "nodeports-only-ipv6", "192.168.7.79", None)
