# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The test network: a node under test, a second node, pods, a client and the world outside.

                       lan (a switch)
      ┌───────────┬───────┴────┬─────────────┬──────────────┐
    node        node2        client        outside       neighbour
   eth0 eth1   (E2, E3)   203.0.113.2   default route   attacks 127.0.0.1
  (POD, E1, E4)

Pods hang off their node on a veth with a host route, as most CNIs do it. `outside` is the node's default
route and answers on every address and every port: a packet that the node leaves untouched is therefore
*answered* ("ok outside"), which tells it from a dropped one (timeout) and a rejected one (refused).

Everything lives in namespaces with a prefix of this process; nothing else on the host is changed.
"""

import atexit
import itertools
import os
import re
import shutil
import signal
import tempfile
import time

from . import addresses as a
from . import shell
from .node_tools import NodeTools

PREFIX = "sluice-"
SCRATCH = "sluice-system-"
ANSWER_PORT = 9
LINK_LOCAL_GATEWAY = {a.V4: "169.254.1.1", a.V6: "fe80::1"}
QUIET_SYSCTLS = {
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    # Rejections are counted here; a kernel that saves on ICMP would turn them into silence.
    "net.ipv4.icmp_ratelimit": 0,
    "net.ipv4.icmp_msgs_per_sec": 100000,
    "net.ipv4.icmp_msgs_burst": 100000,
    "net.ipv6.icmp.ratelimit": 0,
    "net.ipv6.conf.all.accept_dad": 0,
    "net.ipv6.conf.default.accept_dad": 0,
    "net.ipv6.conf.all.accept_ra": 0,
    "net.ipv6.conf.default.accept_ra": 0,
}


class Topology:
    """Builds the network on entry, removes it on exit, interrupted or not."""

    _numbers = itertools.count(1)  # one process may have several, side by side

    def __init__(self, netecho, variant="nft"):
        self.netecho = netecho
        self.variant = variant  # of the iptables programs of the node under test
        self.directory = None
        self.tools = None
        # One for the whole run: the kernel still tracks connections to the addresses of earlier daemons.
        self.allocator = a.Allocator()
        self._prefix = f"{PREFIX}{os.getpid()}-{next(self._numbers)}-"
        self._created = []
        self._servers = []
        self._serial = itertools.count()

    def __enter__(self):
        remove_leftovers()
        self.directory = tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-")
        atexit.register(self.remove)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _exit_on_signal)
        try:
            self.tools = NodeTools(self.directory, self.variant)
            self._build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    # What tests use.

    def namespace(self, place):
        return self._prefix + place

    def run(self, place, *argv, **options):
        return shell.run(shell.inside(self.namespace(place), argv), **options)

    def start(self, place, *argv, **options):
        return shell.start(shell.inside(self.namespace(place), argv), **options)

    def serve(self, place, name, ports, protocols=("tcp", "udp"), addresses=()):
        """Starts a netecho server and returns once it listens."""
        ready = os.path.join(self.directory, f"ready-{name}-{next(self._serial)}")
        words = [self.netecho, "serve", "--name", name, "--ready-file", ready]
        words += [f"--{protocol}" for protocol in protocols]
        words += [word for port in ports for word in ("--port", str(port))]
        words += [word for address in addresses for word in ("--address", address)]
        server = self.start(place, *words)
        self._servers.append(server)
        deadline = time.monotonic() + 10
        while not os.path.exists(ready):
            if server.poll() is not None or time.monotonic() > deadline:
                raise shell.CommandFailed(f"netecho server {name} in {place} did not start")
            time.sleep(0.005)
        return server

    def remove(self):
        """Ends every process in our namespaces, then the namespaces. Safe to call twice."""
        for namespace in self._created:
            _remove_namespace(namespace)
        self._created.clear()
        for server in self._servers:
            server.wait()
        self._servers.clear()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    # How it is built.

    def _build(self):
        for place in ("lan", "node", "node2", "client", "outside", "neighbour"):
            self._add_namespace(place)
        for pod in a.LOCAL_PODS + a.REMOTE_PODS:
            self._add_namespace(pod.name)
        self._build_lan()
        self._build_routes()
        self._build_attacker()
        for pod in a.LOCAL_PODS:
            self._attach_pod(pod, "node")
        for pod in a.REMOTE_PODS:
            self._attach_pod(pod, "node2")
        self._build_outside()
        for pod in a.LOCAL_PODS + a.REMOTE_PODS:
            self.serve(pod.name, pod.name, [a.POD_PORT])
            self.serve(pod.name, f"{pod.name}-alt", [a.ALT_PORT])

    def _add_namespace(self, place):
        namespace = self.namespace(place)
        shell.run(["ip", "netns", "add", namespace])
        self._created.append(namespace)
        self._sysctl(place, QUIET_SYSCTLS)
        self._ip(place, "link set lo up")

    def _build_lan(self):
        self._ip("lan", "link add name switch type bridge mcast_snooping 0 forward_delay 0", "link set switch up")
        self._plug("node", "eth0", [a.NODE])
        self._plug("node", "eth1", [a.NODE_SECOND], bridged=False)
        self._plug("node2", "eth0", [a.NODE2])
        self._plug("outside", "eth0", [a.OUTSIDE])
        self._plug("neighbour", "eth0", [a.NEIGHBOUR])
        self._plug("client", "eth0", [a.EXT, a.EXT_OTHER], prefixes=(32, 128))

    def _plug(self, place, device, hosts, bridged=True, prefixes=(24, 64)):
        port = f"{place[:8]}-{device}"
        self._ip("lan", f"link add name {port} type veth peer name {device} netns {self.namespace(place)}",
                 *([f"link set {port} master switch"] if bridged else []), f"link set {port} up")
        commands = []
        for host in hosts:
            commands += [f"addr add {host.v4}/{prefixes[0]} dev {device}",
                         f"addr add {host.v6}/{prefixes[1]} dev {device} nodad"]
        self._ip(place, *commands, f"link set {device} up")

    def _build_routes(self):
        for place in ("node", "node2"):
            self._sysctl(place, {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        client_nets = {a.V4: ["203.0.113.0/24"], a.V6: ["2001:db8:113::/48"]}
        second_net = {a.V4: "192.168.1.0/24", a.V6: "fd00:192:169::/64"}
        lan_net = {a.V4: "192.168.0.0/24", a.V6: "fd00:192:168::/64"}
        local_pods = {a.V4: ["10.0.0.0/24", "10.180.0.0/24"], a.V6: ["fd00:10::/64", "fd00:10:0:180::/64"]}
        remote_pods = {a.V4: ["10.180.2.0/24"], a.V6: ["fd00:10:0:182::/64"]}
        for family in a.FAMILIES:
            node, node2 = a.NODE.ip(family), a.NODE2.ip(family)
            self._routes("node", family, client_nets[family], "dev eth0")
            self._routes("node", family, remote_pods[family], f"via {node2}")
            self._routes("node", family, ["default"], f"via {a.OUTSIDE.ip(family)}")
            self._routes("node2", family, local_pods[family] + client_nets[family] + [second_net[family]],
                         f"via {node}")
            self._routes("node2", family, ["default"], f"via {a.OUTSIDE.ip(family)}")
            self._routes("client", family, [lan_net[family]], f"dev eth0 src {a.EXT.ip(family)}")
            self._routes("client", family, remote_pods[family], f"via {node2}")
            self._routes("client", family, ["default"], f"via {node} src {a.EXT.ip(family)}")
            # Answers go back through the node: a connection tracker that sees one direction only calls
            # the rest of it invalid, and the proxy's own rules drop that.
            behind = client_nets[family] + local_pods[family] + remote_pods[family] + [second_net[family]]
            self._routes("outside", family, behind, f"via {node}")

    def _build_attacker(self):
        """Lets the neighbour send to 127.0.0.1 on the wire: it no longer has that address itself."""
        self._sysctl("neighbour", {"net.ipv4.conf.all.route_localnet": 1})
        loopback = a.LOOPBACK[a.V4]
        self._ip("neighbour", f"addr del {loopback}/8 dev lo", f"route add {loopback} via {a.NODE.v4} dev eth0")

    def _attach_pod(self, pod, node):
        """A veth with host routes on both sides; fixed neighbours, so that no test waits for ARP or NDP."""
        device = f"veth{pod.name}"
        self._ip(node, f"link add name {device} type veth peer name eth0 netns {self.namespace(pod.name)}",
                 f"link set {device} up")
        node_mac = self._mac(node, device)
        pod_mac = self._mac(pod.name, "eth0")
        self._ip(pod.name, f"addr add {pod.v4}/32 dev eth0", f"addr add {pod.v6}/128 dev eth0 nodad", "link set eth0 up")
        for family in a.FAMILIES:
            gateway, host = LINK_LOCAL_GATEWAY[family], f"{pod.ip(family)}/{32 if family == a.V4 else 128}"
            self._routes(node, family, [host], f"dev {device}")
            self._ip(node, f"neigh replace {pod.ip(family)} lladdr {pod_mac} nud permanent dev {device}")
            if family == a.V4:
                self._routes(pod.name, family, [gateway], "dev eth0 scope link")
            self._ip(pod.name, f"neigh replace {gateway} lladdr {node_mac} nud permanent dev eth0")
            self._routes(pod.name, family, ["default"], f"via {gateway} dev eth0")

    def _build_outside(self):
        self.serve("outside", a.OUTSIDE.name, [ANSWER_PORT])
        for family, tool in ((a.V4, "iptables-nft"), (a.V6, "ip6tables-nft")):
            for network in (a.SERVICE_CIDR[family], a.EXTERNAL_IPS[family], a.VIPS[family]):
                self._routes("outside", family, [network], "dev lo", kind="local")
            for protocol in ("tcp", "udp"):
                self.run("outside", tool, "-w", "-t", "nat", "-A", "PREROUTING", "-p", protocol,
                         "-j", "REDIRECT", "--to-ports", str(ANSWER_PORT))

    def _routes(self, place, family, networks, how, kind=""):
        flag = "-4" if family == a.V4 else "-6"
        commands = [f"route add {kind} {network} {how}" for network in networks]
        shell.run(["ip", flag, "-n", self.namespace(place), "-batch", "-"], stdin="\n".join(commands) + "\n")

    def _ip(self, place, *commands):
        shell.run(["ip", "-n", self.namespace(place), "-batch", "-"], stdin="\n".join(commands) + "\n")

    def _sysctl(self, place, values):
        self.run(place, "sysctl", "-qw", *(f"{name}={value}" for name, value in values.items()))

    def _mac(self, place, device):
        text = shell.run(["ip", "-n", self.namespace(place), "-o", "link", "show", "dev", device]).stdout
        return re.search(r"link/ether (\S+)", text).group(1)


def remove_leftovers():
    """Removes what is left of runs that were killed before they could do it themselves."""
    for line in shell.run(["ip", "netns", "list"]).stdout.splitlines():
        if _is_leftover(PREFIX, line):
            _remove_namespace(line.split()[0])
    for name in os.listdir(tempfile.gettempdir()):
        if _is_leftover(SCRATCH, name):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)


def _is_leftover(prefix, name):
    """Whether it bears the number of a process that is no more."""
    found = re.match(rf"{prefix}(\d+)-", name)
    return found is not None and not os.path.exists(f"/proc/{found.group(1)}")


def _remove_namespace(namespace):
    for number in shell.run(["ip", "netns", "pids", namespace], check=False).stdout.split():
        try:
            os.kill(int(number), signal.SIGKILL)
        except ProcessLookupError:
            continue
    shell.run(["ip", "netns", "del", namespace], check=False)


def _exit_on_signal(number, _frame):
    raise SystemExit(128 + number)
