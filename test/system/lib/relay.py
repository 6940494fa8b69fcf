# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Data through a relay, with relaycheck verifying every byte, and resources of the daemon during and after the transfer."""

import itertools
import json
import os
import re
import signal
import subprocess

from . import addresses as a
from . import pace, shell

# Cases run in parallel, so each uses a different port on the pods.
PORTS = itertools.count(7700)
# All addresses of these networks are local to the pod, so that a Service can have hundreds of endpoints.
ADDED_NETWORKS = {"e1": {a.V4: "10.181.1.0/24", a.V6: "fd00:10:0:181:1::/80"},
                  "e4": {a.V4: "10.181.4.0/24", a.V6: "fd00:10:0:181:4::/80"}}


def program(t):
    return t.bench.programs.tool("relaycheck")


class Server:
    """A relaycheck server in a pod."""

    def __init__(self, t, host, port):
        ready = os.path.join(t.topology.directory, f"relay-{host.name}-{port}")
        self._process = t.topology.start(host.place, program(t), "serve", "--port", str(port), "--ready-file", ready,
                                         stdout=subprocess.PIPE)
        t.defer(self.kill)
        shell.wait_ready(self._process, ready, f"relaycheck in {host.name}")

    def stop(self):
        """Stops the server and returns its counts."""
        self._process.terminate()
        return json.loads(self._process.communicate(timeout=pace.stretched(30))[0])

    def kill(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()


class Client:
    """Many connections from one host; `options` are options of relaycheck, True for an option without a value."""

    def __init__(self, t, sender, front, **options):
        words = []
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
        self._process = t.topology.start(sender.place, program(t), "connect", front.ip, str(front.port), *words,
                                         stdout=subprocess.PIPE)
        t.defer(self.kill)

    def wait_open(self):
        """With `together`: waits until all connections are established."""
        return self._process.stdout.readline().strip() == "all open"

    def running(self):
        return self._process.poll() is None

    def end(self, timeout=120):
        """Waits for the end of the client and returns its counts."""
        output, _ = self._process.communicate(timeout=pace.stretched(timeout))
        return json.loads(output.strip().splitlines()[-1])

    def stop(self):
        """Stops the client and returns its counts so far."""
        self._process.terminate()
        return self.end()

    def kill(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()


def transfer(t, sender, front, connections, **options):
    """Requires that all these connections end as expected; returns the counts."""
    counts = Client(t, sender, front, connections=connections, **options).end(timeout=1800)
    wanted = options.get("total", connections)
    t.require(counts["ok"] == wanted and counts["failed"] == 0 and counts["open"] == 0,
              f"{counts['ok']} of {wanted} connections ended as expected; {counts['failed']} failed: "
              f"{counts['problems']}, {counts['first_problem']}")
    return counts


def require_intact(t, servers, more=""):
    """Requires that the servers received all data and the end of each connection; unused connections are ignored."""
    for server in servers:
        counts = server.stop()
        t.require(counts["failed"] == 0 and counts["open"] == 0,
                  f"a server saw {counts['failed']} broken connections, {counts['open']} still open{more}: "
                  f"{counts['problems']}, {counts['first_problem']}")


def add_addresses(t, pod, numbers):
    """Adds addresses to that pod, with routes to them that are not removed."""
    network = ADDED_NETWORKS[pod.name][t.family]
    base = network.split("/", maxsplit=1)[0]
    flag = "-4" if t.family == a.V4 else "-6"
    t.topology.run("node", "ip", flag, "route", "replace", network, "via", pod.ip(t.family), "dev", f"veth{pod.name}",
                   "onlink")
    t.topology.run(pod.place, "ip", flag, "route", "replace", "local", network, "dev", "lo")
    return [f"{base[:-1]}{number}" if t.family == a.V4 else f"{base}{number:x}" for number in numbers]


def flush_conntrack(t):
    """Deletes the conntrack entries of earlier cases: the kernel keeps closed connections for two minutes, and drops new ones if
    the table is full."""
    t.topology.run("node", "conntrack", "-F")


def conntrack_drops(t):
    """The number of packets that were dropped because the conntrack table was full."""
    lines = t.topology.run("node", "cat", "/proc/net/stat/nf_conntrack").stdout.splitlines()
    column = lines[0].split().index("drop")
    return sum(int(line.split()[column], 16) for line in lines[1:])


def blackhole(t, pod, address):
    """Drops packets to this address of the pod."""
    rule = ["ip", "-4" if t.family == a.V4 else "-6", "route", "{}", "blackhole", address, "table", "local"]
    t.topology.run(pod.place, *(word.format("replace") for word in rule))
    t.defer(lambda: t.topology.run(pod.place, *(word.format("del") for word in rule)))


def allow_port_reuse(t, host):
    """Lets the host open any number of short connections, by a large port range and fast reuse of ports."""
    for name, value in (("net.ipv4.ip_local_port_range", "1024 65535"), ("net.ipv4.tcp_tw_reuse", "1")):
        before = t.topology.run(host.place, "sysctl", "-n", name).stdout.strip()
        t.topology.run(host.place, "sysctl", "-qw", f"{name}={value}")
        t.defer(lambda name=name, before=before: t.topology.run(host.place, "sysctl", "-qw", f"{name}={before}"))


def descriptor_limit(t):
    """The soft limit of open files of the daemon, which the daemon raises to the hard limit."""
    with open(f"/proc/{t.bench.daemon.pid}/limits", encoding="ascii") as file:
        return int(re.search(r"Max open files\s+(\d+)", file.read()).group(1))


class ResourceUsage:
    """The resources that the daemon uses at this instant."""

    def __init__(self, t):
        folder = f"/proc/{t.bench.daemon.pid}"
        self.descriptors = len(os.listdir(f"{folder}/fd"))
        with open(f"{folder}/status", encoding="ascii") as file:
            self.resident_kib = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
        # For the whole node: no other process there has TCP connections.
        stat = t.topology.run("node", "cat", "/proc/net/sockstat").stdout
        self.sockets = int(re.search(r"TCP: inuse (\d+)", stat).group(1))

    def __str__(self):
        return f"{self.descriptors} descriptors, {self.sockets} sockets, {self.resident_kib} KiB"


def metric(text, name):
    """The value of the sample with that name and labels; 0 if there is none."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0
