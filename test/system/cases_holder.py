# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Userspace mode without a service manager: the descriptor holder keeps its sockets over restarts and kills under traffic."""

import os
import re
import signal
import time

from lib import holders, pace, shell, swapping, talk, traffic
from lib.addresses import E1, FAMILIES
from lib.cases import POD, own_daemon
from lib.objects import ready

from cases_flows import proxy_ports
from cases_restart import LONGEST_LIFE, MANY, catch_up, open_requests, require_only_open_cut

UNDER_TRAFFIC = {"families": FAMILIES, "backends": ["userspace"], "sources": ["manifests"], "slow": True}
ONLY_HERE = {"backends": ["userspace"], "sources": ["manifests"], "protocols": ("tcp",)}
SHORT = "descriptorHolderTimeout: 2s\n"


def end_by_kill(daemon, running):
    """kill -9. Returns the open requests; while the process is stopped, it accepts none of the later ones."""
    daemon.daemon.suspend()
    count = open_requests(running.progress())
    daemon.daemon.kill()
    return count


def end_by_sigterm(daemon, running):
    """SIGTERM. Returns the requests that were open then, or were sent before the process ended."""
    before = running.progress()
    daemon.daemon.stop()
    after = running.progress()
    return {label: count + after[label]["sent"] - before[label]["sent"] for label, count in open_requests(before).items()}


def under_traffic(t, end, word):
    everywhere, local = swapping.services(t)
    daemon = swapping.Swappable(t, t.bench.backend)
    t.settle()
    flows = swapping.steady(everywhere, local)
    running = traffic.Traffic(t, flows).wait_flowing()
    first = holders.wait_one(t, daemon.daemon)
    open_at_ends = dict.fromkeys(running.progress(), 0)
    for _ in range(MANY):
        for label, count in end(daemon, running).items():
            open_at_ends[label] += count
        daemon.start()
        catch_up(t, running)
        time.sleep(LONGEST_LIFE)  # fixed time: the life of a process
    counts = running.stop()
    require_only_open_cut(t, flows, counts, open_at_ends, f"{MANY} times {word}")
    t.require(holders.wait_one(t, daemon.daemon) == first, "the holder is not the first one any more")
    daemon.require_tidy(f"after {MANY} times {word}")
    daemon.daemon.stop()
    t.bench.cleanup()
    holders.wait_none(t, daemon.daemon, "after --cleanup")


@own_daemon(None, f"{MANY} times kill -9 and a start without a service manager: no connection is refused, only requests that were open "
            "at a kill end, and one descriptor holder keeps all sockets", **UNDER_TRAFFIC)
def killed(t):
    under_traffic(t, end_by_kill, "kill -9")


@own_daemon(None, f"{MANY} times SIGTERM and a start without a service manager: no connection is refused, only requests that were open "
            "at the end of a process end, and one descriptor holder keeps all sockets", **UNDER_TRAFFIC)
def restarted(t):
    under_traffic(t, end_by_sigterm, "SIGTERM")


def served(t):
    """A Service with one endpoint, and its daemon. Returns the server, the Service and the daemon."""
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    daemon = swapping.Swappable(t, t.bench.backend, more=f"manifests: {t.bench.source.daemon_flags()[1]}\n" + SHORT)
    t.settle()
    return server, service, daemon


def is_accepted(t, front):
    """Whether a connection is accepted, by a process or into the queue of a listener."""
    try:
        talk.connect(t, POD, front)
    except ConnectionRefusedError:
        return False
    return True


def require_waiting_client_is_served(t, server, service, daemon, occasion):
    """A client that connects while no daemon runs reaches the endpoint through the next one."""
    waiting = talk.connect(t, POD, service.cluster())
    daemon.start()
    t.require(talk.are_served(t, [waiting], server), f"{occasion}: a client that connected in between is not served")


@own_daemon(None, "a descriptor holder that is killed is started again with all sockets, and keeps them over kill -9 of the daemon",
            **ONLY_HERE)
def holder_killed(t):
    server, service, daemon = served(t)
    first = holders.wait_one(t, daemon.daemon)
    os.kill(first, signal.SIGKILL)
    t.wait_until(lambda: holders.connected(daemon.daemon) not in (None, first), "another holder runs")
    holders.wait_stored(t, daemon.daemon)
    ports = proxy_ports(t, service)
    daemon.daemon.kill()
    require_waiting_client_is_served(t, server, service, daemon, "after kill -9 of the holder and the daemon")
    t.require(proxy_ports(t, service) == ports, f"ports {ports} became {proxy_ports(t, service)}")


@own_daemon(None, "the descriptor holder of another protocol version is replaced: its sockets are kept, and it ends", **ONLY_HERE)
def other_version(t):
    server, service, daemon = served(t)
    first = holders.wait_one(t, daemon.daemon)
    ports = proxy_ports(t, service)
    with holders.Other(daemon.daemon.state_dir, version=0) as other:
        daemon.daemon.kill()
        other.take_over()
        t.require(pace.wait_until(lambda: not holders.is_running(first), 10), "the first holder runs on")
        require_waiting_client_is_served(t, server, service, daemon, "after a holder of version 0")
        t.wait_until(lambda: other.ended, "the holder of version 0 has ended")
    holders.wait_one(t, daemon.daemon)
    holders.wait_stored(t, daemon.daemon)
    t.require(proxy_ports(t, service) == ports, f"ports {ports} became {proxy_ports(t, service)}")
    daemon.daemon.kill()
    require_waiting_client_is_served(t, server, service, daemon, "from the new holder")


