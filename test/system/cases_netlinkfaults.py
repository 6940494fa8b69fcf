# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Netlink exchanges fail (test/tools/netlinkfaults, preloaded into the daemon): afterwards the state is that of a run without
faults, entry by entry, and the log has at most one line about it. Rare kernel errors are provoked on purpose, one
at a time, while a Service changes between two forms whose kernel state is recorded beforehand."""

import os
import re
import time

from lib import barrier, ipvs
from lib.addresses import E1, E2, V4
from lib.cases import POD, Skip, kept, own_daemon
from lib.episode import WATCHED
from lib.objects import ready
from cases_ipvsdrift import comparable

PLAIN = {"type": "ClusterIP", "external": False}
RICH = {"type": "LoadBalancer", "external": True}
PATIENCE = 25  # seconds: a full transaction that follows a failed one, and its retry
# Each fault strikes once, after the given number of unaffected calls.
COMMON = (("send:ENOBUFS", 0), ("lost:ENOBUFS", 0), ("receive:EINTR", 0), ("cut", 0), ("interrupted", 0))
# Not reported: the daemon retries at once.
NOT_REPORTED = ("receive:EINTR", "cut", "interrupted")


class Faulty:
    """A daemon whose netlink exchanges fail on request."""

    def __init__(self, t):
        if WATCHED:
            raise Skip("the sanitizers have to be loaded before everything else")
        library = os.path.join(t.bench.programs.builddir, "test", "tools", ".libs", "netlinkfaults.so")
        if not os.path.exists(library):
            raise Skip(f"there is no {library}: run make check TESTS=")
        self._t = t
        self._file = os.path.join(t.topology.directory, f"faults-{time.monotonic_ns()}")
        t.bench.daemon.stop()
        t.bench.daemon.environment = {"LD_PRELOAD": library, "SLUICE_NETLINK_FAULTS": self._file}
        t.bench.start_daemon()

    def arrange(self, subsystem, fault, skip):
        with open(self._file + ".new", "w", encoding="ascii") as file:
            file.write(f"{subsystem} {fault} {skip} 1\n")
        if os.path.exists(self._file + ".hits"):
            os.remove(self._file + ".hits")
        os.rename(self._file + ".new", self._file)

    def hit(self):
        return os.path.exists(self._file + ".hits")

    def over(self):
        os.remove(self._file)


def warnings(t):
    """Warnings and errors of the daemon's log."""
    return [line for line in t.bench.daemon.log().splitlines() if re.match(r"[WE]\d{4}", line)]


def draining(t):
    """Virtual servers with draining real servers; the next check of the daemon removes those without
    connections. Those of the barrier may stay longer."""
    return [name for name, server in ipvs.servers(t).items() if not any(ip in name for ip in barrier.CLUSTER_IP.values()) and
            0 in server.real.values()]


def survives(t, subsystem, faults):
    service = t.service([ready(E1)], **PLAIN)
    other = t.service([ready(E1), ready(E2)])
    faulty = Faulty(t)
    t.settle()

    def turn(rich):
        service.update(**(RICH if rich else PLAIN))
        service.set_endpoints([ready(E1), ready(E2)] if rich else [ready(E1)])

    wanted = {}
    # Twice, so that empty sets that stay are in both pictures.
    for rich in (True, False, True, False):
        turn(rich)
        t.settle()
        seen = {"picture": None}

        def still(seen=seen):
            before, seen["picture"] = seen["picture"], comparable(ipvs.dump(t))
            return before == seen["picture"]

        t.wait_until(lambda: not draining(t), "no real server drains any more", seconds=PATIENCE)
        t.wait_until(still, "nothing changes any more")
        wanted[rich] = seen["picture"]
    t.require(wanted[True] != wanted[False], "the Service looks the same in both forms")
    rich = False
    for fault, skip in faults:
        rich = not rich
        before = len(warnings(t))
        faulty.arrange(subsystem, fault, skip)
        turn(rich)
        t.wait_until(faulty.hit, f"{subsystem} {fault} was met", seconds=PATIENCE)
        state = {}

        def right(state=state, rich=rich):
            state["difference"] = ipvs.difference(wanted[rich], comparable(ipvs.dump(t)))
            return not state["difference"]

        t.wait_until(right, f"everything is as without {subsystem} {fault}", seconds=PATIENCE)
        t.require(not state["difference"], f"after {subsystem} {fault}: {state['difference']}")
        lines = warnings(t)[before:]
        most = 0 if fault in NOT_REPORTED else 1
        t.require(len(lines) <= most, f"{subsystem} {fault}: {len(lines)} lines, not {most}: {lines[:4]}")
        t.remark(f"{subsystem} {fault}: {lines[0] if lines else 'not a line'}")
        faulty.over()
    t.expect(POD, other.cluster(), kept(E1, E2))


def fault_case(name, title, subsystem, more):
    def run(t):
        survives(t, subsystem, COMMON + more)

    run.__name__ = name
    run.__module__ = __name__
    own_daemon(None, f"{title} (ENOBUFS, EINTR, errors, a truncated or interrupted dump): the state is that of a run "
                     "without faults, and at most one line reports it",
               families=(V4,), sources=("manifests",), backends=("ipvs",), slow=True)(run)


fault_case("servers", "netlink requests for virtual servers fail", "generic",
           (("answer:EEXIST", 0), ("answer:ENOENT", 1), ("answer:ESRCH", 0)))
fault_case("sets", "netlink requests for sets fail", "ipset", (("answer:ENOENT", 0), ("answer:EBUSY", 1)))
fault_case("links", "netlink requests for links and addresses fail", "route",
           (("answer:EEXIST", 0), ("answer:EADDRNOTAVAIL", 0)))
