# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is configured by a file, replaceable plugins, and Services with all kinds of traffic that a swap could
break."""

import contextlib
import os
import shutil
import time

from . import addresses as a
from . import artifacts, observed, own_flags, pace, shell, traffic
from .addresses import E1, E2
from .bench import PERIOD
from .cases import POD
from .objects import ready
from .profile import BUILT_IN
from .traffic import Flow

PATIENCE = 120  # seconds, timeout of a reload

CONFIG = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: {mode}
clusterCIDR: {cidrs}
hostnameOverride: {node}
clientConnection: {{kubeconfig: "{kubeconfig}"}}
logging: {{{logging}}}
iptables: {{syncPeriod: {period}, minSyncPeriod: {pause}{parts}}}
ipvs: {{syncPeriod: {period}, minSyncPeriod: {pause}{parts}}}
nftables: {{syncPeriod: {period}, minSyncPeriod: {pause}{parts}}}
{fields}---
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
stateDir: {state_dir}
pluginDirs: [{plugins}]
drainTimeout: {drain}s
udpTimeout: 2s
{more}"""


class _Daemon(own_flags.Exact):
    program = ""

    holder = None

    def command(self, source_flags, flags):
        # Same priority as the traffic: a relay that waits for a processor would look like a slow swap.
        return [*traffic.URGENT, self.program, *source_flags, *flags]

    def start(self, source_flags, flags=()):
        """Starts the daemon under the service manager if there is one."""
        if self.holder is None:
            return super().start(source_flags, flags)
        with open(self.log_path, "ab") as log:
            self._process = self.holder.popen(self._enter(self.command(source_flags, flags)), self._environment(),
                                              stdin=shell.subprocess.DEVNULL, stdout=log, stderr=log)
        return None

    def kill(self):
        super().kill()
        if self.holder is not None:
            self.holder.settle()


