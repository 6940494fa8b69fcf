#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The ipvs backend before and after another backend, under traffic, on a real kernel (test/vm). TAP. Needs root.

    ipvs_handover_test.py PROGRAM

PROGRAM is ipvs_handover: each step of the backend is a process of its own, as after a kill. The other backend is a table
of nftables that only forwards to the endpoint: it masquerades nothing, and there is no local traffic detector.
The endpoint has no route back to Service addresses, as on another node.
"""

import os
import socket
import subprocess
import sys
import threading
import time

from lib import pace

VIP, PORT = "10.96.0.1", 80
ENDPOINT, ENDPOINT_PORT = "10.2.0.2", 8080
PATIENCE = 5
TABLE = f"""table ip other {{
  chain pre {{ type nat hook prerouting priority -100; ip daddr {VIP} meta l4proto {{ tcp, udp }} dnat to {ENDPOINT}:{ENDPOINT_PORT}; }}
  chain out {{ type nat hook output priority -100; ip daddr {VIP} meta l4proto {{ tcp, udp }} dnat to {ENDPOINT}:{ENDPOINT_PORT}; }}
}}"""

program = os.path.abspath(sys.argv[1])
count = failures = 0


def check(good, what):
    global count, failures
    count += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}", flush=True)


def run(*words, input=None):
    done = subprocess.run(words, input=input, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def inside(place, *words, **how):
    return run("ip", "netns", "exec", place, *words, **how)


def step(*words):
    """The answer of the backend to one call."""
    return inside("node", program, *words).strip()


SERVICE = (VIP, str(PORT), ENDPOINT, str(ENDPOINT_PORT))


def in_place(place, make):
    """Creates sockets in the network namespace `place`; threads have one of their own."""
    made = []

    def work():
        with open(f"/run/netns/{place}") as namespace:
            if libc.setns(namespace.fileno(), 0x40000000):
                raise OSError("setns")
        made.append(make())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return made[0]


import ctypes  # noqa: E402

libc = ctypes.CDLL(None, use_errno=True)


class Talk:
    """One connection, or UDP flow; each answer contains the source address that the endpoint saw."""

    def __init__(self, place, kind):
        self.kind = kind
        self.socket = in_place(place, lambda: socket.socket(socket.AF_INET, kind))
        self.socket.settimeout(pace.stretched(PATIENCE))
        self.socket.connect((VIP, PORT))
        self.source = self.socket.getsockname()[0]

    def ask(self):
        try:
            self.socket.send(b"?")
            return self.socket.recv(200).decode()
        except OSError as error:
            return str(error)

    def works(self):
        return self.ask().startswith("seen ")

    def close(self):
        self.socket.close()


def tcp(place):
    return Talk(place, socket.SOCK_STREAM)


def udp(place):
    return Talk(place, socket.SOCK_DGRAM)


def fresh(place):
    """A new connection and a new flow both get an answer."""
    good = True
    for kind in (tcp, udp):
        try:
            talk = kind(place)
            answer = talk.ask()
            if not answer.startswith("seen "):
                print(f"# {place} {kind.__name__}: {answer}")
                good = False
            talk.close()
        except OSError as error:
            print(f"# {place} {kind.__name__}: {error}")
            good = False
    return good


class Ticking:
    """A UDP client with one source port that asks every 50 ms; missing answers are counted."""

    def __init__(self, place):
        self.talk = udp(place)
        self.talk.socket.settimeout(pace.stretched(PATIENCE / 5))
        self.lost = 0
        self.answered = 0
        self.ends = False
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while not self.ends:
            if self.talk.works():
                self.answered += 1
            else:
                self.lost += 1
            time.sleep(0.05)  # fixed time: the rate at which the client asks

    def end(self):
        self.ends = True
        self.thread.join()
        self.talk.close()
        return self.lost


def serve():
    """The endpoint."""
    def flows():
        here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        here.bind(("0.0.0.0", ENDPOINT_PORT))
        while True:
            _, source = here.recvfrom(200)
            try:
                here.sendto(f"seen {source[0]}".encode(), source)
            except OSError:
                pass  # no way back

    def connection(one, source):
        with one:
            while one.recv(200):
                one.send(f"seen {source[0]}".encode())
    threading.Thread(target=flows, daemon=True).start()
    listener = socket.create_server(("0.0.0.0", ENDPOINT_PORT))
    while True:
        threading.Thread(target=connection, args=listener.accept(), daemon=True).start()


def endpoint_listens():
    port = f":{ENDPOINT_PORT:04X} "
    return all(port in inside("endpoint", "cat", f"/proc/net/{kind}") for kind in ("tcp", "udp"))


def topology():
    for place in ("node", "client", "endpoint"):
        run("ip", "netns", "add", place)
        inside(place, "ip", "link", "set", "lo", "up")
    for number, place in ((1, "client"), (2, "endpoint")):
        run("ip", "link", "add", place, "netns", "node", "type", "veth", "peer", "name", "eth0", "netns", place)
        inside("node", "ip", "addr", "add", f"10.{number}.0.1/24", "dev", place)
        inside("node", "ip", "link", "set", place, "up")
        inside(place, "ip", "addr", "add", f"10.{number}.0.2/24", "dev", "eth0")
        inside(place, "ip", "link", "set", "eth0", "up")
        inside(place, "ip", "route", "add", "default", "via", f"10.{number}.0.1")
    inside("endpoint", "ip", "route", "add", "blackhole", "10.96.0.0/12")
    inside("node", "ip", "addr", "add", "192.168.0.2/24", "dev", "client")
    inside("node", "ip", "route", "add", "default", "via", "10.1.0.2")
    inside("node", "sysctl", "-qw", "net.ipv4.ip_forward=1")


def other(serves):
    inside("node", "nft", "-f", "-", input=TABLE if serves else "delete table ip other")


def nothing_left():
    left = inside("node", "iptables-save") + inside("node", "ipset", "list", "-n") + inside("node", "ip", "-br", "link")
    left = [line for line in left.splitlines() if "KUBE-" in line or "kube-ipvs0" in line]
    servers = inside("node", "cat", "/proc/net/ip_vs").splitlines()[3:]
    for line in left + servers:
        print(f"# left: {line}")
    return not left and not servers


def retires_until(accepted, seconds):
    """The last answer to repeated calls, which is `done` or accepted; another one after the timeout."""
    answers = []

    def over():
        answers.append(step("retire", "20", "nft/ip/other"))
        return answers[-1] == "done" or accepted(answers[-1])

    pace.wait_until(over, seconds, every=0.5)
    return answers[-1]


def retires_before_another():
    check(step("apply", *SERVICE) == "done", "ipvs mode serves")
    check(fresh("client") and fresh("node"), "clients outside and on the node get answers")
    held = [(place, kind, kind(place)) for place in ("client", "node") for kind in (tcp, udp)]
    check(all(talk.works() for _, _, talk in held), "connections and flows are established")
    check(held[2][2].source == VIP, "connections of the node itself have the Service address as source")
    half = tcp("client")
    half.works()
    half.socket.shutdown(socket.SHUT_WR)  # the endpoint closes, too: ended, but IPVS still has an entry
    other(True)
    check(fresh("client") and fresh("node"), "all clients get answers with the rules of the new backend in place, before the retirement")
    between = tcp("node")
    check(between.works() and between.source == VIP, "a connection of the node through the new backend has the Service address as source")
    said = step("retire", "30", "nft/ip/other")
    check(said.startswith("retry: draining: connections to 2 virtual servers"), f"the retirement has begun: {said}")
    check("KUBE-SERVICES" not in inside("node", "iptables", "-t", "nat", "-S", "PREROUTING"), "no rule refers to IPVS any more")
    check(fresh("client") and fresh("node"), "new connections get answers")
    check(all(talk.works() for _, _, talk in held), "established connections go on")
    late = tcp("node")
    check(late.works() and late.source != VIP, f"new connections of the node itself have the source {late.source}")
    said = step("retire", "29", "nft/ip/other")
    check(said.startswith("retry: "), f"established connections delay the retirement: {said}")
    check(all(talk.works() for _, _, talk in held), "established connections still go on")

    # Their entries deleted, as by the daemon once they are quiet, flows reach the new backend.
    ticking = Ticking("client")
    check(pace.wait_until(lambda: ticking.answered >= 10, PATIENCE * 2), "a client that asks every 50 ms is answered")
    entries = inside("node", "conntrack", "-L", "-p", "udp", "-d", VIP)
    inside("node", "conntrack", "-D", "-p", "udp", "-d", VIP)
    check(held[1][2].works() and held[3][2].works(), "a flow whose entry was deleted is served by the new backend")
    after = inside("node", "conntrack", "-L", "-p", "udp", "-d", VIP)
    check(after.count("sport") > 0 and entries.count("sport") > 0, "the flow is tracked again")
    for _, kind, talk in held:
        if kind is tcp:
            talk.close()
    half.close()
    # A flow is expired half a minute after its last packet.
    said = retires_until(lambda said: "connections of this node from 1 service addresses" in said and "virtual" not in said, 65)
    check(said == "retry: draining: connections of this node from 1 service addresses",
          f"without connections the virtual servers are removed, but not the source address of the node: {said}")
    check(between.works(), "the connection that needs the address works")
    between.close()
    held[1][2].close()
    held[3][2].close()
    said = retires_until(lambda said: False, PATIENCE * 4)
    check(said == "done" and nothing_left(), f"then everything goes: {said}")
    check(fresh("client") and fresh("node"), "new connections get answers")
    check(late.works(), "a connection of the node from the time of the drain goes on after the retirement")
    late.close()
    check(ticking.talk.works() and ticking.end() == 0, f"a client that asks every 50 ms has lost none of {ticking.answered} answers")


def comes_behind_another():
    ticking = Ticking("client")
    held = [kind(place) for place in ("client", "node") for kind in (tcp, udp)]
    check(all(talk.works() for talk in held), "the other backend serves")
    failed, times = [], {"client": 0, "node": 0}
    ends = threading.Event()

    def connect_all_the_time(place):
        while not ends.is_set():
            if not fresh(place):
                failed.append(place)
            times[place] += 1

    def wait_connected():
        """Both have made five connections, all of them after the call except the first."""
        wanted = {place: number + 5 for place, number in times.items()}
        check(pace.wait_until(lambda: all(times[place] >= wanted[place] for place in times), PATIENCE * 4),
              "clients outside and on the node keep connecting")
    threads = [threading.Thread(target=connect_all_the_time, args=(place,)) for place in ("client", "node")]
    for thread in threads:
        thread.start()
    check(step("new-backend", *SERVICE) == "done", "ipvs mode is applied")
    check(all(talk.works() for talk in held), "established connections go on")
    wait_connected()
    other(False)
    wait_connected()
    ends.set()
    for thread in threads:
        thread.join()
    check(not failed, f"no new connection failed meanwhile: {failed}")
    check(all(talk.works() for talk in held), "established connections still go on")
    check(fresh("client") and fresh("node"), "IPVS serves")
    check(ticking.end() == 0, f"a client that asks every 50 ms has lost none of {ticking.answered} answers")
    for talk in held:
        talk.close()
    said = step("clients", *SERVICE, "300")
    fresh("client")
    said = step("clients", *SERVICE, "300")
    check(f"10.1.0.2 {ENDPOINT}:{ENDPOINT_PORT}" in said, f"it lists the bound clients: {said.splitlines()}")


def local_route(address):
    return inside("node", "ip", "route", "show", "table", "local", address).strip()


def resumes():
    """In the middle of a drain, and again with another address."""
    check(step("apply", *SERVICE) == "done", "ipvs mode serves again")
    ordinary = local_route(VIP)
    check(f"src {VIP}" in ordinary, f"the Service address has the kernel's own route: {ordinary}")
    held = tcp("client")
    check(held.works(), "a connection is established")
    for again in (False, True):
        other(True)
        said = step("retire", "30", "nft/ip/other")
        check(said.startswith("retry: ") and f"src {VIP}" not in local_route(VIP), f"it retires, and the node sends from elsewhere: {said}")
        if again:
            break
        check(step("apply", *SERVICE) == "done", "it serves again before the drain has ended")
        other(False)
        check(local_route(VIP) == ordinary, f"the route is restored: {local_route(VIP)}")
        check(fresh("client") and fresh("node") and held.works(), "all are answered")
        talk = tcp("node")
        check(talk.works() and talk.source == VIP, "new connections of the node itself have the Service address as source again")
        talk.close()
    check(step("apply", "10.96.0.2", *SERVICE[1:]) == "done", "it serves again, without that Service")
    other(False)
    check(VIP not in inside("node", "ip", "addr", "show", "kube-ipvs0") and local_route(VIP) == "",
          f"with the address its route goes: {local_route(VIP)}")
    held.close()
    check(step("retire", "0") == "done" and nothing_left(), "everything is removed")


def ends_at_once():
    talk = tcp("client")
    talk.works()
    check(step("retire", "0") == "done" and nothing_left(), "with a drain timeout of 0 everything is removed at once")
    talk.close()


def main():
    topology()
    endpoint = os.fork()
    if endpoint == 0:
        with open("/run/netns/endpoint") as namespace:
            libc.setns(namespace.fileno(), 0x40000000)
        serve()
    try:
        check(pace.wait_until(endpoint_listens, PATIENCE), "the endpoint listens")
        retires_before_another()
        comes_behind_another()
        ends_at_once()
        resumes()
    finally:
        os.kill(endpoint, 9)
        for place in ("node", "client", "endpoint"):
            subprocess.run(["ip", "netns", "del", place])
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
