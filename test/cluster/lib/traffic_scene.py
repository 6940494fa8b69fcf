# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Traffic of test/system/lib/traffic.py in a cluster: its flows, and how their counts are judged and printed."""

import collections
import os
import shutil
import tempfile

from . import addresses as a
from . import netns_http, pace, shell, traffic
from .failure import ClusterError

EVERY_MS = 60  # between two connections of a flow
STREAM_MS = 100  # between two requests of all streams of a flow
STREAMS = 4


class Programs:
    def __init__(self, builddir):
        self.swaptraffic = os.path.join(os.path.abspath(builddir), "test", "tools", "swaptraffic")


class Scene:
    """What test/system/lib/traffic.py needs of a trial: places, programs, conditions, clean-up."""

    def __init__(self, layout, builddir, family, node):
        """`node` is the node under test."""
        self.layout, self.family, self.node = layout, family, node
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


def flows(services, pod, node, outside, per_sender):
    """New connections and streams from a pod, the node and outside, each to `per_sender` Services."""
    made = []
    for sender, said, first in ((pod, "a pod", 1), (node, "the node", 1 + per_sender), (outside, "outside", 1 + 2 * per_sender)):
        for number in range(first, first + per_sender):
            ip, port = services.cluster_ip(number), 80
            if sender is outside:
                ip, port = node.ip(services.family), services.node_port(number)
            kinds = [("tcp-new", "new connections", EVERY_MS, 1)]
            if number == first:
                kinds.append(("tcp-held", "streams", STREAM_MS, STREAMS))
            for kind, what, every, count in kinds:
                made.append(traffic.Flow(f"{what} from {said} to web-{number}", kind, sender, ip, port, services.servers,
                                         every_ms=round(every * pace.SLOWNESS), count=count))
    return made


class Result:
    """The counts of one run of traffic."""

    def __init__(self, all_flows, counts):
        self._flows, self._counts = all_flows, counts

    def _sum(self, kind, field):
        return sum(field(self._counts[flow.name]) for flow in self._flows if flow.kind == kind)

    @property
    def connects(self):
        return self._sum("tcp-new", lambda one: one["sent"])

    @property
    def failed(self):
        return self._sum("tcp-new", lambda one: sum(one["failed"].values()) + one["reset"])

    @property
    def streams(self):
        return sum(flow.count for flow in self._flows if flow.kind == "tcp-held")

    @property
    def broken(self):
        return self._sum("tcp-held", lambda one: sum(one["failed"].values()) + one["reset"])

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
                failed = sum(one["failed"].values())
                if one["ok"] == 0:
                    found.append(f"{name}: nothing was answered: {one['failed']}")
                elif failed or one["reset"]:
                    first = ", ".join(f"{event['what']} at {event['t']:.2f}" for event in one["first_failures"][:3])
                    found.append(f"{name}: of {one['sent']} {failed} failed {one['failed']}, {one['reset']} were cut; "
                                 f"first: {first}")
        return found

    def line(self):
        return f"{self.failed} of {self.connects} connects failed, {self.broken} of {self.streams} streams broke"


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
