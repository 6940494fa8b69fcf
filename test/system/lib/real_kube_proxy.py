# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Real kube-proxies as the proxy of the node. The folder that SLUICE_KUBE_BIN names has kube-proxy, and those of other releases
as kube-proxy-RELEASE."""

import glob
import itertools
import os
import re
import subprocess

from . import addresses as a
from . import netns_http, pace, shell
from .bench import BOTH_CIDRS

VARIABLE = "SLUICE_KUBE_BIN"
METRICS_PORT = 10249
# A family without a sync has 0.
SYNCED = re.compile(r'^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="\w+"\} [1-9]', re.M)

_serial = itertools.count(1)


def programs():
    """Paths of the programs; none if the variable is not set."""
    folder = os.environ.get(VARIABLE)
    return sorted(path for path in glob.glob(os.path.join(folder, "kube-proxy*")) if os.access(path, os.X_OK)) if folder else []


class KubeProxy:
    """Reads the objects of the case from the API server of the tests. Its rules stay when it stops."""

    def __init__(self, t, program):
        self._t, self._program = t, program
        self.version = shell.run([program, "--version"]).stdout.split()[-1]
        self._log_path = os.path.join(t.topology.directory, f"kube-proxy-{next(_serial)}.log")
        self._process = None
        t.defer(self.stop)

    def __str__(self):
        return f"kube-proxy {self.version}"

    def start(self, mode):
        """Returns after the first sync of each family."""
        with open(self._log_path, "ab") as log:
            self._process = self._t.topology.start(
                "node", self._program, *self._t.bench.source.daemon_flags(), "--kube-api-content-type", "application/json",
                "--hostname-override", a.NODE_NAME, "--proxy-mode", mode, *BOTH_CIDRS, "--v", "2", "--oom-score-adj", "0",
                # The limit is one of the whole machine.
                "--conntrack-max-per-core", "0", "--conntrack-min", "0",
                stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "PATH": self._t.topology.search_path})
        if not pace.wait_until(lambda: self._process.poll() is not None or self._synced(), 60, every=0.2) or not self._synced():
            raise shell.CommandFailed(f"{self} did not sync; last log lines:\n{self._log_tail()}")

    def stop(self):
        if self._process:
            shell.stop(self._process, pace.stretched(20))
            self._process = None

    def clean_up(self):
        """Removes its rules, of all modes."""
        self._t.topology.run("node", self._program, "--cleanup", check=False)

    def _synced(self):
        connection = netns_http.NamespaceConnection(self._t.topology.namespace("node"), "127.0.0.1", METRICS_PORT)
        try:
            connection.request("GET", "/metrics")
            return len(SYNCED.findall(connection.getresponse().read().decode())) == len(a.FAMILIES)
        except OSError:  # it does not listen yet
            return False
        finally:
            connection.close()

    def _log_tail(self):
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-15:])
