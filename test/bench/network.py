# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node and a pod that answers on every endpoint's address, in network namespaces of this process.

The main thread enters the node: what it starts (API server, daemon, clients) runs there, and the host's own
network is never touched.
"""

import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

from patience import stretched

PREFIX = "sluice-bench-"
CLONE_NEWNET = 0x40000000
NODE_IP = "10.190.0.1"
POD_IP = "10.190.1.1"
POD_PORT = 8080
ENDPOINT_NETWORK = "10.200.0.0/13"
SERVICE_NETWORK = "10.96.0.0/12"
POD_PATIENCE = 10
PROGRAM_SECONDS = 120
CONNECT_SECONDS = 0.9  # below the first retransmission of a SYN: a lost one counts as a failure
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
_libc = ctypes.CDLL(None, use_errno=True)


class BenchError(Exception):
    """The measurement cannot continue."""


def run(*argv, stdin=None, check=True):
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=stretched(PROGRAM_SECONDS))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{' '.join(argv)}: {error}") from error
    if check and done.returncode != 0:
        raise BenchError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Network:
    def __init__(self, netecho, name=""):
        """`name` distinguishes several networks of one program."""
        self._netecho = netecho
        self._prefix = f"{PREFIX}{os.getpid()}-{name}"
        self._made = []
        self._home = None
        self._server = None

    def __enter__(self):
        remove_leftovers()
        end_at_signals()
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._build()
            _enter(open_namespace(self.node))
            self._wait_for_pod()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        _enter(self._home)
        for namespace in self._made:
            remove_namespace(namespace)
        self._made.clear()

    @property
    def node(self):
        return self._prefix + "node"

    @property
    def pod(self):
        return self._prefix + "pod"

    def hammer(self, address, port, interval_ms):
        return Hammer([self._netecho, "hammer", "tcp", address, str(port), "--seconds", "86400",
                       "--interval", str(interval_ms), "--timeout", str(int(stretched(CONNECT_SECONDS) * 1000))])

    def _build(self):
        for space in (self.node, self.pod):
            run("ip", "netns", "add", space)
            self._made.append(space)
            run("ip", "-n", space, "link", "set", "lo", "up")
        run("ip", "netns", "exec", self.node, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        run("ip", "-n", self.node, "-batch", "-", stdin="\n".join([
            f"link add pod type veth peer name eth0 netns {self.pod}", f"addr add {NODE_IP}/32 dev pod",
            "link set pod up", f"route add {POD_IP}/32 dev pod",
            # Cluster IPs too: until a Service is programmed its address refuses at once instead of
            # swallowing packets, because the pod has no server on the Services' port.
            f"route add default via {POD_IP} dev pod onlink"]) + "\n")
        run("ip", "-n", self.pod, "-batch", "-", stdin="\n".join([
            f"addr add {POD_IP}/32 dev eth0", "link set eth0 up", f"route add {NODE_IP} dev eth0",
            f"route add default via {NODE_IP}", f"route add local {ENDPOINT_NETWORK} dev lo",
            f"route add local {SERVICE_NETWORK} dev lo"]) + "\n")
        self.serve(self._netecho, "serve", "--name", "pod", "--port", str(POD_PORT), "--tcp")

    def serve(self, *argv):
        """Runs this program in the pod, instead of the one before."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        self._server = subprocess.Popen(["ip", "netns", "exec", self.pod, *argv], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)

    def _wait_for_pod(self):
        end = time.monotonic() + stretched(POD_PATIENCE)
        while answering_endpoint(POD_IP, POD_PORT) is None:
            if time.monotonic() > end:
                raise BenchError(f"the pod does not answer after {POD_PATIENCE} s")
            time.sleep(0.01)  # poll interval


class Hammer:
    """A client that connects to one Service again and again, and counts what fails."""

    def __init__(self, argv):
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def end(self):
        """Connections made, and how many of them failed."""
        self._process.terminate()
        try:
            tally = json.loads(self._process.communicate(timeout=stretched(20))[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            self._process.kill()
            raise BenchError(f"a background client did not say what it counted: {error}") from error
        return tally["ok"] + tally["failed"], tally["failed"]


def remove_leftovers():
    """Removes the namespaces of runs that were killed."""
    for line in run("ip", "netns", "list").splitlines():
        found = re.match(rf"{PREFIX}(\d+)-", line)
        if found and not os.path.exists(f"/proc/{found.group(1)}"):
            remove_namespace(line.split()[0])


def remove_namespace(namespace):
    for number in run("ip", "netns", "pids", namespace, check=False).split():
        if int(number) == os.getpid():
            continue
        try:
            os.kill(int(number), signal.SIGKILL)
        except ProcessLookupError:
            continue
    run("ip", "netns", "del", namespace, check=False)


def end_at_signals():
    """Makes signals end the run in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)


def _end(number, _frame):
    raise SystemExit(128 + number)


def open_namespace(name):
    return os.open(f"/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC)


def own_namespace():
    """That of this thread."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def set_namespace(descriptor):
    """Moves this thread; its sockets stay where they were made."""
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise BenchError(f"cannot enter a network namespace: {os.strerror(number)}")


def _enter(descriptor):
    try:
        set_namespace(descriptor)
    finally:
        os.close(descriptor)


def answering_endpoint(address, port):
    """The address of the endpoint behind a Service, by a new connection; None when there is no answer."""
    try:
        with _connected(address, port) as connection:
            connection.settimeout(stretched(CONNECT_SECONDS))  # the server may wait for a processor
            return connection.recv(256).split(b" ")[3].decode()
    except (OSError, IndexError):
        return None


def connect_seconds(address, port):
    """How long one new connection takes to be established; None when it is not."""
    begin = time.perf_counter()
    try:
        with _connected(address, port):
            return time.perf_counter() - begin
    except OSError:
        return None


def _connected(address, port):
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # No TIME_WAIT: thousands of probes must not use up the ports of the node.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        connection.settimeout(CONNECT_SECONDS)
        connection.connect((address, port))
    except BaseException:
        connection.close()
        raise
    return connection
