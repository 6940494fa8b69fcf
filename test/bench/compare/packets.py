# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What packets pay: the rules of both proxies stand at the same time, each in the node of its own stage, and both proxies are
stopped, so that no sync disturbs. Connects alternate one by one, loads turn by turn, so drift of the machine meets both."""

import socket
import statistics
import struct
import time
from operator import truediv

import paths  # noqa: F401  # pylint: disable=unused-import
import summary
from cluster import SERVICE_PORT, address
from measurement import ends_of_rules
from metrics import KUBE_PROXY, SLUICE
from network import NODE_IP, POD_PORT, BenchError
from others import Others
from real_cluster import FIRST_NODE_PORT, LAST_NODE_PORT, UDP_IP, UDP_PORT
from sides import mode_and_variant
from stage import CLIENT, NODE, OUTSIDE

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
_LONGEST = struct.pack("ll", 0, 900_000)  # below the first retransmission of a SYN
LOADS = {
    "connections_per_second": ("connections", "connections_per_second", ()),
    "requests_per_second": ("connections", "connections_per_second", ("--keep",)),
    "udp_per_second": ("udp", "answers_per_second", ("--patient", "--clients", "32", "--window", "1")),
    "udp_new_per_second": ("udp", "answers_per_second", ("--patient", "--clients", "32", "--window", "1", "--fresh")),
}


def connect_us(target):
    """One blocking connect(): a handshake that the kernels of client and server do without waking a program."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _LONGEST)
        begin = time.perf_counter_ns()
        try:
            connection.connect(target)
        except OSError as error:
            raise BenchError(f"connect to {target[0]}:{target[1]}: {error}") from error
        return (time.perf_counter_ns() - begin) / 1000


class Packets:
    """`stages`: proxy → stage."""

    def __init__(self, stages, cluster, mode, wanted):
        self._stages, self._wanted = stages, wanted
        kind, variant = mode_and_variant(mode)
        self._ends = {}
        for proxy, stage in stages.items():
            with stage.inside(NODE):
                self._ends[proxy] = ends_of_rules(cluster.services, variant if kind == "iptables" else None)
        self._one = cluster.services == 1

    def connect(self):
        """(samples, p99, pairs, others): a sample is the median of one round, the 99th percentile that of all connects, and
        `pairs` has the median ratio of two adjacent connects, kube-proxy's over Sluice's."""
        targets = {
            **{f"{name}_{end}_us": (place, index) for name, place in (("pod", CLIENT), ("node", NODE))
               for index, end in enumerate(("first", "last"))},
            "external_first_us": (OUTSIDE, FIRST_NODE_PORT), "external_last_us": (OUTSIDE, LAST_NODE_PORT),
            "direct_us": (CLIENT, None)}
        if self._one:
            targets["external_last_us"] = (OUTSIDE, FIRST_NODE_PORT)
        samples = {proxy: {name: [] for name in targets} for proxy in self._stages}
        every = {proxy: {name: [] for name in targets} for proxy in self._stages}
        others = Others()
        for number in range(self._wanted.probe_rounds):
            for name, target in targets.items():
                found = self._alternate({proxy: self._target(proxy, *target) for proxy in self._stages}, number)
                for proxy, times in found.items():
                    samples[proxy][name].append(summary.percentile(times, 50))
                    every[proxy][name] += times
        p99 = {proxy: {name: summary.percentile(times, 99) for name, times in found.items()} for proxy, found in every.items()}
        pairs = {name: statistics.median(map(truediv, every[KUBE_PROXY][name], every[SLUICE][name])) for name in targets}
        return samples, p99, pairs, others.percent()

    def _target(self, proxy, place, what):
        if place == OUTSIDE:
            return place, (NODE_IP, what)
        if what is None:
            return place, (address(200, 0), POD_PORT)
        return place, (self._ends[proxy][what], SERVICE_PORT)

    def _alternate(self, targets, number):
        times = {proxy: [] for proxy in targets}
        order = list(targets)
        for probe in range(self._wanted.probes):
            for proxy in order if (probe + number) % 2 == 0 else reversed(order):
                place, target = targets[proxy]
                self._stages[proxy].go(place)
                times[proxy].append(connect_us(target))
        self._stages[order[0]].go("home")
        return times

    def load(self):
        """(samples, others by proxy)"""
        samples = {proxy: {name: [] for name in LOADS} for proxy in self._stages}
        others = {proxy: [] for proxy in self._stages}
        for stage in self._stages.values():
            stage.serve_load()
        for proxy, stage in self._stages.items():
            stage.wait_for_load(self._ends[proxy][1], SERVICE_PORT)
        try:
            for number in range(self._wanted.load_rounds):
                for name in LOADS:
                    for proxy in list(self._stages) if number % 2 == 0 else reversed(self._stages):
                        measured = Others()
                        samples[proxy][name].append(self._one_load(proxy, name))
                        others[proxy].append(measured.percent())
        finally:
            for stage in self._stages.values():
                stage.serve_names()
        return samples, others

    def _one_load(self, proxy, name):
        command, value, options = LOADS[name]
        target = (UDP_IP, UDP_PORT) if command == "udp" else (self._ends[proxy][1], SERVICE_PORT)
        said = self._stages[proxy].load(command, *target, *options, seconds=self._wanted.load_seconds)
        if not said[value]:
            raise BenchError(f"{name}: no answer from {target[0]}:{target[1]} through {proxy}")
        return said[value]
