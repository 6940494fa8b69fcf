# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Traffic to Services: requests, hammers and held connections, all by netecho."""

import itertools
import json
import os
import subprocess
import threading
import time

from . import addresses as a
from . import outcomes, pace, shell

# Enough to distinguish two endpoints with equal shares from one endpoint.
FEWEST_QUESTIONS = 10
MOST_QUESTIONS = 100
SILENT_QUESTIONS = 2
HAMMER_TIMEOUT_MS = 5000
HAMMER_INTERVAL_MS = 5
CALM_INTERVAL_MS = 25
FIRST_UDP_PORT, LAST_UDP_PORT = 1100, 19999

_count_files = itertools.count()
_udp_ports = {}
_udp_ports_lock = threading.Lock()


def ask(topology, sender, protocol, ip, port, family, count=1, timeout_ms=None, first_syn_only=False):
    """The answer lines of `count` new connections from the address of the sender. With first_syn_only a lost SYN counts as a
    timeout, even if a retransmission would fit into the timeout."""
    timeout_ms = timeout_ms or pace.stretched(1000)
    source = source_ip(sender, ip, family)
    if protocol == "udp":
        source = (f"{source}:{{}}" if family == a.V4 else f"[{source}]:{{}}").format(_udp_source_ports(sender, count))
    words = [protocol, ip, str(port), "--count", str(count), "--timeout", f"{timeout_ms:.0f}", "--source", source,
             *(["--first-syn-only"] if first_syn_only else [])]
    return topology.ask(sender.place, *words, timeout=count * timeout_ms / 1000 + 30)


def source_ip(sender, destination, family):
    """The address of the sender; a loopback destination requires the loopback address."""
    return destination if destination == a.LOOPBACK[family] and sender.place == a.NODE.place else sender.ip(family)


def _udp_source_ports(sender, count):
    """The first of `count` unused ports: conntrack still has entries of earlier flows to earlier endpoints."""
    with _udp_ports_lock:
        first = _udp_ports.get(sender.place, FIRST_UDP_PORT)
        if first + count > LAST_UDP_PORT:
            first = FIRST_UDP_PORT
        _udp_ports[sender.place] = first + count
        return first


def check(topology, sender, protocol, ip, port, family, expected):
    """None, or a sentence with the difference from the expected outcome."""
    served = expected.kind == "served"
    timeout = patience_of(expected)
    lines = []
    batch = FEWEST_QUESTIONS if served else SILENT_QUESTIONS
    while True:
        lines += ask(topology, sender, protocol, ip, port, family, batch, timeout)
        wrong = outcomes.mismatch(expected, lines, source_ip(sender, ip, family), family)
        if wrong is None or outcomes.complete(expected, lines) or len(lines) >= MOST_QUESTIONS or \
                any(not line.startswith("ok ") for line in lines):
            break
    if wrong is None:
        return None
    return f"{sender.name} → {protocol} {ip} port {port}: {wrong}"


def patience_of(expected):
    """Timeout in milliseconds: generous if an answer is expected, else long enough to prove that none comes."""
    if expected.kind in ("served", "rejected", "closed"):
        return pace.stretched(outcomes.TIMEOUT_WHEN_ANSWERED_MS)
    return outcomes.TIMEOUT_WHEN_SILENT_MS


def ask_all(topology, sender, questions, family):
    """The answers to several requests, each (front, timeout in ms), that one process sends at the same time."""
    lines = []
    for front, patience in questions:
        source = source_ip(sender, front.ip, family)
        if front.protocol == "udp":
            port = _udp_source_ports(sender, 1)
            source = f"{source}:{port}" if family == a.V4 else f"[{source}]:{port}"
        lines.append(f"{front.protocol} {front.ip} {front.port} {source} {patience:.0f}\n")
    return topology.run(sender.place, topology.netecho, "plan", stdin="".join(lines)).stdout.splitlines()


def attempts_in(file):
    """The number of completed attempts in the count file of netecho hammer."""
    try:
        with open(file, encoding="ascii") as text:
            return int(text.read() or 0)
    except FileNotFoundError:
        return 0


class Hammer:
    """Connects continuously until stopped. A lost first SYN counts as a failure, regardless of the timeout. `calm`: less often, for
    many hammers or many seconds, where a case waits for attempts."""

    def __init__(self, topology, sender, protocol, ip, port, seconds=3600, timeout_ms=None, calm=False):
        timeout_ms = timeout_ms or pace.stretched(HAMMER_TIMEOUT_MS)
        interval_ms = (CALM_INTERVAL_MS if calm else HAMMER_INTERVAL_MS) * pace.SLOWNESS * pace.processor_slowness()
        self._count_file = os.path.join(topology.directory, f"attempts-{next(_count_files)}")
        self._started = time.time()
        self._process = topology.start(
            sender.place, topology.netecho, "hammer", protocol, ip, str(port), "--seconds", str(seconds),
            "--timeout", f"{timeout_ms:.0f}", "--source", source_ip(sender, ip, a.V6 if ":" in ip else a.V4),
            "--interval", f"{interval_ms:.0f}", "--count-file", self._count_file, stdout=subprocess.PIPE)

    def wait_attempts(self, count):
        """Returns once the current attempt and `count` later ones have completed."""
        wanted = attempts_in(self._count_file) + count + 1
        if not pace.wait_until(lambda: attempts_in(self._count_file) >= wanted, 20, every=0.01):
            raise shell.CommandFailed(f"the hammer has made {attempts_in(self._count_file)} attempts and not {wanted}")

    def stop(self):
        self._process.terminate()
        output, _ = self._process.communicate(timeout=pace.stretched(30))
        counts = json.loads(output)
        failed_at = self._started + counts["first_failure_at_ms"] / 1000
        # In the format of the log of the daemon.
        counts["first_failure_time"] = time.strftime("%H:%M:%S", time.localtime(failed_at)) + f".{int(failed_at % 1 * 1000):03}"
        # The host at the default route answered: the node has not translated the connection.
        untranslated = counts["servers"].get(a.OUTSIDE.name, 0)
        if untranslated:
            counts["ok"] -= untranslated
            counts["failed"] += untranslated
            counts["first_failure"] = counts["first_failure"] or f"ok {a.OUTSIDE.name}"
        return counts


class Held:
    """One connection that stays open; `end` returns whether it survived."""

    def __init__(self, topology, sender, protocol, ip, port):
        self._process = topology.start(sender.place, topology.netecho, "hold", "--timeout", f"{pace.stretched(5000):.0f}", protocol, ip,
                                       str(port), stdout=subprocess.PIPE)
        self.greeting = self._process.stdout.readline().strip()

    def server(self):
        """The name of the endpoint of the connection."""
        return self.greeting.split()[1] if self.greeting.startswith("established ") else ""

    def end(self):
        """(survived, last line)."""
        status = shell.stop(self._process, patience=30)
        last = (self._process.stdout.read().strip().splitlines() or [self.greeting])[-1]
        return status == 0, last
