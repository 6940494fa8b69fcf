# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Userspace mode: established connections continue while the daemon is restarted, for stopDrainTimeout."""

import contextlib
import hashlib
import os
import signal
import threading
import time

from lib import holders, pace, swapping, talk
from lib.addresses import E1
from lib.cases import POD, own_daemon
from lib.objects import ready

from cases_keptsockets import counted

ONLY_HERE = {"backends": ["userspace"], "sources": ["manifests"], "protocols": ("tcp",)}
MORE = "backends: {{userspace: {{stopDrainTimeout: {timeout}}}}}\n"
CONTINUES = "continue in a process of their own"
PIECE = os.urandom(1 << 16)
PIECES = 1500


def served(t, timeout=None):
    """A Service with one endpoint, and its daemon. Returns the server, the Service and the daemon."""
    server, number = talk.listen(t, E1)
    service = t.service([ready(E1)], ports=[("p80", 80, number)])
    manifests = f"manifests: {t.bench.source.daemon_flags()[1]}\n"
    daemon = swapping.Swappable(t, t.bench.backend, more=manifests + (MORE.format(timeout=timeout) if timeout else ""))
    t.settle()
    return server, service, daemon


def drains(t):
    """The processes in the namespace of the node that continue connections."""
    found, here = [], os.stat(f"/run/netns/{t.topology.namespace('node')}").st_ino
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{one}/comm", encoding="utf-8") as file:
                name = file.read().strip()
            if name == "sluice-drain" and os.stat(f"/proc/{one}/ns/net").st_ino == here:
                found.append(int(one))
        except OSError:
            pass
    return found


def wait_no_drains(t, occasion):
    t.require(pace.wait_until(lambda: not drains(t), 20), f"processes {drains(t)} continue connections {occasion}")


@own_daemon(None, "established connections continue over three restarts, and are not counted as lost; the process that relays them "
            "ends with them", **ONLY_HERE)
def restarts(t):
    server, service, daemon = served(t, "1h")
    conversations = []
    for number in range(3):
        conversations.append(talk.conversation(t, service, server))
        t.require(talk.is_connected(*conversations[-1]), "the connection does not work")
        daemon.daemon.stop()
        t.require(daemon.daemon.wait_logged(CONTINUES), daemon.daemon.log_tail())
        for pair in conversations:
            t.require(talk.is_connected(*pair), f"a connection is broken while no daemon runs ({number})")
        daemon.start()
        for pair in conversations:
            t.require(talk.is_connected(*pair), f"a connection is broken after restart {number}")
    t.require(counted(t) == 0, f"{counted(t)} connections are counted as lost")
    t.wait_until(lambda: len(drains(t)) == 3, "three processes continue connections")
    for client, endpoint in conversations:
        client.close()
        t.require(talk.receive(endpoint) == talk.END, "the end of the client does not arrive as an end")
        endpoint.close()
    wait_no_drains(t, "without any")
    # Counts of processes that still exist are not read.
    daemon.daemon.stop()
    daemon.start()
    t.require(counted(t) == 0, f"{counted(t)} connections are counted as lost after all have ended")


@own_daemon(None, "without a setting, established connections continue for 30 s after SIGTERM, while the next daemon serves new ones",
            **ONLY_HERE)
def by_default(t):
    server, service, daemon = served(t)
    pair = talk.conversation(t, service, server)
    begun = time.monotonic()
    daemon.daemon.stop()
    t.require(daemon.daemon.wait_logged("1 TCP connection ", CONTINUES, "at most 30 s"), daemon.daemon.log_tail())
    t.require(talk.is_connected(*pair), "the connection is broken while no daemon runs")
    daemon.start()
    t.require(talk.is_connected(*talk.conversation(t, service, server)), "a new connection does not work")
    continues = len(drains(t)) == 1 and talk.is_connected(*pair)
    # An emulated machine may need longer than the drain lasts.
    t.require(continues or time.monotonic() - begun > 30, f"the connection is broken; processes that drain: {drains(t)}")
    t.require(counted(t) == 0, f"{counted(t)} connections are counted as lost")
    t.require(talk.receive(pair[0], pace.stretched(60)) in (talk.END, talk.RESET), "the connection continues after a minute")
    wait_no_drains(t, "after 30 s")


@own_daemon(None, "with stopDrainTimeout: 0s, connections end with the daemon", **ONLY_HERE)
def off(t):
    server, service, daemon = served(t, "0s")
    client, _ = talk.conversation(t, service, server)
    daemon.daemon.stop()
    t.require(not drains(t), f"processes {drains(t)} continue connections")
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the connection continues")
    daemon.start()


