# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a process: configuration files and command lines made for kube-proxy, and what becomes of them."""

import os
import shutil

from lib import addresses as a
from lib import nftables, observed
from lib.addresses import E1, E2
from lib.cases import POD, kept, own_daemon
from lib.objects import ready
from lib.own_flags import ends, restart, told, write

ABOVE_BACKENDS = True

PROXY = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"

# What kubeadm writes when nobody has said anything: every field, mostly without a value.
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


@own_daemon(None, "an unmodified configuration as kubeadm writes it starts the daemon, and so does what it stands for")
def kubeadm(t):
    text = KUBEADM.replace("KUBECONFIG", kubeconfig(t)).replace("CIDRS", ",".join(a.CLUSTER_CIDR.values()))
    path = write(t, "kubeadm.conf", text)
    name = ["--hostname-override", a.NODE_NAME]
    ends(t, ["--check", "--config", path, *name], 0)
    filled = os.path.join(t.topology.directory, f"{t.bench.label}-filled.conf")
    ends(t, ["--config", path, *name, "--write-config-to", filled], 0)
    restart(t, ["--config", path, *name])
    serves(t)
    about_fields = [line for line in t.bench.daemon.log().splitlines() if line.startswith("W") and path in line]
    t.require(not about_fields, f"warnings about fields: {about_fields}")
    with open(filled, encoding="utf-8") as file:
        written = file.read()
    for line in ("  syncPeriod: 30s", "  tcpEstablishedTimeout: 24h0m0s", "oomScoreAdj: -999",
                 'healthzBindAddress: "0.0.0.0:10256"', 'mode: "iptables"'):
        t.require(line in written, f"the filled configuration lacks {line}: {written}")
    restart(t, ["--config", filled])  # the name of the node stands in it
    serves(t)


@own_daemon(None, "the command line of an old unit file starts the daemon, with one warning about its log flags")
def old_command_line(t):
    # The node's own name in place of its address, which this cluster does not know it by.
    restart(t, [f"--kubeconfig={kubeconfig(t)}", f"--hostname-override={a.NODE_NAME}", f"--bind-address={a.NODE.v4}",
                "--logtostderr=false", "--log-dir=/var/log/kubernetes/kube-proxy", "--v=4"])
    serves(t)
    told(t, "--logtostderr, --log-dir: retired and without effect")
    told(t, 'FLAG: --oom-score-adj="-999"')
    lines = [line for line in t.bench.daemon.log().splitlines() if "retired and without effect" in line]
    t.require(len(lines) == 1, f"{len(lines)} lines about retired flags")


@own_daemon(135, "an unknown field and a repeated one start with a line; another kind and broken YAML fail")
def odd_fields(t):
    access = f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: {a.NODE_NAME}\n"
    path = write(t, "odd.conf", PROXY + access + "nonsense: 1\nmode: ipvs\nmode: iptables\n")
    restart(t, ["--config", path])
    told(t, f"{path}:6: nonsense: unknown field; it is ignored")
    told(t, f"{path}:8: mode: is given a second time; the last one counts")
    serves(t)
    ends(t, ["--check", "--config", path], 1, f"{path}:6: nonsense")
    ends(t, ["--config", write(t, "kind.conf", "apiVersion: v1\nkind: Pod\n")], 1, "kind 'Pod'")
    broken = write(t, "broken.conf", PROXY + "bindAddress: ::\n")
    ends(t, ["--config", broken], 1, f"{broken}:3", "not valid YAML")


@own_daemon(136, "the flag for the node's name beats the file and is lowered; blanks are an error")
def node_name(t):
    path = write(t, "name.conf", PROXY + f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: other\n")
    restart(t, ["--config", path, "--hostname-override", f" {a.NODE_NAME.upper()} "])
    node = t.status()["node"]
    t.require(node["name"] == a.NODE_NAME and node["seen"], f"the node is {node}")
    ends(t, ["--config", path, "--hostname-override", "  "], 1, "--hostname-override: is only blanks")


@own_daemon(138, "a configuration file that is written in place or exchanged takes effect, and the daemon stays; one that "
            "is removed or half written leaves what is in force")
def file_rewritten(t):
    head = PROXY + f"clientConnection:\n  kubeconfig: {kubeconfig(t)}\nhostnameOverride: {a.NODE_NAME}\n"
    path = write(t, "watched.conf", head + "configSyncPeriod: 1h\n")
    restart(t, ["--config", path])
    daemon = t.bench.daemon
    process = daemon.pid

    def in_force(period):
        t.wait_until(lambda: f'"configSyncPeriod":"{period}"' in observed.metrics(t, "/configz").body,
                     f"/configz says {period}: {daemon.log_tail()}")

    in_force("1h0m0s")
    os.chmod(path, 0o600)
    write(t, "watched.conf", head + "configSyncPeriod: 2h\n")
    in_force("2h0m0s")
    os.rename(write(t, "new.conf", head + "configSyncPeriod: 3h\n"), path)
    in_force("3h0m0s")
    os.remove(path)
    told(t, path, "what was read from it stays in force")
    serves(t)
    write(t, "watched.conf", head + "configSyncPeriod: 4h\n")
    in_force("4h0m0s")
    write(t, "watched.conf", head + "configSyncPeriod: [")
    told(t, "reload", "failed, and what is in force stays", path)
    in_force("4h0m0s")
    write(t, "watched.conf", head + "configSyncPeriod: 5h\n")
    in_force("5h0m0s")
    daemon.check_alive()
    t.require(daemon.pid == process, "it is another process")
    serves(t)


@own_daemon(141, "mode userspace without its backend is an error that names what is there", sources=["manifests"])
def userspace(t):
    folder = os.path.join(t.topology.directory, f"{t.bench.label}-plugins")
    shutil.copytree(t.bench.programs.plugin_dir(t.topology.directory), folder,
                    ignore=shutil.ignore_patterns("userspace*"))
    done = t.bench.daemon.run(["--proxy-mode", "userspace", "--manifests", t.topology.directory, "--plugin-dir", folder,
                               "--state-dir", t.bench.daemon.state_dir])
    words = ("backend 'userspace' is not installed", "iptables")
    t.require(done.returncode == 1 and any(all(word in line for word in words) for line in done.stderr.splitlines()),
              f"exit {done.returncode}: {done.stderr[-600:]}")


@own_daemon(None, "a second daemon with the state directory of one that runs is refused and told who has it; the first one serves and answers "
            "as before; one that is killed may be replaced at once", sources=["manifests"], backends=["iptables"])
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
    """KiB of the daemon's code that are copies of its own, by the mappings of its file that may be executed."""
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


@own_daemon(None, "what a debugger or perf writes into the daemon's code stays there over a full transaction", sources=["manifests"],
            backends=["nftables"])
def code_stays(t):
    serves(t)
    daemon = t.bench.daemon
    t.require(sum(changed_code(daemon.pid).values()) == 0, f"the code is changed already: {changed_code(daemon.pid)}")
    # A byte is written over by itself, as the first step to a breakpoint: the process has a copy of the page then.
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
    t.settle()  # what follows a full transaction has happened before the next one
    t.require(changed_code(daemon.pid) == changed, f"the copies are gone: {changed} became {changed_code(daemon.pid)}")
    serves(t)
