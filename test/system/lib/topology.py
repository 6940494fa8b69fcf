# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The test network: a node under test, a second node, pods, a client and the world outside.

                       lan (a switch)
      ┌───────────┬───────┴────┬─────────────┬──────────────┐
    node        node2        client        outside       neighbour
   eth0 eth1   (E2, E3)   203.0.113.2   default route   attacks 127.0.0.1
  (POD, E1, E4)

Pods are connected to their node by a veth with a host route, as with most CNI plugins. `outside` is the default
gateway of the node and answers on all addresses and ports. So a packet that the node does not translate is
*answered* ("ok outside"), in contrast to a dropped one (timeout) and a rejected one (refused).

All namespaces have a prefix of this process; nothing else on the host is changed.
"""

import atexit
import itertools
import os
import re
import shutil
import signal
import tempfile
import threading

from . import addresses as a
from . import askers, netns_http, shell
from .node_tools import NodeTools

PREFIX = "sluice-"
HOST_PATH = os.environ["PATH"]  # at the start: changes by a case have no effect on the node
SCRATCH = "sluice-system-"
ANSWER_PORT = 9
DEFAULT = {a.V4: "0.0.0.0/0", a.V6: "::/0"}
LINK_LOCAL_GATEWAY = {a.V4: "169.254.1.1", a.V6: "fe80::1"}
QUIET_SYSCTLS = {
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    # With rate limits the kernel would omit ICMP errors, and rejections would look like drops.
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
    """Creates the network on entry and removes it on exit, also after a signal."""

    _numbers = itertools.count(1)  # one process may have several networks at the same time

    def __init__(self, netecho, variant="nft"):
        """`variant` of the iptables programs of the node under test; None if only some cases use them."""
        self.netecho = netecho
        self.variant = variant
        self.directory = None
        self._tools = None
        self.pristine = None  # snapshot of the node before the first daemon, see lib/snapshot.py
        # One for the whole run, because conntrack still has entries for addresses of earlier daemons.
        self.allocator = a.Allocator()
        self._prefix = f"{PREFIX}{os.getpid()}-{next(self._numbers)}-"
        self._created = []
        self._commands = {}
        self._servers = []
        self._askers = askers.Askers(self._start_asker)
        self._serial = itertools.count()

    def __enter__(self):
        remove_leftovers()
        self.directory = tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-")
        atexit.register(self.remove)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _exit_on_signal)
        try:
            if self.variant:
                self._tools = NodeTools(self.directory, self.variant)
            self._build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    # Interface for tests.

    @property
    def tools(self):
        """The iptables programs of the node; raises node_tools.Missing if they are not installed."""
        if self._tools is None:
            self._tools = NodeTools(self.directory, "nft")
        return self._tools

    @property
    def search_path(self):
        """PATH of the node."""
        return (self.tools.path + ":" if self.variant else "") + HOST_PATH

    def namespace(self, place):
        return self._prefix + place

    def run(self, place, *argv, **options):
        return netns_http.made_in(self.namespace(place), lambda: shell.run(list(argv), **options))

    def start(self, place, *argv, **options):
        return netns_http.made_in(self.namespace(place), lambda: shell.start(list(argv), **options))

    def ask(self, place, *words, timeout=60):
        """The result lines of `netecho ask` with these arguments."""
        return self._askers.ask(place, words, timeout)

    def serve(self, place, name, ports, protocols=("tcp", "udp"), addresses=()):
        """Starts a netecho server and returns once it is listening."""
        ready = os.path.join(self.directory, f"ready-{name}-{next(self._serial)}")
        words = [self.netecho, "serve", "--name", name, "--ready-file", ready]
        words += [f"--{protocol}" for protocol in protocols]
        words += [word for port in ports for word in ("--port", str(port))]
        words += [word for address in addresses for word in ("--address", address)]
        server = self.start(place, *words)
        self._servers.append(server)
        shell.wait_ready(server, ready, f"netecho server {name} in {place}")
        return server

    def remove(self):
        """Kills all processes in the namespaces and removes the namespaces. Safe to call twice."""
        self._askers.end()
        _remove_namespaces(self._created)
        self._created.clear()
        for server in self._servers:
            server.wait()
        self._servers.clear()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    # Construction uses few processes, because starting programs may take most of the time.

    def _build(self):
        places = ["lan", "node", "node2", "client", "outside", "neighbour"]
        places += [pod.name for pod in a.LOCAL_PODS + a.REMOTE_PODS]
        self._add_namespaces(places)
        self._commands = {place: ["link set lo up"] for place in places}  # commands of `ip`, in order
        self._plan_lan()
        for pod in a.LOCAL_PODS:
            self._plan_pod(pod, "node")
        for pod in a.REMOTE_PODS:
            self._plan_pod(pod, "node2")
        self._plan_routes()
        for place in places:  # hosts that create links come before those that receive the peer
            shell.run(["ip", "-n", self.namespace(place), "-batch", "-"], stdin="\n".join(self._commands[place]) + "\n")
        self._build_outside()
        pods = a.LOCAL_PODS + a.REMOTE_PODS
        self._serve_all([("outside", a.OUTSIDE.name, ANSWER_PORT), *((pod.name, pod.name, a.POD_PORT) for pod in pods),
                         *((pod.name, f"{pod.name}-alt", a.ALT_PORT) for pod in pods)])

    def _add_namespaces(self, places):
        names = [self.namespace(place) for place in places]
        self._created += names
        shell.run(["ip", "-batch", "-"], stdin="".join(f"netns add {name}\n" for name in names))
        forwarding = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1}
        more = {"node": forwarding, "node2": forwarding, "neighbour": {"net.ipv4.conf.all.route_localnet": 1}}
        for place, name in zip(places, names):
            netns_http.made_in(name, lambda place=place: _set_sysctls(QUIET_SYSCTLS | more.get(place, {})))

    def _plan_lan(self):
        self._commands["lan"] += ["link add name switch type bridge mcast_snooping 0 forward_delay 0", "link set switch up"]
        self._plug("node", "eth0", [a.NODE])
        self._plug("node", "eth1", [a.NODE_SECOND], bridged=False)
        self._plug("node2", "eth0", [a.NODE2])
        self._plug("outside", "eth0", [a.OUTSIDE])
        self._plug("neighbour", "eth0", [a.NEIGHBOUR])
        self._plug("client", "eth0", [a.EXT, a.EXT_OTHER], prefixes=(32, 128))

    def _plug(self, place, device, hosts, bridged=True, prefixes=(24, 64)):
        port = f"{place[:8]}-{device}"
        self._commands["lan"] += [f"link add name {port} type veth peer name {device} netns {self.namespace(place)}",
                                  *([f"link set {port} master switch"] if bridged else []), f"link set {port} up"]
        for host in hosts:
            self._commands[place] += [f"addr add {host.v4}/{prefixes[0]} dev {device}",
                                      f"addr add {host.v6}/{prefixes[1]} dev {device} nodad"]
        self._commands[place].append(f"link set {device} up")

    def _plan_routes(self):
        client_nets = {a.V4: ["203.0.113.0/24"], a.V6: ["2001:db8:113::/48"]}
        second_net = {a.V4: "192.168.1.0/24", a.V6: "fd00:192:169::/64"}
        lan_net = {a.V4: "192.168.0.0/24", a.V6: "fd00:192:168::/64"}
        local_pods = {a.V4: ["10.0.0.0/24", "10.180.0.0/24"], a.V6: ["fd00:10::/64", "fd00:10:0:180::/64"]}
        remote_pods = {a.V4: ["10.180.2.0/24"], a.V6: ["fd00:10:0:182::/64"]}
        for family in a.FAMILIES:
            node, node2, default = a.NODE.ip(family), a.NODE2.ip(family), DEFAULT[family]
            self._routes("node", client_nets[family], "dev eth0")
            self._routes("node", remote_pods[family], f"via {node2}")
            self._routes("node", [default], f"via {a.OUTSIDE.ip(family)}")
            self._routes("node2", local_pods[family] + client_nets[family] + [second_net[family]], f"via {node}")
            self._routes("node2", [default], f"via {a.OUTSIDE.ip(family)}")
            self._routes("client", [lan_net[family]], f"dev eth0 src {a.EXT.ip(family)}")
            self._routes("client", remote_pods[family], f"via {node2}")
            self._routes("client", [default], f"via {node} src {a.EXT.ip(family)}")
            # Answers must go back through the node: with only one direction of a flow, conntrack classifies packets
            # as INVALID, and rules of the proxy drop them.
            behind = client_nets[family] + local_pods[family] + remote_pods[family] + [second_net[family]]
            self._routes("outside", behind, f"via {node}")
            self._routes("outside", [a.SERVICE_CIDR[family], a.EXTERNAL_IPS[family], a.VIPS[family]], "dev lo", kind="local")
        # The neighbour has no local 127.0.0.1, so it can send packets with that destination to the node.
        loopback = a.LOOPBACK[a.V4]
        self._commands["neighbour"] += [f"addr del {loopback}/8 dev lo", f"route add {loopback} via {a.NODE.v4} dev eth0"]

    def _plan_pod(self, pod, node):
        """A veth with host routes on both sides, and permanent neighbour entries to avoid ARP and NDP delays."""
        device = f"veth{pod.name}"
        number = (a.LOCAL_PODS + a.REMOTE_PODS).index(pod)
        node_mac, pod_mac = f"02:00:00:00:01:{number:02x}", f"02:00:00:00:02:{number:02x}"
        here, there = self._commands[node], self._commands[pod.name]
        here += [f"link add name {device} address {node_mac} type veth peer name eth0 address {pod_mac} "
                 f"netns {self.namespace(pod.name)}", f"link set {device} up"]
        there += [f"addr add {pod.v4}/32 dev eth0", f"addr add {pod.v6}/128 dev eth0 nodad", "link set eth0 up"]
        for family in a.FAMILIES:
            gateway = LINK_LOCAL_GATEWAY[family]
            here += [f"route add {pod.ip(family)}/{32 if family == a.V4 else 128} dev {device}",
                     f"neigh replace {pod.ip(family)} lladdr {pod_mac} nud permanent dev {device}"]
            if family == a.V4:
                there.append(f"route add {gateway} dev eth0 scope link")
            there += [f"neigh replace {gateway} lladdr {node_mac} nud permanent dev eth0",
                      f"route add {DEFAULT[family]} via {gateway} dev eth0"]

    def _build_outside(self):
        self.run("outside", "nft", "-f", "-", stdin="".join(
            f"table {family} answer {{ chain prerouting {{ type nat hook prerouting priority dstnat; "
            f"meta l4proto {{ tcp, udp }} redirect to :{ANSWER_PORT}; }}; }}\n" for family in ("ip", "ip6")))

    def _start_asker(self, place):
        return netns_http.made_in(self.namespace(place), lambda: askers.start(self.netecho))

    def _serve_all(self, servers):
        """Like `serve`, for several servers in parallel."""
        threads = [threading.Thread(target=self.serve, args=(place, name, [port])) for place, name, port in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(self._servers) != len(servers) or any(server.poll() is not None for server in self._servers):
            raise shell.CommandFailed("a netecho server did not start")

    def _routes(self, place, networks, how, kind=""):
        self._commands[place] += [f"route add {kind} {network} {how}" for network in networks]


def _set_sysctls(values):
    """Sets sysctls in the network namespace of this thread."""
    for name, value in values.items():
        with open("/proc/sys/" + name.replace(".", "/"), "w", encoding="ascii") as file:
            file.write(str(value))


def remove_leftovers():
    """Removes namespaces and files of runs that were killed. A virtual machine (test/vm) has none. It sees the files of its host, but
    not the processes that use them, and would remove them."""
    if os.environ.get("SLUICE_VM"):
        return
    names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    _remove_namespaces([name for name in names if _is_leftover(PREFIX, name)])
    for name in os.listdir(tempfile.gettempdir()):
        if _is_leftover(SCRATCH, name):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)


def _is_leftover(prefix, name):
    """Whether the name contains the id of a process that no longer exists."""
    found = re.match(rf"{prefix}(\d+)-", name)
    return found is not None and not os.path.exists(f"/proc/{found.group(1)}")


def _remove_namespaces(names):
    """Kills all processes in the namespaces, then removes the namespaces."""
    there = [name for name in names if os.path.exists(f"/run/netns/{name}")]
    if not there:
        return
    inodes = {os.stat(f"/run/netns/{name}").st_ino for name in there}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{number}/ns/net").st_ino in inodes:
                os.kill(int(number), signal.SIGKILL)
        except (FileNotFoundError, PermissionError, ProcessLookupError):  # gone; or not ours, in a container
            continue
    shell.run(["ip", "-force", "-batch", "-"], stdin="".join(f"netns del {name}\n" for name in there), check=False)


def _exit_on_signal(number, _frame):
    raise SystemExit(128 + number)
