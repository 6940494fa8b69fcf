# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""nftables mode when netlink exchanges fail (test/tools/netlinkfaults, preloaded into the daemon), when one Service is
rejected, and when other processes write while the table is read: the state is that of a run without faults, with one log line."""

import re
import subprocess
import threading

from lib import ipvs, nftables, shell
from lib.addresses import E1, E2, E3, FAMILIES, V4
from lib.cases import POD, REJECTED, kept, own_daemon
from lib.objects import ready
from lib.writes import WriteWatch
from cases_netlinkfaults import PLAIN, RICH, Faulty, warnings
from cases_nftables import ONLY, is_of_a_shared_chain, wait_quiet
from cases_nftablesdrift import count_repairs, meaning, ours

# On a busy machine the other process may need more starts until it has committed that often.
STARTS, MOST_STARTS, LEAST_COMMITS = 4, 20, 8
PATIENCE = 25  # seconds: a full transaction that follows a failed one, and its retry
# While a Service changes, and while the table is read because another process has changed it.
WRITING = (("send:ENOBUFS", 0), ("lost:ENOBUFS", 0), ("receive:EINTR", 0), ("receive:ENOBUFS", 0), ("answer:ENOENT", 0),
           ("answer:EEXIST", 0), ("answer:EBUSY", 0), ("whole:ERESTART", 0), ("whole:ENOMEM", 0))
READING = (("receive:EINTR", 0), ("receive:ENOBUFS", 0), ("cut", 0), ("cut", 3), ("interrupted", 0), ("interrupted", 5))
NOT_REPORTED = ("receive:EINTR", "interrupted", "cut", "whole:ERESTART")


def prepare(t):
    service = t.service([ready(E1)], **PLAIN)
    other = t.service([ready(E1), ready(E2)])
    faulty = Faulty(t)
    t.settle()
    return service, other, faulty


def turn(service, rich):
    service.update(**(RICH if rich else PLAIN))
    service.set_endpoints([ready(E1), ready(E2)] if rich else [ready(E1)])


def converges(t, wanted, what):
    state = {}

    def right():
        state["difference"] = ipvs.difference(wanted, meaning(t))
        return not state["difference"]

    t.wait_until(right, f"everything is as without {what}", seconds=PATIENCE)
    t.require(not state["difference"], f"after {what}: {state['difference']}")


def expect_few_warnings(t, before, what, fault):
    """At most one line, except for lines about changes by another process."""
    lines = [line for line in warnings(t)[before:] if "another process" not in line and not line.endswith("; repairing")]
    most = 0 if fault in NOT_REPORTED else 1
    t.require(len(lines) <= most, f"{what}: {len(lines)} lines, not {most}: {lines[:4]}")
    t.remark(f"{what}: {lines[0] if lines else 'not a line'}")


@own_daemon(98, "write errors (ENOBUFS, lost answers, interruptions, errors caused by other writers): the table has "
            "its meaning without faults, and at most one line reports it", families=(V4,), slow=True, **ONLY)
def writing(t):
    service, other, faulty = prepare(t)
    wanted = {}
    for rich in (True, False):
        turn(service, rich)
        t.settle()
        wait_quiet(t)
        wanted[rich] = meaning(t)
    t.require(wanted[True] != wanted[False], "the Service looks the same in both forms")
    hammer, rich = t.hammer(POD, other.cluster()), False
    for fault, skip in WRITING:
        rich = not rich
        before = len(warnings(t))
        faulty.arrange("nftables", fault, skip)
        turn(service, rich)
        t.wait_until(faulty.hit, f"{fault} was met", seconds=PATIENCE)
        converges(t, wanted[rich], fault)
        expect_few_warnings(t, before, fault, fault)
        faulty.over()
    t.require_unbroken(hammer, "while writing went wrong")


@own_daemon(None, "read errors (interruptions, truncation, lost answers, lost notifications of foreign changes): everything is "
            "repaired, and at most one line reports it", families=(V4,), slow=True, **ONLY)
def reading(t):
    service, other, faulty = prepare(t)
    turn(service, True)
    t.settle()
    wait_quiet(t)
    wanted = meaning(t)
    hammer = t.hammer(POD, other.cluster())
    for fault, skip in READING:
        before, repairs = len(warnings(t)), count_repairs(t)
        faulty.arrange("nftables", fault, skip)
        nftables.nft(t, f"delete element {ours(t)} service-treatments {{ {nftables.frontend(service.cluster())} }}")
        t.wait_until(faulty.hit, f"{fault} was met", seconds=PATIENCE)
        converges(t, wanted, fault)
        t.wait_until(lambda repairs=repairs: count_repairs(t) > repairs, "it is counted as a repair")
        expect_few_warnings(t, before, fault, fault)
        faulty.over()
    # The lost notice may have concerned any object: the whole table is listed.
    before = len(warnings(t))
    faulty.arrange("notices", "receive:ENOBUFS", 0)
    nftables.nft(t, f"delete element {ours(t)} service-treatments {{ {nftables.frontend(service.cluster())} }}")
    t.wait_until(faulty.hit, "a notice was lost", seconds=PATIENCE)
    converges(t, wanted, "a lost notice")
    t.require(any(line.endswith("; repairing") for line in warnings(t)[before:]), "not a line about the lost notice")
    expect_few_warnings(t, before, "a lost notice", "lost")
    t.require_unbroken(hammer, "while reading went wrong")


@own_daemon(None, "other processes commit all the time while a start reads the table: it succeeds, removes stale objects "
            "and writes nothing else; later starts write nothing", families=FAMILIES, slow=True, **ONLY)
def others_write_meanwhile(t):
    kept_one, gone = t.service([ready(E1), ready(E2)]), t.service([ready(E1)])
    t.settle()
    wait_quiet(t)
    before = nftables.lines(t)
    goes = nftables.about(before, gone.cluster().ip)
    t.bench.daemon.kill()
    gone.delete()
    hammer = t.hammer(POD, kept_one.cluster())
    with WriteWatch(t.topology) as writes:
        busy, meanwhile = Busy(t, writes), 0
        try:
            for start in range(MOST_STARTS):
                commits = busy.commits()
                t.bench.start_daemon()
                meanwhile += busy.commits() - commits
                written = busy.written_so_far()
                t.require(len(written) == len(goes),
                          f"start {start}: {len(goes)} elements were to go, {len(written)} are written: {written[:4]}")
                if start + 1 >= STARTS and meanwhile >= LEAST_COMMITS:
                    break
                if start + 1 < MOST_STARTS:
                    t.bench.daemon.kill()
        finally:
            busy.stop()
    t.require(meanwhile >= LEAST_COMMITS, f"during {start + 1} starts others have committed {meanwhile} times only")
    t.remark(f"{meanwhile} commits of others during {start + 1} starts")
    # Unused chains and their classes are removed later.
    wanted, now = (sorted(line for line in some if not is_of_a_shared_chain(line))
                   for some in (set(before) - set(goes), nftables.lines(t)))
    t.require(now == wanted, f"the table is {ipvs.difference(wanted, now)}")
    t.require(all(line.startswith("delete element ") for line in written), f"more is written than what is gone: {written[:4]}")
    t.require(count_repairs(t) == 0, f"{count_repairs(t)} repairs")
    t.expect(POD, kept_one.cluster(), kept(E1, E2))
    t.require_unbroken(hammer, "while others committed")


class Busy:
    """Another process that changes its own table up to two hundred times a second; `writes` is the trace of kernel commits."""

    def __init__(self, t, writes):
        self._t, self._writes, self._stop, self._lock, self._marks = t, writes, threading.Event(), threading.Lock(), 0
        self._process = t.topology.start("node", "nft", "-i", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._send("add table ip foreign_busy", "add set ip foreign_busy s { type inet_service; }")
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _send(self, *lines):
        with self._lock:
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()

    def _work(self):
        add = True
        try:
            while not self._stop.wait(0.005):
                self._send(f"{'add' if add else 'delete'} element ip foreign_busy s {{ 80 }}")
                add = not add
        except BrokenPipeError:
            pass

    def commits(self):
        by_us = f" by process {self._process.pid} "
        return sum(line.startswith("# new generation") and by_us in line for line in self._writes.lines())

    def written_so_far(self):
        """The changes of the table kube-proxy up to now: all of them, as generations are notified in order."""
        self._marks += 1
        mark = f"add chain ip foreign_busy mark-{self._marks}"
        self._send(mark)
        self._t.wait_until(lambda: mark in "\n".join(self._writes.lines()), "foreign commits are notified")
        return [line for line in self._writes.lines() if re.match(r"(?:add|delete|insert|replace) \S+ ip6? kube-proxy\b", line)]

    def stop(self):
        self._stop.set()
        self._thread.join()
        shell.stop(self._process)
        self._t.topology.run("node", "nft", "delete", "table", "ip", "foreign_busy", check=False)


@own_daemon(None, "one Service is rejected by the kernel: the others work, it is in log and status, and served once possible",
            families=(V4,), **ONLY)
def one_refused(t):
    service, other, faulty = prepare(t)
    name = f"{service.namespace}/{service.name}:p80"
    faulty.arrange("nftables", "answer:ENFILE", 0)
    service.set_endpoints([ready(E2)])
    t.wait_until(faulty.hit, "the kernel refused", seconds=PATIENCE)
    faulty.over()

    def omitted():
        return [one["service_port"] for family in t.status()["families"] for one in family["not_programmed"]]

    t.wait_until(lambda: omitted() == [name], f"`sluicectl status` names {name} and no other: {omitted()}")
    line = t.bench.daemon.wait_logged(name, "not programmed")
    t.require(line is not None, f"no line names {name}")
    t.remark(line or "")
    t.expect(POD, other.cluster(), kept(E1, E2))
    new = t.service([ready(E1)])
    empty = t.service()
    t.settle()
    t.expect(POD, new.cluster(), kept(E1))
    t.expect(POD, empty.cluster(), REJECTED)
    # The daemon retries after a minute, or as soon as the Service changes.
    service.set_endpoints([ready(E1), ready(E2), ready(E3)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2, E3))
    t.wait_until(lambda: not omitted(), "every service port is programmed")