@own_daemon(None, "--cleanup ends the connections that continue, and says so in one line", **ONLY_HERE)
def cleaned_up(t):
    server, service, daemon = served(t, "1h")
    client, endpoint = talk.conversation(t, service, server)
    daemon.daemon.stop()
    t.require(talk.is_connected(client, endpoint) and len(drains(t)) == 1, f"processes {drains(t)} continue connections")
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-600:]}")
    lines = [line for line in done.stderr.splitlines() if "processes sluice-drain stopped: 1" in line]
    t.require(len(lines) == 1, f"lines about it: {lines}: {done.stderr[-600:]}")
    t.require(not drains(t), f"processes {drains(t)} continue connections after --cleanup")
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the connection continues")
    daemon.start()


@own_daemon(None, "a transfer that keeps pipes and buffers full passes whole over a restart, in both directions", **ONLY_HERE)
def transfer(t):
    server, service, daemon = served(t, "1h")
    client, endpoint = talk.conversation(t, service, server)
    sums, threads = {}, []
    for sender, receiver in ((client, endpoint), (endpoint, client)):
        threads += [threading.Thread(target=send_all, args=(sender,)), threading.Thread(target=read_all, args=(receiver, sums))]
    for thread in threads:
        thread.start()
    t.wait_until(lambda: daemon.status().get("kept_sockets"), "the daemon serves")
    daemon.daemon.stop()
    still_open = any(thread.is_alive() for thread in threads)
    daemon.start()
    for thread in threads:
        thread.join(pace.stretched(120))
    t.require(still_open, "the transfer had ended before the daemon did")
    wanted = hashlib.sha256(PIECE * PIECES).hexdigest()
    t.require(sums == {client: wanted, endpoint: wanted}, f"what arrived differs: {list(sums.values())}, not {wanted}")
    wait_no_drains(t, "after the transfer")


def send_all(sender):
    sender.settimeout(pace.stretched(60))
    for _ in range(PIECES):
        sender.sendall(PIECE)
    sender.shutdown(1)


def read_all(receiver, sums):
    receiver.settimeout(pace.stretched(60))
    found = hashlib.sha256()
    while data := receiver.recv(1 << 16):
        found.update(data)
    sums[receiver] = found.hexdigest()


@own_daemon(None, "connections end when stopDrainTimeout expires; the process that relays them holds no socket of the daemon", **ONLY_HERE)
def timeout(t):
    server, service, daemon = served(t, f"{round(pace.stretched(5))}s")
    client, endpoint = talk.conversation(t, service, server)
    daemon.daemon.stop()
    t.require(pace.wait_until(lambda: [len(sockets(one)) for one in drains(t)] == [2], 3),
              f"processes with other sockets than the two of the connection: {[(one, sockets(one)) for one in drains(t)]}")
    t.require(talk.is_connected(client, endpoint), "the connection is broken")
    t.require(talk.receive(client, pace.stretched(30)) in (talk.END, talk.RESET), "the connection continues")
    wait_no_drains(t, "after the timeout")
    daemon.start()


@own_daemon(None, "kill -9 ends relayed connections, and they are counted as lost, also with stopDrainTimeout", **ONLY_HERE)
def killed(t):
    server, service, daemon = served(t, "1h")
    client, _ = talk.conversation(t, service, server)
    daemon.daemon.kill()
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the connection continues")
    t.require(not drains(t), f"{drains(t)}")
    daemon.start()
    t.wait_until(lambda: counted(t) == 1, "one lost connection is counted")


@own_daemon(None, "SIGTERM ends the process that relays connections", **ONLY_HERE)
def terminated(t):
    server, service, daemon = served(t, "1h")
    client, _ = talk.conversation(t, service, server)
    daemon.daemon.stop()
    t.require(pace.wait_until(lambda: drains(t), 10), "no process continues the connection")
    for one in drains(t):
        os.kill(one, signal.SIGTERM)
    t.require(talk.receive(client) in (talk.END, talk.RESET), "the connection continues")
    wait_no_drains(t, "after SIGTERM")
    daemon.start()
    t.require(holders.running(daemon.daemon.state_dir), "no holder runs")


def sockets(process):
    found = []
    with contextlib.suppress(OSError):
        for one in os.listdir(f"/proc/{process}/fd"):
            found.append(os.readlink(f"/proc/{process}/fd/{one}"))
    return [one for one in found if one.startswith("socket:")]
