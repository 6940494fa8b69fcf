# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Exchanges with the kernel go wrong (test/tools/netlinkfaults, loaded before the daemon): afterwards everything is as it would
be without, entry by entry, and the log says so on no more than a line. What the kernel breaks rarely is broken on purpose, one
thing at a time, while a Service changes between two forms; what both of them look like is known from before."""

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
# Each is hit once, after so many that are not.
COMMON = (("send:ENOBUFS", 0), ("lost:ENOBUFS", 0), ("receive:EINTR", 0), ("cut", 0), ("interrupted", 0))
# What nobody has to hear of: the daemon asks again at once.
UNHEARD = ("receive:EINTR", "cut", "interrupted")


class Faulty:
    """A daemon whose exchanges go wrong when it is told."""

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


def complaints(t):
    """Warnings and errors the daemon has logged."""
    return [line for line in t.bench.daemon.log().splitlines() if re.match(r"[WE]\d{4}", line)]


def draining(t):
    """Virtual servers with real servers that get no new connections; the next check of the daemon removes those without
    any. The barrier's own may have some for longer."""
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
    # Twice, so that sets that stay behind empty are there in both.
    for rich in (True, False, True, False):
        turn(rich)
        t.settle()
        seen = {"picture": None}

        def still(seen=seen):
            before, seen["picture"] = seen["picture"], comparable(ipvs.picture(t))
            return before == seen["picture"]

        t.wait_until(lambda: not draining(t), "no real server drains any more", seconds=PATIENCE)
        t.wait_until(still, "nothing changes any more")
        wanted[rich] = seen["picture"]
    t.require(wanted[True] != wanted[False], "the Service looks the same in both forms")
    rich = False
    for fault, skip in faults:
        rich = not rich
        before = len(complaints(t))
        faulty.arrange(subsystem, fault, skip)
        turn(rich)
        t.wait_until(faulty.hit, f"{subsystem} {fault} was met", seconds=PATIENCE)
        state = {}

        def right(state=state, rich=rich):
            state["apart"] = ipvs.apart(wanted[rich], comparable(ipvs.picture(t)))
            return not state["apart"]

        t.wait_until(right, f"everything is as without {subsystem} {fault}", seconds=PATIENCE)
        t.require(not state["apart"], f"after {subsystem} {fault}: {state['apart']}")
        told = complaints(t)[before:]
        most = 0 if fault in UNHEARD else 1
        t.require(len(told) <= most, f"{subsystem} {fault}: {len(told)} lines, not {most}: {told[:4]}")
        t.remark(f"{subsystem} {fault}: {told[0] if told else 'not a line'}")
        faulty.over()
    t.expect(POD, other.cluster(), kept(E1, E2))


def fault_case(name, title, subsystem, more):
    def run(t):
        survives(t, subsystem, COMMON + more)

    run.__name__ = name
    run.__module__ = __name__
    own_daemon(None, f"{title}: without memory (ENOBUFS), interrupted (EINTR), refused, a dump cut off or interrupted: the state is "
                     "that of a daemon that met none of it, and no more than a line says so",
               families=(V4,), sources=("manifests",), backends=("ipvs",), slow=True)(run)


fault_case("servers", "exchanges about virtual servers go wrong", "generic",
           (("answer:EEXIST", 0), ("answer:ENOENT", 1), ("answer:ESRCH", 0)))
fault_case("sets", "exchanges about sets go wrong", "ipset", (("answer:ENOENT", 0), ("answer:EBUSY", 1)))
fault_case("links", "exchanges about links and addresses go wrong", "route",
           (("answer:EEXIST", 0), ("answer:EADDRNOTAVAIL", 0)))
