# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Single flags and fields, and what a daemon does with them: the backend's choice, feature gates, the addresses
of the node, logging, and reading the configuration again."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

from lib import foreign, observed, pace
from lib.addresses import CLUSTER_CIDR, E1, E2, NODE, NODE_NAME, NODE_SECOND, V4, V6
from lib.bench import BOTH_CIDRS
from lib.cases import EXT, POD, REJECTED, UNTOUCHED, kept, masqueraded, own_daemon
from lib.node_tools import NAMES
from lib.objects import ready
from lib.own_flags import Exact, expect_exit, expect_logged, folders, restart, write

ABOVE_BACKENDS = True

PROXY = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
BOTH = [ready(E1), ready(E2)]
AS_NODE = ["--hostname-override", NODE_NAME]


def default_flags(t):
    """The flags of every daemon here."""
    return [*t.bench.source.daemon_flags(), *AS_NODE]


@contextlib.contextmanager
def without_tools(t, *families):
    """While open, daemons start as on a node without working iptables for these families."""
    folder = os.path.join(t.topology.directory, "-".join([t.bench.label, "lacks", *families]))
    os.mkdir(folder)
    for name in (NAMES[family] + infix + suffix for family in families for infix in ("", "-nft", "-legacy")
                 for suffix in ("", "-save", "-restore")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'it does not work on this node' >&2\nexit 1\n")
        os.chmod(path, 0o755)
    t.bench.daemon.environment["PATH"] = ":".join([folder, t.topology.tools.path, os.environ["PATH"]])
    try:
        yield
    finally:
        del t.bench.daemon.environment["PATH"]


def rules(t):
    return "\n".join(line for family in (V4, V6) for line in foreign.saved(t.topology, family) if "KUBE-" in line)


@own_daemon(None, "--init-only with a backend and tools that do not work exits with 1 and one error, and creates no rule",
            sources=["manifests"], backends=["iptables"])
def init_only_fails(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    before = rules(t)
    flags = [*default_flags(t), "--init-only"]
    for families, status, sentence in (((V4,), 1, "the primary family of this node, IPv4, cannot be served"),
                                       ((V4, V6), 1, "iptables"), ((V6,), 0, "IPv6 is not used: ")):
        with without_tools(t, *families):
            done = t.bench.daemon.run([*flags, *folders(t.bench.daemon, t.bench.programs, t.topology)])
        errors = [line for line in done.stderr.splitlines() if line.startswith("E")]
        t.require(done.returncode == status, f"without {families}: exit {done.returncode}: {done.stderr[-300:]}")
        t.require(len(errors) == status and sentence in "".join(errors or [done.stderr]),
                  f"without {families} it says {done.stderr[-600:]}")
    expect_exit(t, [*flags, "--proxy-mode", "kernelspace"], 1, "backend 'kernelspace' is not installed")
    t.require(rules(t) == before, f"it made rules: {foreign.difference(before, rules(t))}")
    t.bench.start_daemon()


def without_plugin(t, name):
    """A folder with all backends except that one."""
    folder = os.path.join(t.topology.directory, f"{t.bench.label}-lacks-{name}")
    shutil.copytree(t.bench.programs.plugin_dir(t.topology.directory), folder)
    os.remove(os.path.join(folder, f"{name}.so"))
    return ["--plugin-dir", folder]


@own_daemon(None, "mode auto, by flag or by file, selects nftables, or iptables if nftables is not installed, says why, and "
            "serves; if no backend works it exits with 1 and lists them", sources=["manifests"], backends=["iptables"])
def mode_auto(t):
    path = write(t, "auto.conf", PROXY + "mode: auto\niptables: {minSyncPeriod: 100ms}\nnftables: {minSyncPeriod: 100ms}\n")
    lacking = without_plugin(t, "nftables")
    for flags, taken in ((["--proxy-mode=auto"], "nftables"), ([*lacking, "--proxy-mode=auto"], "iptables"),
                         (["--config", path], "nftables"), ([*lacking, "--config", path], "iptables")):
        checked = t.bench.daemon.run(["--check", *default_flags(t), *flags,
                                      *folders(t.bench.daemon, t.bench.programs, t.topology, flags)])
        t.require(checked.returncode == 0 and f"{taken} works on this node" in checked.stdout,
                  f"--check with {flags}: {checked.returncode}, {checked.stdout[-300:]}")
        begun = len(t.bench.daemon.log())
        restart(t, [*default_flags(t), *flags])
        said = t.bench.daemon.log()[begun:]
        t.require("mode auto: " in said and "nftables" in said and f"{taken} works on this node" in said,
                  f"with {flags} it says {said[:800]}")
        t.require(observed.metrics(t, "/proxyMode").body == taken, f"/proxyMode is not {taken}")
        t.expect_soon(POD, t.service(BOTH).cluster(), kept(E1, E2))
    t.bench.daemon.stop()
    with without_tools(t, V4, V6):
        expect_exit(t, [*default_flags(t), *lacking, "--proxy-mode=auto"], 1, "--proxy-mode: no backend works on this node", "nftables", "iptables")


@own_daemon(None, "with gate AllowServiceExternalIPs off, by flag or by file, external IPs are not served and the rest of "
            "the Service is; an unknown gate is an error of --check only", sources=["manifests"])
def external_ips_gate(t):
    service = t.service(BOTH, type="LoadBalancer", external=True)
    t.settle()
    t.expect(POD, service.external(), masqueraded(E1, E2))
    path = write(t, "gate.conf", PROXY + "featureGates: {AllowServiceExternalIPs: false}\nclusterCIDR: " +
                 ",".join(CLUSTER_CIDR.values()) + "\n")
    for flags in (["--feature-gates=AllowServiceExternalIPs=false", *BOTH_CIDRS], ["--config", path]):
        restart(t, [*default_flags(t), *flags])
        t.expect_soon(POD, service.external(), UNTOUCHED)
        t.expect(EXT, service.external(), UNTOUCHED)
        t.expect(POD, service.cluster(), kept(E1, E2))
        t.expect([POD, EXT], [service.vip(), service.node()], masqueraded(E1, E2))
    # Gates of the file, if there is one, and not of the command line.
    unknown = write(t, "unknown.conf", PROXY + "featureGates: {Nope: true}\n")
    for flags, place in ((["--feature-gates=Nope=true"], "--feature-gates: 'Nope'"),
                         (["--config", unknown], f"{unknown}:3: featureGates.Nope: 'Nope'")):
        restart(t, [*default_flags(t), *flags])
        t.expect_soon(POD, service.cluster(), kept(E1, E2))
        t.require(t.bench.daemon.wait_logged(place) is not None, f"no warning says {place}")
        t.bench.daemon.stop()
        expect_exit(t, [*default_flags(t), *flags, "--check"], 1, place)


@own_daemon(None, "without profiling PUT /debug/flags/v is rejected and changes nothing; with enableProfiling it turns debug "
            "lines on and off again", sources=["manifests"])
def live_verbosity(t):
    service = t.service(BOTH)
    daemon = t.bench.daemon

    def put(level):
        return observed.set_verbosity(t, level)

    def debug_lines():
        t.settle()
        return daemon.log().count(" delta, ")

    t.settle()
    t.require(put("4").status == 404, f"without profiling it answers {put('4')}")
    service.set_endpoints([ready(E1)])
    t.require(debug_lines() == 0, "the verbosity changed all the same")
    restart(t, [*default_flags(t), "--config", write(t, "profiling.conf", PROXY + "enableProfiling: true\n" +
                                          "iptables: {minSyncPeriod: 1ms}\n")])
    daemon = t.bench.daemon
    t.require(debug_lines() == 0, "debug lines at verbosity 0")
    t.require(put("4").status == 200, f"with profiling it answers {put('4')}")
    service.set_endpoints([ready(E2)])
    t.wait_until(lambda: daemon.log().count(" delta, ") > 0, "a debug line")
    t.require(put("0").status == 200, f"back to 0: {put('0')}")
    before = debug_lines()
    service.set_endpoints(BOTH)
    t.require(debug_lines() == before, "debug lines after the verbosity went down again")


class Split(Exact):
    """Standard output in a file of its own, `output_path`; `log` is standard error."""

    @property
    def output_path(self):
        return self.log_path + ".out"

    def start(self, source_flags, flags=()):
        with open(self.output_path, "ab") as out, open(self.log_path, "ab") as err:
            self._process = subprocess.Popen(self._enter(self.command(source_flags, flags)), stdin=subprocess.DEVNULL,
                                             stdout=out, stderr=err, env=self._environment())


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


@own_daemon(None, "--log-text-split-stream and --log-json-split-stream: info lines to standard output, warnings and errors "
            "to standard error, all of them at the end; json lines are JSON, one object each", sources=["manifests"])
def split_streams(t):
    service = t.service(BOTH)
    # At least one warning, and debug lines.
    noise = [*default_flags(t), *BOTH_CIDRS, "--config-sync-period=1h", "--v=4", "--iptables-min-sync-period=0s"]
    t.bench.daemon.stop()
    for form in ("text", "json"):
        daemon = t.bench.daemon = Split(t.topology, t.bench.programs, t.bench.backend, f"{t.bench.label}-{form}")
        daemon.start(noise, [f"--logging-format={form}", f"--log-{form}-split-stream",
                             f"--log-{form}-info-buffer-size=64Ki", "--log-flush-frequency=1h"])
        daemon.wait_synced()
        t.expect_soon(POD, service.cluster(), kept(E1, E2))
        t.require(not lines_of(daemon.output_path), f"{form}: info lines do not wait in the buffer")
        t.require(daemon.stop() == 0, f"{form}: it does not end with 0")
        info, rest = lines_of(daemon.output_path), lines_of(daemon.log_path)
        if form == "json":
            info, rest = [json.loads(line) for line in info], [json.loads(line) for line in rest]
            for line in info + rest:
                t.require({"ts", "level", "logger", "pid", "msg"} <= set(line), f"a line without a field: {line}")
            unnamed = [line["msg"] for line in info + rest if "id" not in line]
            t.require(not unnamed, f"lines without a message id: {unnamed[:3]}")
            t.require({line["level"] for line in info} == {"info", "debug"}, "json: other levels on standard output")
            t.require({line["level"] for line in rest} == {"warning"}, f"json: standard error has {rest}")
            info, rest = [line["msg"] for line in info], [line["msg"] for line in rest]
        else:
            t.require(all(line.startswith("I") for line in info), "text: other levels on standard output")
            t.require(all(line.startswith("W") for line in rest), f"text: standard error has {rest}")
        t.require(any("--config-sync-period" in line for line in rest), f"{form}: the warning is not there: {rest}")
        t.require(any("stopping on" in line for line in info), f"{form}: the last line is not there")
    daemon.start(noise, ["--logging-format=json"])
    daemon.wait_synced()
    written = lines_of(daemon.log_path)[len(rest):]
    t.require({json.loads(line)["level"] for line in written} >= {"info", "warning"},
              "json without a split stream: not everything is on standard error")


@own_daemon(134, "bindAddress replaces the node address of its family, the other family keeps its own; its family is the "
            "primary one, without which nothing starts", families=[V4, V6], sources=["manifests"], backends=["iptables"])
def bind_address(t):
    service = t.service(BOTH, type="NodePort", node_port=True)
    bound = f"--bind-address={NODE_SECOND.v6}"
    restart(t, [*default_flags(t), *BOTH_CIDRS, "--nodeport-addresses=primary", bound])
    serving, other = (NODE_SECOND, NODE) if t.family == V6 else (NODE, NODE_SECOND)
    t.expect_soon(EXT, service.node(serving), masqueraded(E1, E2))
    t.expect(EXT, service.node(other), REJECTED)
    t.bench.daemon.stop()
    with without_tools(t, t.family):
        if t.family == V6:
            expect_exit(t, [*default_flags(t), bound], 1, "the primary family of this node, IPv6, cannot be served")
        else:
            expect_exit(t, default_flags(t), 1, "the primary family of this node, IPv4, cannot be served")


@own_daemon(140, "clusterCIDR of the wrong family only: with two families a warning, and the primary one has no "
            "detector; with one family the start fails", sources=["manifests"], backends=["iptables"])
def cluster_cidr_of_the_wrong_family(t):
    wrong = f"--cluster-cidr={CLUSTER_CIDR[V6]}"
    service = t.service(BOTH)
    t.settle()
    t.expect(EXT, service.cluster(), masqueraded(E1, E2))
    restart(t, [*default_flags(t), wrong])
    expect_logged(t, "the cluster CIDR has only IPv6 ranges")
    t.expect_soon(EXT, service.cluster(), kept(E1, E2))
    found = {family: [line for line in foreign.saved(t.topology, family, "nat") if f"! -s {CLUSTER_CIDR[family]}" in line]
             for family in (V4, V6)}
    t.require(not found[V4], f"IPv4 has a detector: {found[V4]}")
    t.bench.daemon.stop()
    with without_tools(t, V6):
        expect_exit(t, [*default_flags(t), wrong], 1, "the cluster CIDR has only IPv6 ranges", "ClusterCIDR needs one of the primary family")


def reload_and_expect(t, *words):
    """Sends SIGHUP; returns the lines of the log that follow, once one of them contains all the words."""
    daemon = t.bench.daemon
    begun = len(daemon.log())
    os.kill(daemon.pid, signal.SIGHUP)
    t.wait_until(lambda: any(all(word in line for word in words) for line in daemon.log()[begun:].splitlines()),
                 f"a line says {' '.join(words)} after SIGHUP: {daemon.log()[begun:]}")
    daemon.check_alive()


@own_daemon(None, "SIGHUP reads the configuration again: an unchanged one has no effect, an invalid one is reported and "
            "not applied, a new one is applied; the file of --write-config-to starts the same daemon", sources=["manifests"])
def configuration_read_again(t):
    service = t.service(BOTH, type="NodePort", node_port=True)
    flags = [*default_flags(t), *BOTH_CIDRS, "--masquerade-all", "--iptables-masquerade-bit=20", "--iptables-min-sync-period=1ms",
             "--nodeport-addresses=192.168.0.0/24,fd00:192:168::/64", "--iptables-localhost-nodeports=false",
             "--bind-address-hard-fail", "--conntrack-tcp-be-liberal", "--feature-gates=AllowServiceExternalIPs=false"]
    restart(t, flags)
    reload_and_expect(t, "reload (SIGHUP): nothing has changed")
    t.settle()
    t.expect(POD, service.cluster(), masqueraded(E1, E2))
    # The barrier of settle() writes rules of its own; nothing waits for it below.
    before, effective = pace.wait_unchanged(lambda: rules(t), quiet=0.3, seconds=20), observed.metrics(t, "/configz").body
    t.require(before is not None, "rules never stop changing")
    path = os.path.join(t.topology.directory, f"{t.bench.label}-written.conf")
    expect_exit(t, [*flags, "--write-config-to", path], 0)
    again = path + ".again"
    expect_exit(t, ["--config", path, "--write-config-to", again], 0)
    expect_exit(t, [*flags, "--iptables-min-sync-period=0s", "--write-config-to", path + ".other"], 0,
         "warning: --iptables-min-sync-period: 0 means the default, adaptive, in the written file")
    text = "\n".join(lines_of(path))
    t.require(text == "\n".join(lines_of(again)), "written a second time it differs")
    restart(t, ["--config", path])
    t.require(rules(t) == before, f"the rules are others: {foreign.difference(before, rules(t))}")
    t.require(observed.metrics(t, "/configz").body == effective, "/configz changed")
    reload_and_expect(t, "reload (SIGHUP): nothing has changed")
    for name, change, words in (("wrong", ("masqueradeBit: 20", "masqueradeBit: 32"),
                                 (f"{path}:", "32 is not a bit of a packet mark", "keeping the running configuration")),
                                ("broken", ("kind:", "kind: :"), ("failed; keeping the running configuration", "not valid YAML"))):
        os.rename(write(t, name + ".conf", text.replace(*change)), path)
        reload_and_expect(t, *words)
    t.expect(POD, service.cluster(), masqueraded(E1, E2))
    t.require(rules(t) == before, f"something took effect: {foreign.difference(before, rules(t))}")
    t.require(observed.metrics(t, "/configz").body == effective, "/configz changed")
    os.rename(write(t, "other.conf", text.replace("masqueradeAll: true", "masqueradeAll: false")), path)
    t.expect_soon(POD, service.cluster(), kept(E1, E2))
    t.require(observed.metrics(t, "/configz").body != effective, "/configz is still the same")
