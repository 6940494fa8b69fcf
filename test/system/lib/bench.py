# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of a case: a daemon with one source of objects on the test network."""

import os
import time

from . import addresses as a
from . import churn, manifests, objects, pace
from .barrier import Barrier
from .daemon import Daemon
from .profile import BUILT_IN

PERIOD = round(2 * pace.SLOWNESS)  # seconds between full syncs, which take an emulated machine half a second
_PROMPT = ["--iptables-sync-period", f"{PERIOD}s", "--iptables-min-sync-period", "0s"]
_PROMPT_OF = {
    "ipvs": ["--ipvs-sync-period", f"{PERIOD}s", "--ipvs-min-sync-period", "0s"],
}
BOTH_CIDRS = ["--cluster-cidr", ",".join(a.CLUSTER_CIDR.values())]

# The flags of each group of cases; each group is one run of the daemon.
CONFIGS = {
    "default": BOTH_CIDRS,
    "masquerade-all": [*BOTH_CIDRS, "--masquerade-all"],
    "no-detector": [],
    "bridge-detector": ["--detect-local-mode", "BridgeInterface", "--pod-bridge-interface", "vethpod"],
    "prefix-detector": ["--detect-local-mode", "InterfaceNamePrefix", "--pod-interface-name-prefix", "veth"],
    "no-localhost-nodeports": [*BOTH_CIDRS, "--iptables-localhost-nodeports=false"],
    "nodeports-one-subnet": [*BOTH_CIDRS, "--nodeport-addresses", "192.168.0.0/24,fd00:192:168::/64"],
    "nodeports-with-loopback": [*BOTH_CIDRS, "--nodeport-addresses",
                                "192.168.0.0/24,127.0.0.0/8,fd00:192:168::/64,::1/128"],
    "nodeports-only-ipv6": [*BOTH_CIDRS, "--nodeport-addresses", "::/0,fd00::/64"],
    "short-udp-timeout": [*BOTH_CIDRS, "--udp-timeout", "250ms"],
    "nodeports-primary": [*BOTH_CIDRS, "--nodeport-addresses", "primary"],
    # A minimum sync period as in production, but a tenth as long.
    "hostile-tenant": [*BOTH_CIDRS, "--iptables-min-sync-period", "100ms", "--ipvs-min-sync-period", "100ms"],
}

# Settings without a flag: fields of KubeProxyConfiguration, and the section of the backend.
FILES = {
    "userspace-reset": ("userspace", "portRange: 21000-21399\n", """
      balance: leastConnections
      dialTimeouts: [100ms, 200ms]
      proxyProtocol: [named/*]
      threads: 3
      whenEndpointRemoved: reset
"""),
    "userspace-drain": ("userspace", "", """
      balance: powerOfTwoChoices
      drainTimeout: 1s
      outlierFailures: 2
      outlierFirstPause: 1s
      tcpIdleTimeout: 2s
      whenEndpointRemoved: drain
"""),
    "nftables-small-memory": ("nftables", "", """
      affinityClients: 1024
"""),
    "nftables-counters": ("nftables", "", """
      counters: true
"""),
    "ipvs-reset": ("ipvs", "", """
      whenEndpointRemoved: reset
"""),
    "ipvs-drain": ("ipvs", "", """
      drainTimeout: 6s
      whenEndpointRemoved: drain
"""),
    "ipvs-drain-long": ("ipvs", "", """
      drainTimeout: 20s
      whenEndpointRemoved: drain
"""),
}
CONFIGS |= {name: None for name in FILES}
FILE = """apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: MODE
clusterCIDR: CIDRS
iptables: {syncPeriod: 2s, minSyncPeriod: 1ms}
ipvs: {syncPeriod: 2s, minSyncPeriod: 1ms}
nftables: {syncPeriod: 2s, minSyncPeriod: 1ms}
FIELDS---
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
udpTimeout: 2s
backends:
  MODE:SECTION"""


def prompt(backend):
    """Flags that make the daemon write every change at once."""
    return _PROMPT_OF.get(backend, _PROMPT)


class Bench:
    """Starts the daemon on entry; on exit stops it and removes its rules with `--cleanup`."""

    def __init__(self, topology, programs, source_name, config="default", profile=BUILT_IN["iptables"], flags=(), starts=True):
        self.topology = topology
        self.programs = programs
        self.profile = profile
        self.backend = profile.backend
        self._starts = starts
        self.source_name = source_name
        self._file = FILES.get(config)
        self.flags = [*flags] if self._file else [*prompt(self.backend), *CONFIGS[config], *flags]
        self.label = f"{source_name}-{config}-{time.monotonic_ns()}"
        self.allocator = topology.allocator
        self.source = None
        self.daemon = None
        self.barrier = None
        self.churn = None

    def __enter__(self):
        directory = os.path.join(self.topology.directory, self.label)
        os.mkdir(directory)
        if self._file:
            self.flags = ["--config", self._write_file(directory), *self.flags]
        # Values that an earlier daemon has set would hide a daemon that fails to set them.
        # Conntrack entries of UDP clients must last until the case checks them, also on a busy machine. The entry of a SYN that was
        # not translated must expire soon, or the next connection from that port is not translated either.
        self.topology.run("node", "sysctl", "-eqw", "net.ipv4.conf.all.route_localnet=0",
                          "net.netfilter.nf_conntrack_tcp_be_liberal=0", "net.netfilter.nf_conntrack_udp_timeout=120",
                          "net.netfilter.nf_conntrack_tcp_timeout_syn_sent=1")
        if self.source_name == "manifests":
            self.source = manifests.ManifestSource(directory)
        else:
            from . import apiserver  # pylint: disable=import-outside-toplevel  # the installed conformance kit does not have it
            self.source = apiserver.ApiSource(self.topology, self.programs, directory)
        self.daemon = Daemon(self.topology, self.programs, self.backend, self.label)
        self.barrier = Barrier(self.topology, self.source, lambda: self.daemon.check_alive(), self.profile.families)
        self.set_node_labels({objects.ZONE_LABEL: a.ZONE})
        try:
            if self._starts:
                self.start_daemon()
                self.barrier.settle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop_churn()
        self.daemon.stop()
        self.daemon.run(["--cleanup", *self._cleanup_flags()])
        self.source.close()

    def start_daemon(self):
        self.daemon.start(self.source.daemon_flags(), self.flags)
        self.daemon.wait_synced()

    def cleanup(self):
        return self.daemon.run(["--cleanup", *self._cleanup_flags()])

    def set_node_labels(self, labels):
        self.source.put(objects.node(labels))

    def start_churn(self):
        self.churn = churn.Churn(self)
        self.churn.start()

    def stop_churn(self):
        """The counts of the hammer, or None if there was no churn."""
        if self.churn is None:
            return None
        running, self.churn = self.churn, None
        return running.stop()

    def _write_file(self, directory):
        mode, fields, section = self._file
        path = os.path.join(directory, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FILE.replace("CIDRS", ",".join(a.CLUSTER_CIDR.values())).replace("FIELDS", fields)
                       .replace("SECTION", section).replace("MODE", mode))
        return path

    def _cleanup_flags(self):
        return ["--state-dir", self.daemon.state_dir, "--plugin-dir", self.programs.plugin_dir(self.topology.directory)]
