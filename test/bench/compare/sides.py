# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Both proxies with equal configuration: default sync periods, the same range of pods, no settings of connection tracking."""

import os
import re
import time
import urllib.error
import urllib.request

import paths  # noqa: F401  # pylint: disable=unused-import
from metrics import KUBE_PROXY, SLUICE
from network import BenchError, run
from patience import stretched
from process import tree
from stage import CLUSTER_CIDR
from subjects import KubeProxy, Sluiced

METRICS = "http://127.0.0.1:10249/metrics"
SYNCED = re.compile(r'^kubeproxy_sync_proxy_rules_last_timestamp_seconds(?:\{[^}]*ip_family="IPv4"[^}]*\})? (\S+)$', re.M)
CONNTRACK = ["--conntrack-max-per-core", "0", "--conntrack-tcp-timeout-established", "0", "--conntrack-tcp-timeout-close-wait", "0"]
IDLE_SECONDS, IDLE_SHARE = 0.5, 0.05
POLL_SECONDS = 0.05


def mode_and_variant(mode):
    """--proxy-mode, and the variant of iptables that is in PATH."""
    return ("iptables", mode.rpartition("-")[2]) if mode.startswith("iptables-") else (mode, "nft")


def make(proxy, wanted, stage, directory, kubeconfig, mode):
    mode, variant = mode_and_variant(mode)
    arguments = (stage, directory, kubeconfig, mode)
    subject = Sluiced(wanted.builddir, *arguments) if proxy == SLUICE else \
        KubeProxy(os.path.join(wanted.kube_bin, "kube-proxy"), *arguments)
    subject.flags[subject.flags.index("--cluster-cidr") + 1] = CLUSTER_CIDR
    if proxy == SLUICE:
        subject.flags += CONNTRACK  # the other has them anyway
    if mode != "nftables":
        subject.use_iptables(variant)
    return subject


def version(proxy, wanted):
    """Of the program, without starting a proxy."""
    program = os.path.join(wanted.builddir, "core", "sluiced") if proxy == SLUICE else \
        os.path.join(wanted.kube_bin, KUBE_PROXY)
    return run(program, "--version").strip().rpartition(" ")[2]


def wait_synced(subject, begin_wall, patience):
    """Seconds from `begin_wall` to the end of the first IPv4 sync, as the proxy's metrics report it. In the node."""
    end = time.monotonic() + stretched(patience)
    while True:
        try:
            with urllib.request.urlopen(METRICS, timeout=10) as answer:
                found = [float(one) for one in SYNCED.findall(answer.read().decode())]
        except (OSError, urllib.error.URLError):
            found = []
        if found and max(found) >= begin_wall:
            return max(found) - begin_wall
        subject.check_alive()
        if time.monotonic() > end:
            raise BenchError(f"no sync is reported after {patience:.0f} s{subject.last_words()}")
        time.sleep(POLL_SECONDS * 2)  # poll interval


def wait_idle(subject, patience):
    """Returns once the proxy runs no program and uses little CPU for IDLE_SECONDS, or after a timeout."""
    end = time.monotonic() + stretched(patience)
    used, since = _total(subject), time.monotonic()
    while (now := time.monotonic()) < end and now - since < IDLE_SECONDS:
        time.sleep(POLL_SECONDS)  # poll interval
        if sum(1 for _ in tree(subject.pid)) > 1 or _total(subject) - used > IDLE_SHARE * IDLE_SECONDS:
            used, since = _total(subject), time.monotonic()


def _total(subject):
    return cpu_seconds(subject.cpu())


def cpu_seconds(used):
    """With child processes."""
    return used.own + used.children_user + used.children_system
