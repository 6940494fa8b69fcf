# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What clients cost the API server: CPU time, memory, bytes and connections, phase by phase."""

import time
from pathlib import Path

from . import fleet_network, pace

QUIET_SECONDS, QUIET_BYTES = 3, 500  # a client that receives less in this time waits for changes


def cpu_seconds(pid):
    """CPU time of all threads, from the clock of the process: clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def resident_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Cost:
    """Measures phases of a fleet."""

    def __init__(self, fleet):
        self._fleet, self.phases = fleet, {}

    def during(self, name, work):
        """Calls `work()`, waits until all of its bytes have arrived, and records what it cost."""
        server, numbers = self._fleet.server, self._fleet.numbers
        bytes_before, begun, cpu = fleet_network.traffic(numbers), time.monotonic(), cpu_seconds(server.pid)
        more = work() or {}
        if name != "steady":
            wait_quiet(numbers)
        cpu, seconds = cpu_seconds(server.pid) - cpu, time.monotonic() - begun
        passed = fleet_network.traffic(numbers) - bytes_before
        live = server.api.memory()
        self.phases[name] = more | {
            "seconds": seconds, "serverCpu": cpu, "serverResidentMiB": resident_mib(server.pid),
            "serverLiveMiB": (live["go_memstats_heap_alloc_bytes"] + live["go_memstats_stack_inuse_bytes"]) / 2**20,
            "serverGoroutines": live["go_goroutines"], "received": passed.received, "sent": passed.sent,
            "connections": sum(fleet_network.connections().get(member.ip, 0) for member in self._fleet.members),
            "watches": self._fleet.watches()}
        return self.phases[name]


def wait_quiet(numbers, seconds=300):
    """Returns once the members receive next to nothing. A late answer of the server costs only time."""
    limit, last = QUIET_BYTES * max(1, len(numbers)), [fleet_network.traffic(numbers).received]

    def quiet():
        before = last[0]
        last[0] = fleet_network.traffic(numbers).received
        return last[0] - before <= limit

    time.sleep(QUIET_SECONDS)  # fixed time: bytes are counted over it
    return pace.wait_until(quiet, seconds, every=QUIET_SECONDS)
