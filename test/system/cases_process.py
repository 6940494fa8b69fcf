# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a process: configuration files and command lines made for kube-proxy."""

import os
import shutil

from lib import addresses as a
from lib import nftables, observed
from lib.addresses import E1, E2
from lib.cases import POD, kept, own_daemon
from lib.objects import ready
from lib.own_flags import expect_exit, expect_logged, restart, write

ABOVE_BACKENDS = True

PROXY = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"

# What kubeadm writes by default: every field, mostly without a value.
KUBEADM = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: KUBECONFIG
  qps: 0
clusterCIDR: CIDRS
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
"""


def kubeconfig(t):
    return t.bench.source.daemon_flags()[1]


def serves(t):
    t.expect_soon(POD, t.service([ready(E1), ready(E2)]).cluster(), kept(E1, E2))


@own_daemon(None, "an unmodified configuration of kubeadm starts the daemon, and so does its effective configuration")
def kubeadm(t):
    text = KUBEADM.replace("KUBECONFIG", kubeconfig(t)).replace("CIDRS", ",".join(a.CLUSTER_CIDR.values()))
    path = write(t, "kubeadm.conf", text)
    name = ["--hostname-override", a.NODE_NAME]
    expect_exit(t, ["--check", "--config", path, *name], 0)
    filled = os.path.join(t.topology.directory, f"{t.bench.label}-filled.conf")
    expect_exit(t, ["--config", path, *name, "--write-config-to", filled], 0)
    restart(t, ["--config", path, *name])
    serves(t)
    about_fields = [line for line in t.bench.daemon.log().splitlines() if line.startswith("W") and path in line]
    t.require(not about_fields, f"warnings about fields: {about_fields}")
    with open(filled, encoding="utf-8") as file:
        written = file.read()
    for line in ("  syncPeriod: 30s", "  tcpEstablishedTimeout: 24h0m0s", "oomScoreAdj: -999",
                 'healthzBindAddress: "0.0.0.0:10256"', 'mode: "iptables"'):
        t.require(line in written, f"the filled configuration lacks {line}: {written}")
    restart(t, ["--config", filled])  # it contains the node name
    serves(t)


@own_daemon(None, "the command line of an old unit file starts the daemon, with one warning about its log flags")
def old_command_line(t):
    # The node name in place of its address, which is not its name in this cluster.
    restart(t, [f"--kubeconfig={kubeconfig(t)}", f"--hostname-override={a.NODE_NAME}", f"--bind-address={a.NODE.v4}",
                "--logtostderr=false", "--log-dir=/var/log/kubernetes/kube-proxy", "--v=4"])
    serves(t)
    expect_logged(t, "--logtostderr, --log-dir: retired and without effect")
    expect_logged(t, 'FLAG: --oom-score-adj="-999"')
    lines = [line for line in t.bench.daemon.log().splitlines() if "retired and without effect" in line]
    t.require(len(lines) == 1, f"{len(lines)} lines about retired flags")


@own_daemon(135, "an unknown field and a repeated one are warnings; another kind and broken YAML are errors")
def odd_fields(t):
    access = f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: {a.NODE_NAME}\n"
    path = write(t, "odd.conf", PROXY + access + "nonsense: 1\nmode: ipvs\nmode: iptables\n")
    restart(t, ["--config", path])
    expect_logged(t, f"{path}:6: nonsense: unknown field; it is ignored")
    expect_logged(t, f"{path}:8: mode: is set twice; the last one counts")
    serves(t)
    expect_exit(t, ["--check", "--config", path], 1, f"{path}:6: nonsense")
    expect_exit(t, ["--config", write(t, "kind.conf", "apiVersion: v1\nkind: Pod\n")], 1, "kind 'Pod'")
    broken = write(t, "broken.conf", PROXY + "bindAddress: ::\n")
    expect_exit(t, ["--config", broken], 1, f"{broken}:3", "not valid YAML")


@own_daemon(136, "--hostname-override takes precedence over the file and is converted to lower case; blanks are an error")
def node_name(t):
    path = write(t, "name.conf", PROXY + f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: other\n")
    restart(t, ["--config", path, "--hostname-override", f" {a.NODE_NAME.upper()} "])
    node = t.status()["node"]
    t.require(node["name"] == a.NODE_NAME and node["seen"], f"the node is {node}")
    expect_exit(t, ["--config", path, "--hostname-override", "  "], 1, "--hostname-override: is only blanks")


@own_daemon(138, "a configuration file that is written in place or replaced takes effect, and the daemon stays; one that "
            "is removed or half written leaves the running configuration")
def file_rewritten(t):
    head = PROXY + f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: {a.NODE_NAME}\n"
    path = write(t, "watched.conf", head + "configSyncPeriod: 1h\n")
    restart(t, ["--config", path])
    daemon = t.bench.daemon
    process = daemon.pid

    def expect_period(period):
        t.wait_until(lambda: f'"configSyncPeriod":"{period}"' in observed.metrics(t, "/configz").body,
                     f"/configz says {period}: {daemon.log_tail()}")

    expect_period("1h0m0s")
    os.chmod(path, 0o600)
    write(t, "watched.conf", head + "configSyncPeriod: 2h\n")
    expect_period("2h0m0s")
    os.rename(write(t, "new.conf", head + "configSyncPeriod: 3h\n"), path)
    expect_period("3h0m0s")
    os.remove(path)
    expect_logged(t, path, "keeping its last content")
    serves(t)
    write(t, "watched.conf", head + "configSyncPeriod: 4h\n")
    expect_period("4h0m0s")
    write(t, "watched.conf", head + "configSyncPeriod: [")
    expect_logged(t, "reload", "failed; keeping the running configuration", path)
    expect_period("4h0m0s")
    write(t, "watched.conf", head + "configSyncPeriod: 5h\n")
    expect_period("5h0m0s")
    daemon.check_alive()
    t.require(daemon.pid == process, "it is another process")
    serves(t)


@own_daemon(141, "userspace mode without its backend is an error that lists the installed ones", sources=["manifests"])
def userspace(t):
    folder = os.path.join(t.topology.directory, f"{t.bench.label}-plugins")
    shutil.copytree(t.bench.programs.plugin_dir(t.topology.directory), folder,
                    ignore=shutil.ignore_patterns("userspace*"))
    done = t.bench.daemon.run(["--proxy-mode", "userspace", "--manifests", t.topology.directory, "--plugin-dir", folder,
                               "--state-dir", t.bench.daemon.state_dir])
    words = ("backend 'userspace' is not installed", "iptables")
    t.require(done.returncode == 1 and any(all(word in line for word in words) for line in done.stderr.splitlines()),
              f"exit {done.returncode}: {done.stderr[-600:]}")


@own_daemon(None, "a second daemon with the state directory of a running one is rejected with an error that names it; the "
            "first one answers as before; one that is killed may be replaced at once", sources=["manifests"],
            backends=["iptables"])
def second_daemon(t):
    daemon = t.bench.daemon
    done = daemon.run(["--manifests", t.topology.directory, "--hostname-override", "node-1", "--proxy-mode", t.bench.backend,
                       "--plugin-dir", t.bench.programs.plugin_dir(t.topology.directory), "--state-dir", daemon.state_dir])
    words = ("state directory", daemon.state_dir, f"in use by another sluiced (process {daemon.pid})")
    t.require(done.returncode == 1 and sum(all(word in line for word in words) for line in done.stderr.splitlines()) == 1,
              f"exit {done.returncode}: {done.stderr[-600:]}")
    daemon.check_alive()
    t.require(daemon.status() is not None, "the first one does not answer any more")
    serves(t)
    for _ in range(5):
        daemon.kill()
        t.bench.start_daemon()
    serves(t)


def changed_code(pid):
    """KiB of the daemon's code that are private copies, from the executable mappings of its file."""
    found, inside = {}, None
    executable = os.readlink(f"/proc/{pid}/exe")
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                inside = words[0] if "x" in words[1] and words[-1] == executable else None
            elif inside and words[0] == "Anonymous:":
                found[inside] = int(words[1])
    return found


@own_daemon(None, "breakpoints of a debugger or perf in the daemon's code survive a full transaction", sources=["manifests"],
            backends=["nftables"])
def code_stays(t):
    serves(t)
    daemon = t.bench.daemon
    t.require(sum(changed_code(daemon.pid).values()) == 0, f"the code is changed already: {changed_code(daemon.pid)}")
    # Writing a byte over itself, as the first step to a breakpoint, gives the process a private copy of the page.
    first = int(next(iter(changed_code(daemon.pid))).partition("-")[0], 16)
    with open(f"/proc/{daemon.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(first)
        byte = memory.read(1)
        memory.seek(first)
        memory.write(byte)
    changed = changed_code(daemon.pid)
    t.require(sum(changed.values()) > 0, "the page was not copied")

    def fulls():
        return [family["full_syncs"] for family in t.status()["families"]]

    before = fulls()
    nftables.nft(t, "flush ruleset")
    t.wait_until(lambda: all(now > then for now, then in zip(fulls(), before)), "everything was written again, in both families")
    # The work after a full transaction is done before the next one.
    t.require(changed_code(daemon.pid) == changed, f"the copies are gone: {changed} became {changed_code(daemon.pid)}")
    serves(t)
