# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Takeover from a kube-proxy and handback to it, in all of its modes, under traffic, as in docs/migrating.md. The state that
kube-proxy leaves and writes at a start is in test/fixtures/kube-proxy; with SLUICE_KUBE_BIN a real one runs, too."""

import os
import threading
import time

from lib import foreign, kube_proxy_node, pace, probe, real_kube_proxy, shell, talk
from lib.addresses import E1, E2, FAMILIES, V6
from lib.cases import EXT, IN_KERNEL, POD, REJECTED, Skip, kept, masqueraded, own_daemon
from lib.kube_proxy_node import front
from lib.writes import WriteWatch

HERE = ["iptables", "nftables"]  # modes of a kube-proxy that run on any kernel
ONLY = {"families": FAMILIES, "sources": ["manifests"], "slow": True}
GAP = 0.02  # seconds between two datagrams
FILE = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: MODE
clusterCIDR: 10.0.0.0/8,fd00:10::/48
---
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
udpTimeout: 2s
"""


class Datagrams:
    """One UDP client with its own port; every datagram must have its answer."""

    def __init__(self, t, where):
        self._socket = talk.connect(t, POD, where, patience=0.1, port=20053)
        self._sent = self._answered = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _send(self):
        while not self._stop.wait(GAP * pace.SLOWNESS):
            self._sent += 1
            try:
                self._socket.send(b"?")
            except ConnectionError:  # of the previous datagram
                pass
            except OSError:  # closed, since the case has failed elsewhere
                return

    def _receive(self):
        heard = time.monotonic()
        while not self._stop.is_set() or time.monotonic() - heard < pace.stretched(1):
            try:
                self._socket.recv(2048)
                self._answered += 1
                heard = time.monotonic()
            except (TimeoutError, ConnectionError):
                if not self._stop.is_set():
                    heard = time.monotonic()
            except OSError:
                return

    def wait_answered(self, count):
        """Returns whether that many more datagrams are answered."""
        wanted = self._answered + count
        return pace.wait_until(lambda: self._answered >= wanted, 10)

    def end(self):
        """(sent, answered)."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self._sent, self._answered


class Clients:
    """New connections at every kind of address, persistent connections, a client with a fixed UDP port."""

    def __init__(self, t):
        self._t = t
        cart, family = "shop/cart", t.family
        self._hammers = [(t.hammer(sender, where), said) for sender, where, said in (
            (POD, front(cart, family), "a pod at a cluster IP"), (EXT, front(cart, family, "vip"), "outside at a balancer's address"),
            (EXT, front(cart, family, "node"), "outside at a node port"), (EXT, front("shop/local", family, "vip"), "outside at policy Local"),
            (POD, front("kube-system/kube-dns", family), "a pod with UDP"))]
        self._held = [(t.hold(POD, front(cart, family)), "of a pod"), (t.hold(EXT, front(cart, family, "vip")), "from outside"),
                      (t.hold(POD, front("shop/sticky", family)), "with affinity")]
        self._datagrams = Datagrams(t, front("shop/echo", family))
        self._wait_connected(2)

    def _wait_connected(self, count):
        """Returns once every client has connected, or was answered, that many more times."""
        for hammer, _ in self._hammers:
            hammer.wait_attempts(count)
        self._t.require(self._datagrams.wait_answered(count), f"{count} datagrams of one flow were not answered")

    def require_unharmed(self, occasion):
        self._wait_connected(20)
        for hammer, said in self._hammers:
            self._t.require_unbroken(hammer, f"{occasion}: {said}")
        for held, said in self._held:
            survived, last = held.end()
            self._t.require(survived, f"{occasion}: an established connection {said} broke: {last}")
        sent, answered = self._datagrams.end()
        self._t.require(sent > 0 and answered == sent, f"{occasion}: {sent - answered} of {sent} datagrams of one flow had no answer")


def quiet_node(t):
    """A node without a proxy, in a cluster with the Services that the kube-proxy had."""
    t.bench.daemon.stop()
    t.bench.barrier.delete()
    made = kube_proxy_node.objects()
    t.bench.source.put(*made)
    t.defer(lambda: t.bench.source.delete(*made))
    t.defer(t.bench.daemon.stop)
    clean(t)


def clean(t):
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")


def start(t, mode):
    # The last option counts.
    relayed = ["--udp-timeout", "2s"] if mode == "userspace" else []
    t.bench.daemon.start(t.bench.source.daemon_flags(), [*t.bench.flags, "--proxy-mode", mode, *relayed])
    t.bench.daemon.wait_synced()


def fresh(t, mode):
    """State that the daemon creates in that mode on a clean node."""
    start(t, mode)
    made = kube_proxy_node.node_state(t, mode)
    everything = {one: kube_proxy_node.node_state(t, one) for one in HERE + ["ipvs"] if one in (mode, *HERE) or has_ipvs(t)}
    t.bench.daemon.stop()
    clean(t)
    t.require(made, f"{mode} mode creates nothing")
    return everything


def has_ipvs(t):
    return t.bench.backend == "ipvs"


def serves(t, mode):
    """Every Service, as each kind of client sees it, with the rules of that mode, of kube-proxy or of the daemon."""
    both, cart = (E1, E2), "shop/cart"
    for sender, name, kind, expected in (
            (POD, cart, "cluster", kept(*both)), (POD, "kube-system/kube-dns", "cluster", kept(*both)),
            (EXT, cart, "vip", masqueraded(*both)), (EXT, cart, "node", masqueraded(*both)), (EXT, cart, "external", masqueraded(*both)),
            (EXT, "shop/local", "vip", kept(E1)), (POD, "shop/inner", "cluster", kept(E1)), (EXT, "shop/empty", "node", REJECTED)):
        where = front(name, t.family, kind)
        wrong = probe.check(t.topology, sender, where.protocol, where.ip, where.port, t.family, expected)
        t.require(wrong is None, f"mode {mode}, {name}: {wrong}")


def bound_endpoint(t):
    """The endpoint that the pod is bound to by session affinity."""
    where = front("shop/sticky", t.family)
    lines = probe.ask(t.topology, POD, "tcp", where.ip, where.port, t.family, 6)
    names = {line.split()[1] if line.startswith("ok ") else line for line in lines}
    t.require(len(names) == 1 and names <= {"e1", "e2", "e4"}, f"shop/sticky was answered by {sorted(names)}")
    return min(names)


def takes_over(t, theirs, mode, release=kube_proxy_node.RELEASE):
    quiet_node(t)
    wanted = fresh(t, mode)
    kube_proxy_node.load(t, theirs, release)
    serves(t, theirs)
    foreign.add(t.topology)
    t.defer(lambda: foreign.remove(t.topology))
    others = foreign.dump(t.topology)
    bound = bound_endpoint(t)
    clients = Clients(t)
    with WriteWatch(t.topology) as watch:
        start(t, mode)
        written = watch.lines()
    clients.require_unharmed(f"from {theirs} mode of a kube-proxy to {mode} mode")
    # Virtual servers stay until the last connection through them has ended.
    t.wait_until(lambda: not unowned(t, wanted), "the node is as after a start on an empty one", seconds=20, every=0.5)
    t.require(not (more := unowned(t, wanted)), f"state of kube-proxy is left, or state of Sluice is missing: {more[:4]}")
    serves(t, mode)
    if theirs == mode == "iptables":
        touched = [line for line in written if kube_proxy_node.SERVICE_CHAIN.search(line) and " KUBE-NODEPORTS " not in line and
                   " KUBE-SERVICES " not in line]
        t.require(not touched, f"chains of Services that were right were written: {touched[:3]}")
        t.require(bound_endpoint(t) == bound, "session affinity was lost")
    changed = foreign.difference(others, foreign.dump(t.topology))
    t.require(not changed, f"foreign rules changed: {changed}")


def unowned(t, wanted):
    """Differences of the node from a fresh start."""
    wrong = []
    for kind, lines in wanted.items():
        there = [line for line in kube_proxy_node.node_state(t, kind) if "FOREIGN" not in line]
        wrong += [f"+ {line}" for line in there if line not in lines] + [f"- {line}" for line in lines if line not in there]
    return wrong


@own_daemon(None, "takeover from a kube-proxy in iptables mode: nothing fails, correct chains of Services are not written in "
            "iptables mode, and no other state of kube-proxy is left", **ONLY)
def from_iptables(t):
    takes_over(t, "iptables", t.bench.backend)


@own_daemon(None, "takeover from a kube-proxy in nftables mode: nothing fails, and no other state of kube-proxy is left", **ONLY)
def from_nftables(t):
    takes_over(t, "nftables", t.bench.backend)


# Other releases: those whose rules differ from the newest ones.


@own_daemon(None, "takeover from a kube-proxy 1.35 in nftables mode: nothing fails, and no other state of kube-proxy is left",
            backends=HERE, **ONLY)
def from_nftables_before_136(t):
    takes_over(t, "nftables", t.bench.backend, "1.35")


@own_daemon(None, "handback to a kube-proxy 1.35 in nftables mode: nothing fails, and afterwards the node is as after kube-proxy "
            "alone, once the commands of docs/migrating.md have run", backends=["nftables"], **ONLY)
def handed_back_before_136(t):
    hands_back(t, "1.35")


def from_ipvs_to(mode):
    @own_daemon(None, f"takeover from a kube-proxy in ipvs mode, by {mode} mode: nothing fails, and no other state of "
                "kube-proxy is left", backends=["ipvs"], legacy=("ipvs",) if mode in ("ipvs", "nftables") else (), **ONLY)
    def from_ipvs(t):
        takes_over(t, "ipvs", mode)

    from_ipvs.__name__ += f"_to_{mode}"


for _mode in ("ipvs", "nftables", "iptables", "userspace"):
    from_ipvs_to(_mode)


@own_daemon(None, "handback to a kube-proxy in the same mode: the daemon ends, kube-proxy starts; nothing fails, and afterwards "
            "the node is as after kube-proxy alone, once the commands of docs/migrating.md have run",
            backends=["iptables", "nftables", "ipvs"], legacy=("ipvs",), **ONLY)
def handed_back(t):
    hands_back(t)


def hands_back(t, release=kube_proxy_node.RELEASE):
    quiet_node(t)
    mode = t.bench.backend
    start(t, mode)
    serves(t, mode)
    clients = Clients(t)
    t.bench.daemon.stop()
    kube_proxy_node.first_sync(t, mode, release)
    clients.require_unharmed(f"from the daemon to a kube-proxy in mode {mode}")
    serves(t, mode)
    require_only_theirs(t, mode, kube_proxy_node.dumped_state(mode, release))


def require_only_theirs(t, mode, theirs):
    """After a handback the commands of docs/migrating.md remove what is left of Sluice."""
    if commands := kube_proxy_node.documented(mode):
        done = t.topology.run("node", "sh", "-ec", commands, check=False)
        t.require(done.returncode == 0 and not done.stderr, f"the commands of docs/migrating.md: {done.stderr[:400]}")
        serves(t, mode)
    there = kube_proxy_node.node_state(t, mode)
    more = [line for line in there if line not in theirs]
    t.require(not more, f"state of Sluice is left: {more[:4]}")
    missing = [line for line in theirs if line not in there]
    t.require(not missing, f"of kube-proxy's is missing: {missing[:4]}")


@own_daemon(None, "a real kube-proxy is replaced in the same mode, and then replaces the daemon: nothing fails, and no state of the "
            "other program is left", families=FAMILIES, backends=IN_KERNEL, legacy=("ipvs",), slow=True)
def real_one(t):
    programs = real_kube_proxy.programs()
    if not programs:
        raise Skip(f"{real_kube_proxy.VARIABLE} does not name a folder with a kube-proxy")
    if t.bench.backend == "ipvs" and t.family == V6:
        # The Pod's veth has no global address, so the kernel selects among the addresses of all links.
        raise Skip("connections to a Pod of this node are masqueraded with an address of kube-ipvs0, already by kube-proxy alone")
    for program in programs:
        there_and_back(t, real_kube_proxy.KubeProxy(t, program))


def there_and_back(t, theirs):
    mode = t.bench.backend
    quiet_node(t)
    wanted = fresh(t, mode)
    theirs.start(mode)
    t.defer(theirs.clean_up)
    before = kube_proxy_node.node_state(t, mode)
    serves(t, mode)
    clients = Clients(t)
    theirs.stop()
    start(t, mode)
    clients.require_unharmed(f"from {theirs} to the daemon")
    t.wait_until(lambda: not unowned(t, wanted), "the node is as after a start on an empty one", seconds=20, every=0.5)
    t.require(not (more := unowned(t, wanted)), f"state of {theirs} is left, or state of Sluice is missing: {more[:4]}")
    serves(t, mode)
    clients = Clients(t)
    t.bench.daemon.stop()
    theirs.start(mode)
    clients.require_unharmed(f"from the daemon to {theirs}")
    serves(t, mode)
    require_only_theirs(t, mode, before)
    theirs.stop()
    theirs.clean_up()


def configured(t, mode):
    """Changes the mode in the configuration file, replaced as operators do it."""
    path = os.path.join(t.topology.directory, "takeover.yaml")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(FILE.replace("MODE", mode))
    os.rename(path + ".new", path)
    return path


def sluicectl(t, *words):
    return shell.run([t.bench.programs.sluicectl, "--state-dir", t.bench.daemon.state_dir, *words], check=False)


def handed_back_after(mode):
    @own_daemon(None, f"handback from userspace mode: swapped to {mode} mode at run time, then the daemon ends and a kube-proxy "
                "in that mode starts; nothing fails", backends=["userspace"], **ONLY)
    def handed_back_by_a_swap(t):
        quiet_node(t)
        # The Services have the same addresses as in earlier trials. A client that happens to have the port of an earlier flow
        # reaches the earlier endpoint until the daemon has scanned the flows.
        t.topology.run("node", "conntrack", "-F")
        t.bench.daemon.start(t.bench.source.daemon_flags(), ["--config", configured(t, "userspace")])
        t.bench.daemon.wait_synced()
        serves(t, "userspace")
        before = Clients(t)
        configured(t, mode)
        done = sluicectl(t, "reload")
        t.require(done.returncode == 0, f"sluicectl reload: {done.stdout}{done.stderr}")
        t.require(t.status()["mode"] == mode, f"the mode is {t.status()['mode']}")
        before.require_unharmed(f"from userspace mode to {mode} mode")
        t.wait_until(lambda: not t.status()["retiring"], "nothing retires any more", seconds=30)
        after = Clients(t)
        t.bench.daemon.stop()
        kube_proxy_node.first_sync(t, mode)
        after.require_unharmed(f"from the daemon to a kube-proxy in mode {mode}")
        serves(t, mode)
        left = [line for line in kube_proxy_node.node_state(t, "iptables") if "PORTAL" in line or "NODEPORT-" in line]
        t.require(not left, f"left of userspace mode: {left[:3]}")

    handed_back_by_a_swap.__name__ += f"_to_{mode}"


for _mode in HERE:
    handed_back_after(_mode)