@own_daemon(None, "without a daemon the descriptor holder ends after descriptorHolderTimeout, and connections are refused", **ONLY_HERE)
def timeout(t):
    _, service, daemon = served(t)
    holder = holders.wait_one(t, daemon.daemon)
    target = service.cluster()
    daemon.daemon.stop()
    t.require(holders.is_running(holder), "the holder has ended with the daemon")
    t.require(is_accepted(t, target), "a connection is refused while the holder runs")
    holders.wait_none(t, daemon.daemon, "after the timeout", holder)
    t.require(not is_accepted(t, target), "a connection is accepted without daemon and holder")
    daemon.start()


@own_daemon(None, "--cleanup ends the descriptor holder", **ONLY_HERE)
def clean_up(t):
    _, _, daemon = served(t)
    daemon.write(more=daemon.settings["more"].replace("2s", "1h"))
    daemon.daemon.stop()
    daemon.start()
    holder = holders.wait_one(t, daemon.daemon)
    daemon.daemon.stop()
    t.require(holders.is_running(holder), "the holder has ended with the daemon")
    t.bench.cleanup()
    holders.wait_none(t, daemon.daemon, "after --cleanup", holder)
    daemon.start()


@own_daemon(None, "a swap to a mode without kept sockets ends the descriptor holder; a restart in that mode does, too", **ONLY_HERE)
def other_mode(t):
    _, service, daemon = served(t)
    holder = holders.wait_one(t, daemon.daemon)
    daemon.swap("iptables")
    holders.wait_none(t, daemon.daemon, "after the swap", holder)
    daemon.swap("userspace")
    holder = holders.wait_one(t, daemon.daemon)
    daemon.daemon.kill()
    daemon.write("nftables")
    daemon.start()
    holders.wait_none(t, daemon.daemon, "after a restart in nftables mode", holder)
    t.settle()
    t.require(is_accepted(t, service.cluster()), "the Service does not work in nftables mode")
    daemon.swap("userspace")


def as_process_1(daemon):
    """Later processes of the daemon are process 1 of a PID namespace, as in a container."""
    usual = daemon.daemon.command
    daemon.daemon.command = lambda *words: ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *usual(*words)]


def kill_container(t, daemon):
    daemon.daemon.kill()
    t.require(pace.wait_until(lambda: holders.is_unlocked(daemon.daemon.state_dir), 10), "the daemon outlives its container")


@own_daemon(None, "a daemon that is process 1 of its container starts no descriptor holder, and uses one in another container",
            **ONLY_HERE)
def container(t):
    server, service, daemon = served(t)
    daemon.daemon.stop()
    holders.wait_none(t, daemon.daemon, "after the timeout")
    as_process_1(daemon)
    daemon.start()
    t.require(daemon.daemon.wait_logged("no descriptor holder runs", "process 1"), daemon.daemon.log_tail())
    t.require(not holders.running(daemon.daemon.state_dir), "a holder runs")
    outside = t.topology.start("node2", t.bench.programs.sluiced, "--hold-descriptors", "--state-dir", daemon.daemon.state_dir)
    t.defer(lambda: shell.stop(outside))
    holders.wait_stored(t, daemon.daemon)
    ports = proxy_ports(t, service)
    for _ in range(2):
        kill_container(t, daemon)
        require_waiting_client_is_served(t, server, service, daemon, "after the end of the container")
        t.require(proxy_ports(t, service) == ports, f"ports {ports} became {proxy_ports(t, service)}")
    target = service.cluster()
    kill_container(t, daemon)
    t.require(pace.wait_until(lambda: not is_accepted(t, target), 20), "connections are accepted after the timeout")
    t.require(outside.poll() is None, "the holder has ended")
    daemon.start()
    holders.wait_stored(t, daemon.daemon)
    t.require(shell.stop(outside) == 0, "the holder does not end with status 0 on SIGTERM")
    kill_container(t, daemon)


@own_daemon(None, "sluicectl status names what keeps the sockets; the holder has its own session and no privileges", **ONLY_HERE)
def status(t):
    _, _, daemon = served(t)
    holder = holders.wait_one(t, daemon.daemon)
    page = daemon.daemon.status_page()
    t.require(re.search(rf"^Sockets +[0-9]+ kept by the descriptor holder, process {holder}$", page, re.M), page)
    found = holders.properties(holder)
    t.require(found["session"] == holder == found["group"], f"session {found['session']}, group {found['group']}")
    t.require(found["CapEff"] == found["CapPrm"] == 0 and found["NoNewPrivs"] == 1, f"{found}")
    t.require(set(found["open"]) <= {"/dev/null", "socket", "memfd"}, f"it has open: {found['open']}")
    t.remark(f"memory of the holder: {found['VmRSS']} KiB, {found['private']} KiB of them private")
    daemon.write(more=daemon.settings["more"].replace("2s", "0s"))
    daemon.daemon.stop()
    daemon.start()
    holders.wait_none(t, daemon.daemon, "with descriptorHolderTimeout 0s", holder)
    t.require(re.search(r"^Sockets +[0-9]+ kept by this process only$", daemon.daemon.status_page(), re.M), daemon.daemon.status_page())
