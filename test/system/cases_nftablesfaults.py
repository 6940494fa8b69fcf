# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Mode nftables when exchanges with the kernel go wrong (test/tools/netlinkfaults, loaded before the daemon), when one Service is
refused, and when others write while the table is read: the state is that of a daemon that met none of it, and one clear line says so."""

import re
import subprocess
import threading

from lib import ipvs, nftables, shell
from lib.addresses import E1, E2, E3, FAMILIES, V4
from lib.cases import POD, REJECTED, kept, own_daemon
from lib.objects import ready
from lib.writes import WriteWatch
from cases_netlinkfaults import PLAIN, RICH, Faulty, complaints
from cases_nftables import ONLY, is_of_a_shared_chain, wait_quiet
from cases_nftablesdrift import count_repairs, meaning, ours

# A busy machine may leave the others so little time that it takes more starts until they have committed that often.
STARTS, MOST_STARTS, LEAST_COMMITS = 4, 20, 8
PATIENCE = 25  # seconds: a full transaction that follows a failed one, and its retry
# While a Service changes, and while the table is read because somebody else has changed it.
WRITING = (("send:ENOBUFS", 0), ("lost:ENOBUFS", 0), ("receive:EINTR", 0), ("receive:ENOBUFS", 0), ("answer:ENOENT", 0),
           ("answer:EEXIST", 0), ("answer:EBUSY", 0), ("whole:ERESTART", 0), ("whole:ENOMEM", 0))
READING = (("receive:EINTR", 0), ("receive:ENOBUFS", 0), ("cut", 0), ("cut", 3), ("interrupted", 0), ("interrupted", 5))
UNHEARD = ("receive:EINTR", "interrupted", "cut", "whole:ERESTART")


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
        state["apart"] = ipvs.apart(wanted, meaning(t))
        return not state["apart"]

    t.wait_until(right, f"everything is as without {what}", seconds=PATIENCE)
    t.require(not state["apart"], f"after {what}: {state['apart']}")


def told_of(t, before, what, fault):
    """No more than a line, but for that somebody else changed the table."""
    told = [line for line in complaints(t)[before:] if "somebody" not in line and not line.endswith("; repairing")]
    most = 0 if fault in UNHEARD else 1
    t.require(len(told) <= most, f"{what}: {len(told)} lines, not {most}: {told[:4]}")
    t.remark(f"{what}: {told[0] if told else 'not a line'}")


@own_daemon(98, "writing goes wrong: without memory (ENOBUFS), answers lost, interrupted, refused with what others cause: the table means "
            "what it does without, and no more than a line says so", families=(V4,), slow=True, **ONLY)
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
        before = len(complaints(t))
        faulty.arrange("nftables", fault, skip)
        turn(service, rich)
        t.wait_until(faulty.hit, f"{fault} was met", seconds=PATIENCE)
        converges(t, wanted[rich], fault)
        told_of(t, before, fault, fault)
        faulty.over()
    t.require_unbroken(hammer, "while writing went wrong")


@own_daemon(None, "reading goes wrong: interrupted, cut off, answers lost, and what others changed is lost unread: everything is repaired, and "
            "no more than a line says so", families=(V4,), slow=True, **ONLY)
def reading(t):
    service, other, faulty = prepare(t)
    turn(service, True)
    t.settle()
    wait_quiet(t)
    wanted = meaning(t)
    hammer = t.hammer(POD, other.cluster())
    for fault, skip in READING:
        before, repairs = len(complaints(t)), count_repairs(t)
        faulty.arrange("nftables", fault, skip)
        nftables.nft(t, f"delete element {ours(t)} service-treatments {{ {nftables.frontend(service.cluster())} }}")
        t.wait_until(faulty.hit, f"{fault} was met", seconds=PATIENCE)
        converges(t, wanted, fault)
        t.wait_until(lambda repairs=repairs: count_repairs(t) > repairs, "it is counted as a repair")
        told_of(t, before, fault, fault)
        faulty.over()
    # Nobody knows what it would have said: all is looked at.
    before = len(complaints(t))
    faulty.arrange("notices", "receive:ENOBUFS", 0)
    nftables.nft(t, f"delete element {ours(t)} service-treatments {{ {nftables.frontend(service.cluster())} }}")
    t.wait_until(faulty.hit, "a notice was lost", seconds=PATIENCE)
    converges(t, wanted, "a lost notice")
    t.require(any(line.endswith("; repairing") for line in complaints(t)[before:]), "not a line about the lost notice")
    told_of(t, before, "a lost notice", "lost")
    t.require_unbroken(hammer, "while reading went wrong")


@own_daemon(None, "others commit all the time while a start reads the table: it reads it all the same, takes out what is gone "
            "and writes no more; later starts write nothing", families=FAMILIES, slow=True, **ONLY)
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
    # Chains that nobody uses any more, and their classes, go later.
    wanted, now = (sorted(line for line in some if not is_of_a_shared_chain(line))
                   for some in (set(before) - set(goes), nftables.lines(t)))
    t.require(now == wanted, f"the table is {ipvs.apart(wanted, now)}")
    t.require(all(line.startswith("delete element ") for line in written), f"more is written than what is gone: {written[:4]}")
    t.require(count_repairs(t) == 0, f"{count_repairs(t)} repairs")
    t.expect(POD, kept_one.cluster(), kept(E1, E2))
    t.require_unbroken(hammer, "while others committed")


class Busy:
    """Somebody who changes a table of their own, up to two hundred times a second; `writes` sees what the kernel carries out."""

    def __init__(self, t, writes):
        self._t, self._writes, self._stop, self._lock, self._marks = t, writes, threading.Event(), threading.Lock(), 0
        self._process = t.topology.start("node", "nft", "-i", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._say("add table ip somebody_busy", "add set ip somebody_busy s { type inet_service; }")
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _say(self, *lines):
        with self._lock:
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()

    def _work(self):
        add = True
        try:
            while not self._stop.wait(0.005):
                self._say(f"{'add' if add else 'delete'} element ip somebody_busy s {{ 80 }}")
                add = not add
        except BrokenPipeError:
            pass

    def commits(self):
        by_us = f" by process {self._process.pid} "
        return sum(line.startswith("# new generation") and by_us in line for line in self._writes.lines())

    def written_so_far(self):
        """What has been written to the table kube-proxy: all of it, as generations are told in their order."""
        self._marks += 1
        mark = f"add chain ip somebody_busy mark-{self._marks}"
        self._say(mark)
        self._t.wait_until(lambda: mark in "\n".join(self._writes.lines()), "the commits of others are told")
        return [line for line in self._writes.lines() if re.match(r"(?:add|delete|insert|replace) \S+ ip6? kube-proxy\b", line)]

    def stop(self):
        self._stop.set()
        self._thread.join()
        shell.stop(self._process)
        self._t.topology.run("node", "nft", "delete", "table", "ip", "somebody_busy", check=False)


@own_daemon(None, "one Service is refused by the kernel: the others work, it is reported in log and status, and is served once it can be",
            families=(V4,), **ONLY)
def one_refused(t):
    service, other, faulty = prepare(t)
    name = f"{service.namespace}/{service.name}:p80"
    faulty.arrange("nftables", "answer:ENFILE", 0)
    service.set_endpoints([ready(E2)])
    t.wait_until(faulty.hit, "the kernel refused", seconds=PATIENCE)
    faulty.over()

    def left_out():
        return [one["service_port"] for family in t.status()["families"] for one in family["left_out"]]

    t.wait_until(lambda: left_out() == [name], f"`sluicectl status` names {name} and no other: {left_out()}")
    line = t.bench.daemon.wait_logged(name, "left out")
    t.require(line is not None, f"no line names {name}")
    t.remark(line or "")
    t.expect(POD, other.cluster(), kept(E1, E2))
    new = t.service([ready(E1)])
    empty = t.service()
    t.settle()
    t.expect(POD, new.cluster(), kept(E1))
    t.expect(POD, empty.cluster(), REJECTED)
    # It is tried again after a minute, or as soon as it changes.
    service.set_endpoints([ready(E1), ready(E2), ready(E3)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1, E2, E3))
    t.wait_until(lambda: not left_out(), "nothing is reported as left out")