class Swappable:
    """Replaces the daemon of the bench until the end of the case. `settings` are the fields of CONFIG; `program` is another build
    of the daemon, `holder` a service manager that stores descriptors (lib/fd_holder.py)."""

    def __init__(self, t, mode, drain=10, program=None, environment=None, holder=None, **settings):
        self.t = t
        self.mode = mode
        source, where = t.bench.source.daemon_flags()
        self.settings = {
            "drain": drain, "fields": "", "logging": "verbosity: 2", "pause": "1ms", "period": f"{PERIOD}s", "parts": "", "node": a.NODE_NAME,
            "cidrs": ",".join(a.CLUSTER_CIDR.values()), "kubeconfig": where if source == "--kubeconfig" else "",
            "more": f"manifests: {where}\n" if source == "--manifests" else "", **settings}
        self.directory = os.path.join(t.topology.directory, f"{t.bench.label}-swappable")
        os.mkdir(self.directory)
        self.plugins = os.path.join(self.directory, "plugins")
        shutil.copytree(t.bench.programs.plugin_dir(t.topology.directory), self.plugins)
        self.path = os.path.join(self.directory, "config.yaml")
        t.bench.daemon.stop()
        t.bench.cleanup()
        self.daemon = _Daemon(t.topology, t.bench.programs, t.bench.backend, t.bench.label)
        self.daemon.program = program or t.bench.programs.sluiced
        self.daemon.environment = environment or {}
        self.daemon.holder = holder
        self.settings = {"state_dir": self.daemon.state_dir, "plugins": self.plugins, **self.settings}
        t.bench.daemon = self.daemon
        self.write(mode)
        self.start()

    # The file.

    def text(self, mode=None, **settings):
        mode = mode or self.mode
        fields = {**self.settings, **settings}
        if mode not in BUILT_IN:  # a third-party backend
            mode, fields["more"] = "nftables", f"backend: {mode}\n{fields['more']}"
        return CONFIG.format(mode=mode, **fields)

    def write(self, mode=None, **settings):
        """Replaces the file atomically; the settings are kept for later writes."""
        self.mode = mode or self.mode
        self.settings.update(settings)
        self.write_text(self.text())

    def write_text(self, text):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)

    # The process.

    def start(self, wait=True):
        self.daemon.start([], ["--config", self.path])
        if wait:
            self.daemon.wait_synced()

    def reload(self):
        """Runs `sluicectl reload`."""
        return shell.run([self.t.bench.programs.sluicectl, "--state-dir", self.daemon.state_dir, "reload", "--timeout",
                          f"{round(pace.stretched(PATIENCE))}s"], check=False, timeout=PATIENCE + 20)

    def require_reload(self, occasion):
        done = self.reload()
        self.t.require(done.returncode == 0,
                       f"{occasion}: sluicectl reload: exit {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
        return done

    def swap(self, mode, **settings):
        """Swaps to another mode, or another file of the same backend, with these settings; returns the output of the reload."""
        one, before, occasion = self.mode, self.last_swap(), f"{self.mode} → {mode}"
        if mode == one:
            self.replace_plugin()
        self.write(mode, **settings)
        done = self.require_reload(occasion)
        self.t.require(self.serving() == mode, f"{occasion}: the status says that {self.serving()} serves")
        last = self.last_swap()
        self.t.require(last != before and (last.get("from"), last.get("to"), last.get("result")) == (one, mode, "success"),
                       f"{occasion}: the last swap is {last}")
        return done.stdout

    def replace_plugin(self):
        """Replaces the file of the active plugin by one with different content and the same behaviour."""
        path = os.path.join(self.plugins, f"{self.mode}.so")
        with open(path, "rb") as file:
            content = file.read()
        with open(path + ".new", "wb") as file:
            file.write(content + b"another build")  # appended after the sections of the ELF file
        shutil.copymode(path, path + ".new")
        os.rename(path + ".new", path)

    def add_third_party(self, name, like):
        """Installs a copy of the backend `like` with another id of the same length, as a third-party backend."""
        with open(os.path.join(self.plugins, f"{like}.so"), "rb") as file:
            content = file.read()
        known, other = (b"\0" + one.encode() + b"\0" for one in (like, name))
        if len(known) != len(other) or known not in content:
            raise ValueError(f"{like} cannot become {name}")
        path = os.path.join(self.plugins, f"{name}.so")
        with open(path, "wb") as file:
            file.write(content.replace(known, other))
        os.chmod(path, 0o755)

    # The status.

    def status(self):
        return self.daemon.status() or {}

    def serving(self):
        """The id of the active backend, which is also recorded in the trial."""
        found = self.status().get("plugin", {}).get("id")
        self.t.served_by.add(found)
        return found

    def wait_reloads_over(self):
        """Returns once no reload is in progress or pending: a changed file causes one in addition to a requested one."""
        def reloads():
            reload = self.status().get("reload", {})
            # While a reload is in progress, every result is different.
            return reload.get("count"), time.monotonic() if "in_progress" in reload else None

        self.t.require(pace.wait_unchanged(reloads, quiet=1.5, seconds=PATIENCE) is not None, "reloads do not end")

    def last_swap(self):
        return self.status().get("swap", {}).get("last") or {}

    def retiring(self):
        """The old backends that have not been removed yet."""
        return self.status().get("retiring", [])

    def wait_retired(self, occasion, seconds):
        self.t.wait_until(lambda: self.status() and not self.retiring(), f"{occasion}: the old backend is gone", seconds)

    def require_tidy(self, occasion):
        """Requires that soon all backend objects on the node belong to the active backend."""
        owners, left = set(), []

        def tidy():
            nonlocal owners, left
            owners = artifacts.owners(self.daemon.state_dir)
            left = artifacts.orphans(self.t.topology, self.daemon.state_dir)
            return owners == {self.mode} and not left

        pace.wait_until(tidy, 10, every=0.1)
        self.t.require(owners == {self.mode}, f"{occasion}: the ownership ledger names {', '.join(sorted(owners)) or 'no backend'}, not {self.mode}")
        self.t.require(not left, f"{occasion}: objects without an owner: {', '.join(left[:8])}")
        if self.mode != "userspace":
            ports, own = artifacts.listening_ports(self.daemon.pid), {observed.HEALTH_PORT, observed.METRICS_PORT}
            self.t.require(ports and ports <= own, f"{occasion}: the daemon listens on {sorted(ports)[:8]}, not only on {sorted(own)}")


def services(t):
    """Two Services for both protocols with node ports, policy Cluster and policy Local; E1 is on this node."""
    wanted = {"type": "NodePort", "node_port": True, "protocols": ["tcp", "udp"], "ports": [("p80", 80, traffic.PORT)]}
    everywhere = t.service([ready(E1), ready(E2)], **wanted)
    local = t.service([ready(E1), ready(E2)], external_policy="Local", **wanted)
    traffic.serve(t, E1, E2)
    return everywhere, local


def steady(everywhere, local, every_ms=5):
    """One new connection every `every_ms` from a pod, a quarter of that on the other paths, and UDP on every path."""
    both = (E1, E2)
    # An emulated machine has only two processors, and its host is busy: a quarter of the rate that SLOWNESS would allow.
    divisor = 1 if pace.SLOWNESS == 1 else 4
    often = round(every_ms * pace.SLOWNESS * divisor)
    rare = 4 * often
    beat = round(20 * pace.SLOWNESS * max(1, divisor / 2))
    cluster, node_port, local_port = everywhere.cluster(), everywhere.node(), local.node()
    return [
        Flow("new connections to the cluster IP", "tcp-new", POD, cluster.ip, cluster.port, both, every_ms=often, kept=True),
        Flow("new connections from the node", "tcp-new", a.NODE_SECOND, cluster.ip, cluster.port, both, every_ms=rare),
        Flow("new connections to the node port", "tcp-new", a.NODE2, node_port.ip, node_port.port, both, every_ms=rare),
        Flow("new connections to the node port (Local)", "tcp-new", a.NODE2, local_port.ip, local_port.port, (E1,), every_ms=rare, kept=True),
        Flow("UDP to the cluster IP", "udp-fixed", POD, cluster.ip, cluster.port, both, every_ms=beat, count=2, kept=True),
        Flow("UDP from the node", "udp-fixed", a.NODE_SECOND, cluster.ip, cluster.port, both, every_ms=beat),
        Flow("UDP to the node port", "udp-fixed", a.NODE2, node_port.ip, node_port.port, both, every_ms=beat),
        Flow("UDP to the node port (Local)", "udp-fixed", a.NODE2, local_port.ip, local_port.port, (E1,), every_ms=beat, kept=True),
    ]


def held(everywhere, local):
    """Connections that stay open."""
    both = (E1, E2)
    beat = round(50 * pace.SLOWNESS)
    cluster, node_port, local_port = everywhere.cluster(), everywhere.node(), local.node()
    return [
        Flow("held to the cluster IP", "tcp-held", POD, cluster.ip, cluster.port, both, every_ms=beat, count=4, kept=True),
        Flow("held from the node", "tcp-held", a.NODE_SECOND, cluster.ip, cluster.port, both, every_ms=beat, count=4),
        Flow("held to the node port", "tcp-held", a.NODE2, node_port.ip, node_port.port, both, every_ms=beat, count=4),
        Flow("held to the node port (Local)", "tcp-held", a.NODE2, local_port.ip, local_port.port, (E1,), every_ms=beat, count=4, kept=True),
    ]


def drain(shortest, flows, counts):
    """Drain timeout of the next swap in seconds. It closes connections from before the swap, which last longer on a busy machine.
    So it is at least three times the slowest answer to a twin. `counts` are the current ones."""
    return max(shortest, round(3 * traffic.slowest(flows, counts)))


def walk(edges):
    """An Euler circuit of these directed edges: each starts where the previous one ends."""
    leaving = {}
    for one, other in edges:
        leaving.setdefault(one, []).append(other)
    stack, circuit = [edges[0][0]], []
    while stack:
        if leaving.get(stack[-1]):
            stack.append(leaving[stack[-1]].pop(0))
        else:
            circuit.append(stack.pop())
    circuit.reverse()
    pairs = list(zip(circuit, circuit[1:]))
    if sorted(pairs) != sorted(edges):
        raise ValueError(f"{edges} are no circuit")
    return pairs



@contextlib.contextmanager
def interference(t, verdict, fronts):
    """While open, the node applies that verdict to packets of clients to these Services."""
    table = "interference"
    family = "ip" if t.family == a.V4 else "ip6"
    rules = []
    for service in fronts:
        for front in (service.cluster(), service.node()):
            for protocol in ("tcp", "udp"):
                if protocol == "udp" and "tcp" in verdict:
                    continue
                rules.append(f"{family} daddr {front.ip} {protocol} dport {front.port} {verdict}\n")
    # Before DNAT.
    text = f"table {family} {table} {{\n" + "".join(
        f"chain {hook} {{\ntype filter hook {hook} priority -150\n{''.join(rules)}}}\n" for hook in ("prerouting", "output")) + "}\n"
    t.topology.run("node", "nft", "-f", "-", stdin=text)
    try:
        yield
    finally:
        t.topology.run("node", "nft", "delete", "table", family, table)
