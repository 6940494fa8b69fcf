# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Steady traffic through Services, made by swaptraffic, and what it may come to: nothing fails, nothing is lost.

Every flow through a Service has twins of the same kind, in the same process, that go straight to the endpoints. A machine that
is busy delays both; only what the Service's flow suffers beyond its twins is the proxy's.
"""

import collections
import contextlib
import dataclasses
import itertools
import json
import os
import resource
import signal

from . import addresses as a
from . import pace, shell

PORT = 7080  # where the servers of this module are, for Services
# And for twins: were it the same, a connection through the Service and one past it could look alike to connection tracking.
STRAIGHT_PORT = 7081
PATIENCE_MS = {"tcp-new": 10000, "tcp-held": 15000, "udp-fixed": 10000}
LATE_MS = round(100 * pace.SLOWNESS)
# Twins do not meet the same packets: so many more may be late by chance, more on a busy machine.
LATE_BY_CHANCE = round(5 * pace.SLOWNESS)
# So many more for each late answer of a twin: a relay waits for a processor more often than the two ends do. Up to six were
# measured in userspace mode on a machine with 20 times more work than processors.
LATE_FOR_EACH_OF_TWINS = 8
# If a larger part of the twins' answers is late, the machine is too busy to judge lateness: only failures, losses and
# retransmissions count.
LATE_MACHINE = 0.01
# An emulated machine takes longer for an answer now and then than TCP waits: on its own, that is not late.
REPEATED_BY_CHANCE = round(pace.SLOWNESS)
URGENT = ["nice", "-n", "-10"]  # what else the machine does is not what is measured

_udp_ports = itertools.count(21000, 4)
_serial = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Flow:
    """`ip` and `port` are the Service's, `expect` the endpoints that may answer; each of them has a twin, and all twins together are as
    many packets as the flow is."""

    name: str
    kind: str
    sender: a.Host
    ip: str
    port: int
    expect: tuple
    every_ms: int
    count: int = 1

    @property
    def twins(self):
        return [f"{self.name}; straight to {host.name}" for host in self.expect]

    def words(self, family):
        """The arguments that make it, and its twins."""
        made = [self._word(self.name, self.ip, self.port, self.expect, self.every_ms, family)]
        return made + [self._word(twin, host.ip(family), STRAIGHT_PORT, [host], self.every_ms * len(self.expect), family)
                       for twin, host in zip(self.twins, self.expect)]

    def _word(self, label, ip, port, expect, every_ms, family):
        parts = [self.kind, f"label={label}", f"to={ip}", f"port={port}", f"late={LATE_MS}", f"every={every_ms}",
                 f"count={self.count}", f"from={self.sender.ip(family)}", f"expect={'/'.join(host.name for host in expect)}",
                 f"patience={round(pace.stretched(PATIENCE_MS[self.kind]))}"]
        if self.kind == "udp-fixed":
            parts.append(f"from-port={next(_udp_ports)}")
        return ",".join(parts)


def serve(t, *hosts):
    """The servers of the endpoints, until the case is over."""
    for host in hosts:
        ready = os.path.join(t.topology.directory, f"traffic-{host.name}-{next(_serial)}")
        server = t.topology.start(host.place, *URGENT, t.bench.programs.swaptraffic, "serve", "--name", host.name, "--port", str(PORT),
                                  "--port", str(STRAIGHT_PORT), "--ready-file", ready)
        t.defer(lambda server=server: shell.stop(server))
        t.wait_until(lambda ready=ready: os.path.exists(ready), f"the server {host.name} listens")


class Output:
    """The documents that one process has written so far. Only what is new is read, and only the last document is kept."""

    def __init__(self, path):
        self._path = path
        self._read = 0  # bytes
        self._documents = 0
        self._last = None

    @property
    def documents(self):
        """How many there are."""
        self._advance()
        return self._documents

    @property
    def last(self):
        self._advance()
        return self._last

    def end(self):
        """The end of its text, for an error."""
        with open(self._path, encoding="utf-8") as file:
            return file.read()[-300:]

    def _advance(self):
        with open(self._path, "rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]  # a line may be half written
        self._read += len(whole)
        lines = [line for line in whole.splitlines() if line.startswith(b"{")]
        if lines:
            self._documents += len(lines)
            self._last = json.loads(lines[-1])


class Traffic:
    """Runs from the start on; one process for each place that sends."""

    def __init__(self, t, flows):
        self._t = t
        self.flows = list(flows)
        self._outputs = {}
        self._processes = {}
        self._looks = 0
        by_place = collections.defaultdict(list)
        for flow in self.flows:
            by_place[flow.sender.place] += flow.words(t.family)
        for place, words in by_place.items():
            path = os.path.join(t.topology.directory, f"traffic-{next(_serial)}.log")
            self._outputs[place] = Output(path)
            with open(path, "w", encoding="utf-8") as file:
                self._processes[place] = t.topology.start(place, *URGENT, t.bench.programs.swaptraffic, "run", *words,
                                                          stdout=file, stderr=file)
        t.defer(self._end)
        self._wait_for(1)

    def progress(self):
        """What has come of each flow and each twin so far: label → counts."""
        self._looks += 1
        for process in self._processes.values():
            process.send_signal(signal.SIGUSR1)
        self._wait_for(1 + self._looks)
        return self._merged()

    def _wait_for(self, documents):
        def said():
            return all(output.documents >= documents for output in self._outputs.values())

        def ended():
            return any(process.poll() is not None for process in self._processes.values())

        pace.wait_until(lambda: said() or ended(), 10, every=0.01)
        if not said():
            raise shell.CommandFailed(f"swaptraffic says nothing: {self._said()}")

    def wait_flowing(self):
        """Returns once every flow and every twin is answered."""
        self._t.wait_until(lambda: all(one["ok"] > 0 for one in self.progress().values()), "all flows are answered", 15)
        return self

    def limit_descriptors(self, most):
        """Limits the open files of each process."""
        for process in self._processes.values():
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))

    @contextlib.contextmanager
    def paused(self):
        """All processes stand still meanwhile."""
        for process in self._processes.values():
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in self._processes.values():
                process.send_signal(signal.SIGCONT)

    def stop(self):
        """As progress(), of the whole run."""
        self._end()
        documents = self._merged()
        if not all(output.last["done"] for output in self._outputs.values()):
            raise shell.CommandFailed(f"swaptraffic did not end: {self._said()}")
        return documents

    def _end(self):
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            shell.wait_ended(process, 30)
            shell.stop(process)

    def _merged(self):
        return {label: one for output in self._outputs.values() for label, one in output.last["flows"].items()}

    def _said(self):
        return "; ".join(output.end() for output in self._outputs.values())


def since(before, after):
    """The counts of the time between two looks; the first failures and the slowest are those of the whole."""
    return {label: {name: _less(value, before[label][name]) for name, value in counts.items()} for label, counts in after.items()}


def _less(value, earlier):
    if isinstance(value, dict):
        return {name: count - earlier.get(name, 0) for name, count in value.items() if count != earlier.get(name, 0)}
    if isinstance(value, list):
        return [one for one in value if one not in earlier]
    return value - earlier if isinstance(value, int) else value


def slowest(flows, counts):
    """How long an answer of an endpoint to a twin took at most since the look before, in seconds."""
    return max(counts[twin]["slowest_ms"] for flow in flows for twin in flow.twins) / 1000


def faults(flow, counts, ended, forgotten=0, busy=1.0):
    """Sentences about what should not be in the counts of a flow; `counts` are of all flows and twins, `ended` says that
    nothing is under way any more, `forgotten` how often IPVS has gone since they began, `busy` how many times more
    may be late by chance. What is wrong with a twin is the test's own trouble, and is said as such."""
    said = []
    for name in (flow.name, *flow.twins):
        one = counts[name]
        failed = sum(one["failed"].values())
        # With its connections IPVS makes the kernel forget whoever leads these clients by then: one datagram of each may
        # be under way (docs/decisions/0022).
        lost = max(0, one["lost"] - forgotten * flow.count) if name == flow.name else one["lost"]
        if one["ok"] == 0 and (ended or one["sent"] > 20):
            said.append(f"{name}: nothing was answered")
        if failed or one["reset"] or lost:
            said.append(f"{name}: of {one['sent']} {failed} failed {one['failed']}, {one['reset']} were cut, {one['lost']} lost; "
                        f"first: {_moments(one['first_failures'])}")
        elif ended and one["ok"] + one["lost"] != one["sent"]:
            said.append(f"{name}: of {one['sent']} only {one['ok']} were answered")
    mine = counts[flow.name]
    late, repeated, sent = (sum(counts[twin][name] for twin in flow.twins) for name in ("late", "repeated", "sent"))
    if late <= LATE_MACHINE * sent and mine["late"] > busy * LATE_BY_CHANCE + LATE_FOR_EACH_OF_TWINS * late:
        said.append(f"{flow.name}: {mine['late']} of {mine['sent']} were late, of its twins {late}; first: {_moments(mine['first_late'])}")
    # A packet that had to be sent again is rarely a matter of a busy machine.
    if mine["repeated"] > repeated + busy * REPEATED_BY_CHANCE + repeated // 4:
        said.append(f"{flow.name}: {mine['repeated']} segments had to be sent again, of its twins {repeated}; "
                    f"first late: {_moments(mine['first_late'])}")
    return said


def require_unharmed(t, flows, counts, occasion, ended=True, forgotten=0):
    for flow in flows:
        for sentence in faults(flow, counts, ended, forgotten, t.busiest.load):
            t.require(False, f"{occasion}: {sentence}")


def summary(flows, counts):
    """One line: how much there was, how late, and what was lost, be it forgiven or not."""
    sent = sum(counts[flow.name]["sent"] for flow in flows)
    late = sum(counts[flow.name]["late"] for flow in flows)
    straight = sum(counts[twin]["late"] for flow in flows for twin in flow.twins)
    lost = sum(counts[flow.name]["lost"] for flow in flows)
    return (f"{sent} requests and connections through Services, {late} late ({straight} of the twins)"
            + (f", {lost} datagrams lost" if lost else ""))


def _moments(moments):
    return ", ".join(f"{one.get('what', str(one.get('ms')) + ' ms')} at {one['t']:.2f}" for one in moments[:3])
