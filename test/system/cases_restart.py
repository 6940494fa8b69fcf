# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 and a start, repeatedly, under continuous traffic: in kernel modes nothing fails; in userspace mode
relayed connections end with the process, and new connections and UDP reach the next one."""

import collections
import os
import random
import time

from lib import pace, swapping, traffic
from lib.addresses import FAMILIES
from lib.cases import IN_KERNEL, own_daemon
from lib.fd_holder import FdHolder

MANY = int(os.environ.get("SLUICE_TEST_RESTARTS") or (200 if os.environ.get("SLUICE_LONG", "0") != "0" else 10))
LONGEST_LIFE = 0.8 * pace.SLOWNESS  # seconds of every second process: before or after it is ready

CUT = ("ECONNRESET", "closed while it was to answer")


def loop(daemon, unready, running=None):
    """`unready`: every second process is killed at a random instant, ready or not; the others have served for a while. With
    `running` traffic each process catches up with it first; returns how many requests of each flow were open at the kills or
    were sent shortly before. They are counted while the process is stopped, so that it accepts none of the later ones."""
    order = random.Random(MANY)
    open_at_kills = collections.Counter()
    for number in range(MANY):
        if running is not None:
            daemon.daemon.suspend()
            open_at_kills.update(open_requests(running.progress()))
        daemon.daemon.kill()
        daemon.start(wait=False)
        if number % 2 or not unready:
            daemon.daemon.wait_synced()
        if running is not None:
            catch_up(daemon.t, running)
        time.sleep(order.uniform(0, LONGEST_LIFE) if unready else LONGEST_LIFE)  # fixed time: the life of a process
    daemon.daemon.wait_synced()
    daemon.require_tidy(f"after {MANY} times kill -9")
    return open_at_kills


def open_requests(counts):
    """Those without an answer, and with connections for one request those whose end has not been seen."""
    return {label: max(one["open"], one["sent"] - one["ok"] - one["lost"] - sum(one["failed"].values()))
            for label, one in counts.items()}


def catch_up(t, running):
    """Returns when more requests of each flow are answered than are open now: the sockets have no backlog any more."""
    before = running.progress()
    still_open = open_requests(before)
    t.wait_until(lambda: all(one["ok"] > still_open[label] for label, one in traffic.since(before, running.progress()).items()),
                 "what waited for the process is answered", seconds=20)


def require_only_open_cut(t, flows, counts, open_at_ends, occasion):
    """Only requests that were open at the end of a process fail, and none is refused: usually one each at this rate, more if the
    machine is too busy to answer one before the next is sent."""
    for flow in flows:
        one = counts[flow.name]
        failed = sum(one["failed"].values())
        t.require(one["ok"] > 0, f"{flow.name}: nothing was answered")
        most = open_at_ends[flow.name]
        # On a busy machine a reset may also arrive before connect() returns, or after the answer.
        cut = sum(one["failed"].get(kind, 0) for kind in CUT) if flow.kind == "tcp-new" else one["lost"]
        other = failed + one["lost"] - cut
        t.require(other == 0, f"{flow.name}: {other} failed for another reason: {one['failed']}, first: {one['first_failures'][:3]}")
        t.require(cut <= most, f"{flow.name}: {cut} of {one['sent']} were cut by {occasion}: {one['first_failures'][:3]}")
        t.remark(f"{flow.name}: of {one['sent']} {cut} ended with the process ({most} were open then), {one['late']} were late, {one['max_ms']:.0f} ms at most")


@own_daemon(None, f"{MANY} times kill -9 and a start, half of them before it is ready: no connection fails or is cut, no "
            "datagram is lost, nothing is left over", families=FAMILIES, sources=["manifests"], backends=IN_KERNEL, slow=True)
def in_kernel(t):
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, t.bench.backend)
    t.settle()
    flows = swapping.steady(everywhere, local) + swapping.held(everywhere, local)
    running = traffic.Traffic(t, flows).wait_flowing()
    loop(daemon, unready=True)
    counts = running.stop()
    traffic.require_unharmed(t, flows, counts, f"{MANY} times kill -9")
    t.remark(traffic.summary(flows, counts))


@own_daemon(None, f"{MANY} times kill -9 and a start under a service manager that keeps descriptors: no connection is refused, no "
            "UDP client is without an answer for longer than a process takes to come back; connections that the process relayed "
            "end with it", families=FAMILIES, sources=["manifests"], backends=["userspace"], slow=True)
def relayed(t):
    everywhere, local = swapping.services(t)
    directory = os.path.join(t.topology.directory, f"{t.bench.label}-manager")
    os.mkdir(directory)
    with FdHolder(directory) as holder:
        daemon = swapping.Swappable(t, t.bench.backend, holder=holder)
        t.settle()
        flows = swapping.steady(everywhere, local)
        running = traffic.Traffic(t, flows).wait_flowing()
        # The next process accepts the whole backlog of the sockets at once, and must have served it.
        open_at_kills = loop(daemon, unready=False, running=running)
        counts = running.stop()
        require_only_open_cut(t, flows, counts, open_at_kills, f"{MANY} kills")
        t.require(not holder.warnings, f"the service manager complains: {holder.warnings[:3]}")
        daemon.daemon.stop()
