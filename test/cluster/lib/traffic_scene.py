# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Traffic of test/system/lib/traffic.py in a cluster: its flows, and how their counts are judged and printed."""

import collections
import dataclasses
import itertools
import os
import shutil
import tempfile

from . import addresses as a
from . import netns_http, pace, shell, traffic
from .failure import ClusterError

EVERY_MS = 100  # between two connections of a flow
STREAM_MS = 100  # between two requests of all streams of a flow
STREAMS = 4


class Programs:
    def __init__(self, builddir):
        self.swaptraffic = os.path.join(os.path.abspath(builddir), "test", "tools", "swaptraffic")


class Scene:
    """What test/system/lib/traffic.py needs of a trial: places, programs, conditions, clean-up."""

    def __init__(self, layout, builddir, node):
        """`node` is the node under test."""
        self.layout, self.node = layout, node
        self.topology = self.bench = self
        self.programs = Programs(builddir)
        self.directory = tempfile.mkdtemp(prefix="sluice-traffic-")
        self.tools = self  # the iptables programs of the node
        self._cleanup = [lambda: shutil.rmtree(self.directory, ignore_errors=True)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        while self._cleanup:
            self._cleanup.pop()()

    def defer(self, action):
        self._cleanup.append(action)

    def start(self, place, *argv, **options):
        return netns_http.made_in(self.layout.namespace(place), lambda: shell.start(list(argv), **options))

    def run(self, _place, *argv, **options):
        """Runs a program on the node under test."""
        return self.node.run(*argv, **options)

    @staticmethod
    def program(family, suffix=""):
        """The iptables program of that family."""
        return ("iptables" if family == a.V4 else "ip6tables") + suffix

    @staticmethod
    def wait_until(condition, sentence, seconds=10, every=pace.POLL_SECONDS):
        found = pace.wait_until(condition, seconds, every)
        if not found:
            raise ClusterError(f"timeout after {pace.stretched(seconds):.0f} s: {sentence}")
        return found


def serve(scene, hosts, ports):
    """Starts the server of each host, like traffic.serve, with these ports and that of the twins."""
    for host in hosts:
        ready = os.path.join(scene.directory, f"ready-{host.name}")
        words = [word for port in (*ports, traffic.STRAIGHT_PORT) for word in ("--port", str(port))]
        server = scene.start(host.place, *traffic.URGENT, scene.programs.swaptraffic, "serve", "--name", host.name, *words,
                             "--ready-file", ready)
        scene.defer(lambda server=server: shell.stop(server))
        scene.wait_until(lambda ready=ready: os.path.exists(ready), f"the server {host.name} listens")


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    what: str
    every: int = EVERY_MS
    count: int = 1


NEW = Kind("tcp-new", "new connections")
# To the first Service of each sender.
FIRST = (Kind("tcp-held", "streams", STREAM_MS, STREAMS), Kind("udp-new", "datagrams from new ports"))
# To the last one, whose endpoints do not change: when an endpoint leaves, the proxy deletes the flows to it from conntrack, and
# the answer of a request in progress is lost. kube-proxy loses some without a replacement, too.
LAST = (Kind("udp-fixed", "datagrams from few ports", STREAM_MS, STREAMS),)
CONNECTS = {NEW.name: "connections", "udp-fixed": "datagrams", "udp-new": "datagrams from new ports"}  # what a result counts
IP = {a.V4: "IPv4", a.V6: "IPv6"}


def steady(per_sender):
    """Numbers of the Services whose endpoints must not change: the last one of each sender."""
    return [sender * per_sender for sender in (1, 2, 3)]


def flows(services, pod, node, outside, per_sender):
    """From a pod, the node and outside, in each family: new connections to `per_sender` Services, and streams and datagrams to
    the first or the last one of these."""
    made = []
    for sender, said, first in ((pod, "a pod", 1), (node, "the node", 1 + per_sender), (outside, "outside", 1 + 2 * per_sender)):
        for family, number in itertools.product(a.FAMILIES, range(first, first + per_sender)):
            ip, port = services.cluster_ip(number, family), 80
            if sender is outside:
                ip, port = node.ip(family), services.node_port(number)
            others = FIRST if number == first else LAST if number in steady(per_sender) else ()
            for kind in (NEW, *others):
                made.append(traffic.Flow(f"{kind.what} from {said} to web-{number} in {IP[family]}", kind.name, sender, ip, port,
                                         services.servers, every_ms=round(kind.every * pace.SLOWNESS), count=kind.count))
    return made


def _failures(one):
    return sum(one["failed"].values()) + one["reset"] + one["lost"]


class Result:
    """The counts of one run of traffic."""

    def __init__(self, all_flows, counts):
        self._flows, self._counts = all_flows, counts

    def _of(self, kind, families=a.FAMILIES):
        return [self._counts[flow.name] for flow in self._flows if flow.kind == kind and flow.family in families]

    def each(self):
        """(number, failed number) of each kind in CONNECTS, in each family."""
        for kind, family in itertools.product(CONNECTS, a.FAMILIES):
            found = self._of(kind, (family,))
            yield sum(one["sent"] for one in found), sum(map(_failures, found))

    @property
    def streams(self):
        return sum(flow.count for flow in self._flows if flow.kind == "tcp-held")

    @property
    def broken(self):
        return sum(map(_failures, self._of("tcp-held")))

    @property
    def slowest_ms(self):
        """The slowest answer through a Service."""
        return max(self._counts[flow.name]["max_ms"] for flow in self._flows)

    def problems(self):
        """Sentences about failed connects and broken streams. A failure of a twin is a problem of the test itself."""
        found = []
        for flow in self._flows:
            for name in (flow.name, *flow.twins):
                one = self._counts[name]
                if one["ok"] == 0:
                    found.append(f"{name}: nothing was answered: {one['failed']}")
                elif _failures(one):
                    first = ", ".join(f"{event['what']} at {event['t']:.2f}" for event in one["first_failures"][:3])
                    found.append(f"{name}: of {one['sent']} {sum(one['failed'].values())} failed {one['failed']}, "
                                 f"{one['reset']} were cut, {one['lost']} lost; first: {first}")
        return found


class Run:
    """Traffic from now on, while it is open; `end` returns the Result."""

    def __init__(self, scene, all_flows):
        self._flows = all_flows
        self._scene = scene
        self._traffic = traffic.Traffic(scene, all_flows)
        self._ended = False

    def __enter__(self):
        try:
            self._traffic.wait_flowing()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if not self._ended:
            self._traffic.stop()

    def wait_connects(self, count):
        """Returns once each flow has been answered that many more times."""
        def answered():
            return collections.Counter({label: one["ok"] for label, one in self._traffic.progress().items()})

        before = answered()
        names = [flow.name for flow in self._flows]
        self._scene.wait_until(lambda: (now := answered()) and all(now[name] >= before[name] + count for name in names),
                               f"each flow is answered {count} more times", 60, every=0.2)

    def end(self):
        self._ended = True
        return Result(self._flows, self._traffic.stop())
