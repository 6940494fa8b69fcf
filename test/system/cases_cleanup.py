# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""State that kube-proxy in any of its modes has left on a node is removed, and nothing foreign: with --cleanup,
with or without a plugin, and at a start, once the daemon's own rules stand.
"""

import json
import os
import re
import shutil

from lib import foreign, leftovers
from lib.addresses import E1, E2, FAMILIES, V4, V6
from lib.cases import POD, UNTOUCHED, kept, own_daemon
from lib.node_tools import NAMES, VARIANTS
from lib.objects import ready

ABOVE_BACKENDS = True

BOTH = [ready(E1), ready(E2)]


def quiet_node(t):
    """The node with no daemon and no rule of a daemon; the daemon runs again when the case is over."""
    t.bench.daemon.stop()
    t.bench.cleanup()
    remove_firewall(t)
    t.defer(t.bench.start_daemon)
    t.defer(t.bench.cleanup)
    t.defer(t.bench.daemon.stop)


def remove_firewall(t):
    """KUBE-FIREWALL as the daemon creates it; --cleanup leaves the chain to kubelet."""
    for family in FAMILIES:
        tool = t.topology.tools.program(family)
        remove_firewall_jumps(t, tool)
        for words in (["-F"], ["-X"]):
            t.topology.run("node", tool, "-w", *words, "KUBE-FIREWALL", check=False)


def remove_firewall_jumps(t, tool):
    """All of them: two processes may have created one each at the same time."""
    for chain in ("INPUT", "OUTPUT"):
        while t.topology.run("node", tool, "-w", "-D", chain, "-j", "KUBE-FIREWALL", check=False).returncode == 0:
            pass


def picture(t):
    """Every rule and table, in both variants and families, without counters and generated comments; the sets."""
    lines = []
    for family in FAMILIES:
        for variant in VARIANTS:
            text = t.topology.run("node", f"{NAMES[family]}-{variant}-save", check=False).stdout
            lines += [f"{family} {variant} {re.sub(r' ?.[0-9]+:[0-9]+.$', '', line)}" for line in text.splitlines()
                      if not line.startswith("#")]
    return lines + leftovers.tables(t.topology) + leftovers.sets(t.topology)


def without_builtin(lines):
    """Tables that are empty but for the built-in chains come and go with each listing."""
    return [line for line in lines if not re.search(r" (\*\w+|COMMIT|:[A-Z]+ ACCEPT)$|^ip6? (nat|filter|mangle)$", line)]


def add_kubelet(t):
    for family in FAMILIES:
        for variant in VARIANTS:
            leftovers.restore(t.topology, family, leftovers.KUBELET, variant)
    t.defer(lambda: flush_kubelet(t))


def flush_kubelet(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    for family in FAMILIES:
        for variant in VARIANTS:
            tool = f"{NAMES[family]}-{variant}"
            remove_firewall_jumps(t, tool)
            for line in leftovers.KUBELET.splitlines():
                if line.startswith("*"):
                    table = line[1:]
                elif line.startswith(":"):
                    for action in ("-F", "-X"):
                        t.topology.run("node", tool, "-w", "-t", table, action, line[1:].split()[0])


def add_every_mode(t, kubelet=True):
    leftovers.make_ipvs(t.topology)
    t.defer(lambda: t.topology.run("node", "ipset", "destroy", leftovers.FOREIGN_SET))
    for family in FAMILIES:
        for variant in VARIANTS:
            old = leftovers.iptables_mode(family)
            for text in (old if kubelet else old.replace("KUBE-MARK-DROP", "RETURN"), leftovers.ipvs_mode(family)):
                leftovers.restore(t.topology, family, text, variant)
        t.topology.run("node", "nft", "-f", "-", stdin=leftovers.nftables_mode(
            family, "172.30.255.41" if family == V4 else "fd00:172:30::ff41", 80, [E1.ip(family)]))
    leftovers.restore(t.topology, V4, leftovers.USERSPACE_MODE)


def cleanup_flags(t, plugins=True):
    return ["--cleanup", "--state-dir", t.bench.daemon.state_dir, "--plugin-dir",
            t.bench.programs.plugin_dir(t.topology.directory) if plugins else empty_folder(t)]


def run_cleanup(t, plugins=True):
    return t.bench.daemon.run(cleanup_flags(t, plugins))


def empty_folder(t):
    path = os.path.join(t.topology.directory, "no-plugins")
    os.makedirs(path, exist_ok=True)
    return path


def expect_clean(t, before, done, occasion):
    t.require(done.returncode == 0, f"{occasion}: exit {done.returncode}: {done.stderr[-500:]}")
    difference = foreign.difference("\n".join(without_builtin(before)), "\n".join(without_builtin(picture(t))))
    t.require(not difference, f"{occasion}: the node is not as before: {difference[:600]}")
    t.require(not leftovers.has_link(t.topology), f"{occasion}: {leftovers.LINK} is still there")


@own_daemon(None, "--cleanup removes what kube-proxy left in every mode, both families and both kinds of iptables; "
            "rules, sets and tables of kubelet and of others stay the same bytes; a second run finds nothing",
            sources=["manifests"], backends=["iptables"], legacy=True)
def every_mode(t):
    quiet_node(t)
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    add_kubelet(t)
    before = picture(t)
    foreign_before = foreign.dump(t.topology)
    add_every_mode(t)
    before.append(leftovers.FOREIGN_SET)
    t.require(len(picture(t)) > len(before) + 150, "the leftovers are not there to begin with")
    expect_clean(t, before, run_cleanup(t), "the first run")
    changed = foreign.difference(foreign_before, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed: {changed}")
    again = run_cleanup(t)
    expect_clean(t, before, again, "the second run")
    t.require("no other leftover state" in again.stdout + again.stderr, f"the second run found something: {again.stderr[-300:]}")


@own_daemon(None, "--cleanup without a plugin file removes the same, and what the ownership ledger lists for a removed backend; "
            "an unknown kind is reported and stays in the ownership ledger",
            sources=["manifests"], backends=["iptables"])
def no_plugin(t):
    service = t.service(BOTH)
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2))
    quiet_node(t)
    before = picture(t)
    t.bench.start_daemon()
    t.bench.daemon.stop()
    add_every_mode(t, kubelet=False)
    before.append(leftovers.FOREIGN_SET)
    t.topology.run("node", "ip", "link", "add", "other0", "type", "bridge")
    t.topology.run("node", "nft", "add", "table", "inet", "other")
    leftovers.restore(t.topology, V4, "*nat\n:OTHER-ENTRY - [0:0]\n-A PREROUTING -j OTHER-ENTRY\nCOMMIT\n")
    claim(t, "com.example.other", ["iptables/nat/OTHER-*", "link/other0", "nft/inet/other"])
    done = run_cleanup(t, plugins=False)
    remove_firewall(t)
    expect_clean(t, before, done, "without plugins")
    t.require(not leftovers.has_link(t.topology, "other0"), "the link in the ownership ledger is still there")
    t.require(not ownership_ledger(t), f"the ownership ledger is not empty: {ownership_ledger(t)}")
    claim(t, "com.example.other", ["bpf/map/services"])
    done = run_cleanup(t, plugins=False)
    t.require(done.returncode == 1 and "bpf/map/services" in done.stderr and "com.example.other" in done.stderr,
              f"an unknown kind: exit {done.returncode}: {done.stderr[-300:]}")
    t.require("bpf/map/services" in json.dumps(ownership_ledger(t)), "what stays is missing in the ownership ledger")
    claim(t, "com.example.other", [])


def ownership_ledger_path(t):
    return os.path.join(t.bench.daemon.state_dir, "claims.json")


def ownership_ledger(t):
    with open(ownership_ledger_path(t), encoding="utf-8") as file:
        return json.load(file)["claims"]


def claim(t, backend, artifacts):
    """Adds to the ownership ledger; with no artifacts, removes."""
    entries = [one for one in ownership_ledger(t) if one["backend"] != backend]
    if artifacts:
        entries.append({"backend": backend, "family": "IPv4", "artifacts": artifacts})
    with open(ownership_ledger_path(t), "w", encoding="utf-8") as file:
        json.dump({"format": 1, "claims": entries}, file)


@own_daemon(None, "--cleanup works with a corrupt ownership ledger, on a node without ip6tables, and while a foreign rule "
            "refers to a chain of Sluice: the chain is flushed, kept and reported",
            sources=["manifests"], backends=["iptables"], legacy=True)
def in_the_way(t):
    quiet_node(t)
    tool = t.topology.tools.program(V4)
    for variant in VARIANTS:
        leftovers.restore(t.topology, V4, leftovers.iptables_mode(V4).replace("KUBE-MARK-DROP", "RETURN"), variant)
    t.topology.run("node", tool, "-w", "-I", "FORWARD", "-s", "198.51.100.0/24", "-j", "KUBE-FORWARD")
    with open(ownership_ledger_path(t), "w", encoding="utf-8") as file:
        file.write('{"claims": [{"backend": ')
    # /usr/sbin in the mount namespace of that process.
    command = ["mount", "--bind", folder_without_ip6tables(t), "/usr/sbin", "&&", t.bench.programs.sluiced,
               *cleanup_flags(t, plugins=False)]
    done = t.topology.run("node", "unshare", "-m", "sh", "-c", " ".join(command), check=False)
    t.require(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}")
    t.require(any("KUBE-FORWARD" in line and "FORWARD refers to it" in line for line in done.stderr.splitlines()),
              f"no line reports the foreign rule: {done.stderr[-500:]}")
    left = [line for line in picture(t) if "KUBE-" in line and "KUBE-FIREWALL" not in line and f"{V4} " in line]
    t.require(len(left) == 2 and all("KUBE-FORWARD" in line for line in left), f"left: {left}")
    t.topology.run("node", tool, "-w", "-D", "FORWARD", "-s", "198.51.100.0/24", "-j", "KUBE-FORWARD")
    done = run_cleanup(t)
    left = [line for line in picture(t) if "KUBE-" in line and "KUBE-FIREWALL" not in line]
    t.require(done.returncode == 0 and not left, f"with ip6tables again: exit {done.returncode}, left: {left[:3]}")


def folder_without_ip6tables(t):
    """A folder with the iptables programs of IPv4 only."""
    folder = os.path.join(t.topology.directory, "only-ipv4")
    os.makedirs(folder, exist_ok=True)
    for variant in VARIANTS:
        multi = os.path.realpath(f"/usr/sbin/iptables-{variant}")
        shutil.copy(multi, folder)
        for suffix in ("", "-save", "-restore"):
            link = os.path.join(folder, f"iptables-{variant}{suffix}")
            if not os.path.islink(link):
                os.symlink(os.path.basename(multi), link)
    return folder


@own_daemon(None, "a start beside the live table of a kube-proxy in nftables mode: no connect fails, the table is removed once "
            "the rules of the daemon stand, foreign tables stay", families=(V4, V6), sources=["manifests"], backends=["iptables"],
            legacy=True)
def from_nftables(t):
    service = t.service(BOTH)
    front = service.cluster()
    quiet_node(t)
    t.expect(POD, front, UNTOUCHED)
    t.topology.run("node", "nft", "add", "table", "inet", foreign.FOREIGN_TABLE)
    t.defer(lambda: t.topology.run("node", "nft", "delete", "table", "inet", foreign.FOREIGN_TABLE))
    t.topology.run("node", "nft", "-f", "-", stdin=leftovers.nftables_mode(t.family, front.ip, front.port,
                                                                          [E1.ip(t.family), E2.ip(t.family)]))
    t.expect(POD, front, kept(E1, E2))
    hammer = t.hammer(POD, front)
    t.bench.start_daemon()
    ours = ("ip" if t.family == V4 else "ip6") + " kube-proxy"
    t.wait_until(lambda: ours not in leftovers.tables(t.topology), f"the table {ours} is gone")
    t.expect(POD, front, kept(E1, E2))
    t.require_unbroken(hammer, "from the table of kube-proxy to the daemon")
    t.require(f"inet {foreign.FOREIGN_TABLE}" in leftovers.tables(t.topology), "a foreign table is gone")
    t.require(t.bench.daemon.wait_logged("removed leftover state of nftables mode", ours) is not None, "no line reports it")


@own_daemon(None, "a start after ipvs and userspace mode: chains, sets and the link that iptables mode does not share are "
            "removed, shared chains are adopted, those of kubelet stay", sources=["manifests"], backends=["iptables"],
            legacy=True)
def from_ipvs(t):
    service = t.service(BOTH)
    quiet_node(t)
    add_kubelet(t)
    leftovers.make_ipvs(t.topology)
    t.defer(lambda: t.topology.run("node", "ipset", "destroy", leftovers.FOREIGN_SET))
    for family in FAMILIES:
        leftovers.restore(t.topology, family, leftovers.ipvs_mode(family))
    leftovers.restore(t.topology, V4, leftovers.USERSPACE_MODE)
    t.bench.start_daemon()
    t.wait_until(lambda: not leftovers.has_link(t.topology) and leftovers.sets(t.topology) == [leftovers.FOREIGN_SET],
                 "link and sets are gone")
    t.require(t.bench.daemon.wait_logged("removed leftover state of ipvs, userspace modes", leftovers.LINK) is not None,
              "no line reports it")
    t.expect(POD, service.cluster(), kept(E1, E2))
    text = "\n".join(picture(t))
    for chain in ("KUBE-LOAD-BALANCER", "KUBE-NODE-PORT ", "KUBE-IPVS-FILTER", "KUBE-PORTALS-HOST"):
        t.require(chain not in text, f"{chain.strip()} is still there")
    for chain in (":KUBE-FORWARD", ":KUBE-MARK-MASQ", ":KUBE-MARK-DROP", ":KUBE-KUBELET-CANARY", ":KUBE-IPTABLES-HINT"):
        t.require(chain in text, f"{chain[1:]} is gone")


@own_daemon(None, "--init-only prepares the node, creates no rule, needs no API server and exits with 0",
            sources=["manifests"], backends=["iptables"])
def init_only(t):
    quiet_node(t)
    t.topology.run("node", "sysctl", "-qw", "net.ipv4.conf.all.route_localnet=0")
    before = without_builtin(picture(t))
    done = t.bench.daemon.run([word for word in t.bench.daemon.command(
        ["--kubeconfig", "/dev/null", "--master", "https://192.0.2.1:6443"], t.bench.flags)[1:]] + ["--init-only"])
    t.require(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}")
    t.require(without_builtin(picture(t)) == before, "it made rules")
    value = t.topology.run("node", "sysctl", "-n", "net.ipv4.conf.all.route_localnet").stdout.strip()
    t.require(value == "1", f"route_localnet is {value}")
