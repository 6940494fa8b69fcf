# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node and two pods in network namespaces of this process; the node is entered by the main thread.

Everything the node runs (API server, daemon) is started from there; the host's own network is never touched.
"""

import ctypes
import os
import re
import signal
import socket
import subprocess
import time

PREFIX = "sluice-bench-"
CLONE_NEWNET = 0x40000000
NODE_IP = "10.190.0.1"
POD_PORT = 8080
ADDRESSES_PER_POD = 10
SERVICE_NETWORK = "10.99.0.0/16"  # of the Services that are really called
PODS = ("pod-a", "pod-b")
_libc = ctypes.CDLL(None, use_errno=True)


class BenchError(Exception):
    """The measurement cannot go on."""


def run(*argv, stdin=None, check=True):
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise BenchError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def pod_addresses(pod):
    return [f"10.190.{PODS.index(pod) + 1}.{number}" for number in range(1, ADDRESSES_PER_POD + 1)]


class Network:
    def __init__(self, netecho):
        self._netecho = netecho
        self._prefix = f"{PREFIX}{os.getpid()}-"
        self._made = []
        self._home = None

    def __enter__(self):
        remove_leftovers()
        signal.signal(signal.SIGTERM, _end)
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._build()
            _enter(os.open(f"/run/netns/{self.node}", os.O_RDONLY | os.O_CLOEXEC), close=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        _enter(self._home, close=True)
        for namespace in self._made:
            _remove(namespace)
        self._made.clear()

    @property
    def node(self):
        return self._prefix + "node"

    def _build(self):
        for place in ("node", *PODS):
            run("ip", "netns", "add", self._prefix + place)
            self._made.append(self._prefix + place)
            run("ip", "-n", self._prefix + place, "link", "set", "lo", "up")
        run("ip", "netns", "exec", self.node, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for pod in PODS:
            self._attach(pod)
        # Until a Service is programmed, its address refuses at once instead of swallowing packets.
        run("ip", "-n", self.node, "route", "add", "default", "via", pod_addresses(PODS[1])[0], "dev", PODS[1], "onlink")
        run("ip", "-n", self._prefix + PODS[1], "route", "add", "local", SERVICE_NETWORK, "dev", "lo")

    def _attach(self, pod):
        space = self._prefix + pod
        run("ip", "-n", self.node, "-batch", "-", stdin="\n".join([
            f"link add {pod} type veth peer name eth0 netns {space}", f"addr add {NODE_IP}/32 dev {pod}",
            f"link set {pod} up"] + [f"route add {address}/32 dev {pod}" for address in pod_addresses(pod)]) + "\n")
        run("ip", "-n", space, "-batch", "-", stdin="\n".join(
            [f"addr add {address}/32 dev eth0" for address in pod_addresses(pod)] +
            ["link set eth0 up", f"route add {NODE_IP} dev eth0", f"route add default via {NODE_IP}"]) + "\n")
        subprocess.Popen(["ip", "netns", "exec", space, self._netecho, "serve", "--name", pod, "--port", str(POD_PORT),
                          "--tcp"], stdin=subprocess.DEVNULL)


def remove_leftovers():
    """Removes the namespaces of runs that were killed before they could do it themselves."""
    for line in run("ip", "netns", "list").splitlines():
        found = re.match(rf"{PREFIX}(\d+)-", line)
        if found and not os.path.exists(f"/proc/{found.group(1)}"):
            _remove(line.split()[0])


def _remove(namespace):
    for number in run("ip", "netns", "pids", namespace, check=False).split():
        try:
            os.kill(int(number), signal.SIGKILL)
        except ProcessLookupError:
            continue
    run("ip", "netns", "del", namespace, check=False)


def _end(number, _frame):
    raise SystemExit(128 + number)


def _enter(descriptor, close):
    try:
        if _libc.setns(descriptor, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise BenchError(f"cannot enter the namespace of the node: {os.strerror(number)}")
    finally:
        if close:
            os.close(descriptor)


def who_answers(address, port, timeout=0.5):
    """The name of the pod behind an address, by a new connection; None when there is no answer."""
    try:
        with socket.create_connection((address, port), timeout) as connection:
            return connection.recv(256).split(b" ")[0].decode()
    except OSError:
        return None


def wait_for_answer(address, port, name, patience, pause=0.0005):
    """Seconds on the monotonic clock when `name` answered, or None."""
    end = time.monotonic() + patience
    while True:
        if who_answers(address, port) == name:
            return time.monotonic()
        if time.monotonic() > end:
            return None
        time.sleep(pause)
