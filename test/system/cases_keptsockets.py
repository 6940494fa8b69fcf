# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Userspace mode under a service manager that keeps descriptors: its sockets outlive the process, and clients that come while no
process runs are served by the next one."""

import os
import subprocess

from lib import observed, talk
from lib.addresses import E1, EXT
from lib.cases import POD, own_daemon
from lib.daemon import Daemon
from lib.fd_holder import FdHolder
from lib.objects import ready

from cases_flows import proxy_ports
from cases_userspace import open_sockets

ONLY_HERE = {"backends": ["userspace"], "sources": ["manifests"], "protocols": ("tcp",)}
LOST = "sluice_userspace_connections_lost_total"


def counted(t):
    """Connections of the case's family that were lost with the previous process."""
    wanted = LOST + '{ip_family="IPv' + t.family[1] + '",protocol="tcp"}'
    return sum(float(line.split()[-1]) for line in observed.metrics(t).body.splitlines() if line.startswith(wanted))


def relayed_now(t):
    """The number of connections from the daemon to endpoints; nothing else on the node connects anywhere."""
    sockets = open_sockets(t)
    listening = {local for local, remote in sockets if remote.endswith(":0000")}
    return sum(local not in listening for local, _ in sockets)


class KeptDaemon(Daemon):
    """A daemon under a service manager that keeps its descriptors."""

    def __init__(self, t, holder):
        super().__init__(t.topology, t.bench.programs, "userspace", t.bench.label)
        self._holder = holder

    def start(self, source_flags, flags=()):
        os.makedirs(self.state_dir, exist_ok=True)
        with open(self.log_path, "ab") as log:
            self._process = self._holder.popen(self._enter(self.command(source_flags, flags)), stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=log, env=self._environment())


@own_daemon(None, "sockets are kept by the service manager: a client after kill -9, and after SIGTERM, is served by the next "
            "process, at the same port; lost connections are reported", **ONLY_HERE)
def next_process(t):
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)], type="LoadBalancer", external=True)
    t.settle()
    t.bench.daemon.stop()
    with FdHolder(t.topology.directory) as holder:
        t.bench.daemon = KeptDaemon(t, holder)
        t.bench.start_daemon()
        t.settle()
        ports = proxy_ports(t, service)
        # In the second turn clients that waited during the first one are connected, too.
        for end, lost in ((t.bench.daemon.kill, 1), (t.bench.daemon.stop, 3)):
            relayed = talk.connect(t, POD, service.cluster())
            endpoint = talk.accept(t, server)
            t.require(talk.is_connected(relayed, endpoint), "the connection does not work")
            t.wait_until(holder.names, "sockets are kept")
            holder.settle()
            # On a busy machine connections of the barrier may still be open: they would be lost, too.
            t.wait_until(lambda: relayed_now(t) == lost, f"the daemon relays {lost} connections")
            end()
            t.require(talk.receive(relayed) in (talk.END, talk.RESET), "the client's end goes on")
            waiting = [talk.connect(t, POD, service.cluster()), talk.connect(t, EXT, service.node())]
            t.bench.start_daemon()
            # Two threads relay them, so either may reach the endpoint first.
            t.require(talk.are_served(t, waiting, server), "a client that connected in between is not served")
            t.require(proxy_ports(t, service) == ports, f"ports {ports} became {proxy_ports(t, service)}")
            t.wait_until(lambda: counted(t) == lost, f"{lost} lost connections are counted")
        t.require(not holder.warnings, f"the manager complains: {holder.warnings}")
        t.bench.daemon.stop()
    t.bench.daemon = Daemon(t.topology, t.bench.programs, "userspace", t.bench.label)
    t.bench.start_daemon()
