# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What can stand between client and server: sluiced, other relays, rules of the kernel, nothing."""

import glob
import os
import resource
import shutil
import subprocess

from network import BenchError, run
from process import tree, own_cpu_seconds
from relay_network import CLUSTER_CIDR, SERVER_PORT, SERVICE_PORT
from subjects import iptables_path

RELAY_PORT = 3128
# Descriptors that a relay needs beside two for each connection: listeners, libraries, and two for each pipe.
SPARE_DESCRIPTORS = 1000
HAPROXY_PIPES = 400
# The same for all UDP relays: how long they keep an idle client.
UDP_SECONDS = 1


def most_connections(wanted):
    """That many, or as many as this machine lets a process relay at once."""
    return min(wanted, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - SPARE_DESCRIPTORS) // 2)


class Missing(Exception):
    """The program is not installed."""


class RelaySubject:
    """One path from the client to the server. `threads` is 0 if it has no meaning."""

    relays = True  # in a process, whose CPU time and memory count
    tcp = udp = True

    def __init__(self, network, node, directory, builddir, threads):
        self.network = network
        self.node = node
        self.threads = threads
        self.directory = os.path.join(directory, node.link)
        os.mkdir(self.directory, 0o755)
        self._builddir = builddir
        self._process = None

    @property
    def target(self):
        return self.node.service, SERVICE_PORT

    def prepare(self):
        """Once, before the first start."""

    def start(self):
        self._process = self._popen(self.command())
        try:
            self.network.wait_for(self.node, self.target, not self.tcp, self._check_alive)
        except BenchError as error:
            raise BenchError(f"{self.name}: {error}{self._last_words()}") from error

    def stop(self):
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def cpu_seconds(self):
        """Of the process and its living children."""
        found = 0.0
        for pid in tree(self.pid):
            try:
                found += own_cpu_seconds(pid)
            except OSError:
                continue  # ended meanwhile
        return found

    def waiting_seconds(self):
        """How long its threads have been ready to run without a processor."""
        found = 0
        for pid in tree(self.pid):
            for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                try:
                    with open(task, encoding="ascii") as file:
                        found += int(file.read().split()[1])
                except OSError:
                    continue  # ended meanwhile
        return found * 1e-9

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _popen(self, argv):
        with open(self._log, "ab") as log:
            return subprocess.Popen(["ip", "netns", "exec", self.node.namespace, *argv], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    @property
    def _log(self):
        return os.path.join(self.directory, "log")

    def _check_alive(self):
        if self._process.poll() is not None:
            raise BenchError(f"ended with status {self._process.returncode}")

    def _last_words(self):
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return "; its last words:\n" + "\n".join(file.read().splitlines()[-8:])

    def _write(self, name, *lines):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path


class Direct(RelaySubject):
    """Routed. The limit of the machine and of the tool."""

    name = "direct"
    relays = False

    @property
    def target(self):
        return self.node.server, SERVER_PORT

    def start(self):
        self.network.wait_for(self.node, self.target, False, lambda: None)


class Sluiced(RelaySubject):
    backend = None
    kube_proxy = ()  # more lines of KubeProxyConfiguration

    def prepare(self):
        manifests = os.path.join(self.directory, "manifests")
        plugins = os.path.join(self.directory, "plugins")
        for folder in (manifests, plugins):
            os.mkdir(folder, 0o755)
        for plugin in glob.glob(os.path.join(self._builddir, "plugins", "**", ".libs", "*.so"), recursive=True):
            shutil.copy(plugin, plugins)
        if not os.path.exists(os.path.join(plugins, self.backend + ".so")):
            raise BenchError(f"{self.name}: {self._builddir} has no plugins/{self.backend}/{self.backend}.la")
        self._write("manifests/service.yaml", *self._service())
        self._path = iptables_path(self.directory, "nft") + ":" + os.environ["PATH"]
        self._config = self._write("config.yaml", *self._configuration(manifests, plugins))

    def command(self):
        # An own /run: the lock of iptables is not shared with the host.
        return ["sh", "-c", f'mount -t tmpfs tmpfs /run && PATH="{self._path}" exec "$@"', "sh",
                os.path.join(self._builddir, "core", "sluiced"), "--config", self._config]

    def _configuration(self, manifests, plugins):
        return [
            "apiVersion: kubeproxy.config.k8s.io/v1alpha1", "kind: KubeProxyConfiguration",
            f"mode: {self.backend}", f"clusterCIDR: {CLUSTER_CIDR}", "hostnameOverride: node",
            "conntrack: {maxPerCore: 0}", *self.kube_proxy,
            "---",
            "apiVersion: sluice.dev/v1alpha1", "kind: SluiceConfiguration", f"manifests: {manifests}",
            f"stateDir: {self.directory}/state", f"pluginDirs: [{plugins}]", *self._more()]

    def _more(self):
        return []

    def _service(self):
        ports = [(protocol, f"{{name: {protocol.lower()}, protocol: {protocol}, port: ") for protocol in ("TCP", "UDP")]
        return [
            "apiVersion: v1", "kind: Service", "metadata: {name: echo, namespace: bench}", "spec:",
            f"  clusterIP: {self.node.service}", f"  clusterIPs: [{self.node.service}]", "  ipFamilies: [IPv4]",
            "  ports:", *(f"  - {begin}{SERVICE_PORT}, targetPort: {SERVER_PORT}}}" for _, begin in ports),
            "---",
            "apiVersion: discovery.k8s.io/v1", "kind: EndpointSlice",
            "metadata: {name: echo, namespace: bench, labels: {kubernetes.io/service-name: echo}}",
            "addressType: IPv4", "ports:", *(f"- {begin}{SERVER_PORT}}}" for _, begin in ports),
            "endpoints:", f"- addresses: [{self.node.server}]"]


class KernelDnat(Sluiced):
    """Rules of backend iptables: what the kernel does alone."""

    name = "kernel DNAT"
    backend = "iptables"
    relays = False


class Userspace(Sluiced):
    name = "sluiced userspace"
    backend = "userspace"

    def _more(self):
        return [f"udpTimeout: {UDP_SECONDS}s", "backends:", "  userspace:", f"    threads: {self.threads}"]


class UserspaceMasqueraded(Userspace):
    """The server sees the node, as behind a relay that does not keep client addresses."""

    name = "sluiced userspace masqueraded"
    kube_proxy = ("iptables: {masqueradeAll: true}",)


class Redirected(RelaySubject):
    """Another relay behind the same rule as ours."""

    program = None

    def prepare(self):
        self._program = shutil.which(self.program)
        if self._program is None:
            raise Missing(f"{self.program} is not installed")
        for protocol in [word for word in ("tcp", "udp") if getattr(self, word)]:
            run("ip", "netns", "exec", self.node.namespace, "iptables-nft", "-t", "nat", "-A", "PREROUTING", "-d",
                self.node.service + "/32", "-p", protocol, "--dport", str(SERVICE_PORT), "-j", "REDIRECT",
                "--to-ports", str(RELAY_PORT))


class HaProxy(Redirected):
    name = "HAProxy"
    program = "haproxy"
    udp = False
    options = ("option splice-request", "option splice-response")
    server_words = ""

    def command(self):
        return [self._program, "-db", "-f", self._write(
            "haproxy.cfg", "global", f"  maxconn {most_connections(30_000)}",
            f"  maxpipes {HAPROXY_PIPES}", f"  nbthread {self.threads}", "defaults", "  mode tcp",
            *("  " + option for option in self.options), "  timeout connect 5s", "  timeout client 1h",
            "  timeout server 1h", "listen relay", f"  bind 0.0.0.0:{RELAY_PORT}",
            f"  server endpoint {self.node.server}:{SERVER_PORT}{self.server_words}")]


class HaProxyTransparent(HaProxy):
    """The server sees the client. What the server sends to clients goes to the relay's sockets, by the cheapest rule."""

    name = "HAProxy transparent"
    server_words = " source 0.0.0.0 usesrc clientip"

    def prepare(self):
        super().prepare()
        here = self.node.namespace
        run("ip", "netns", "exec", here, "iptables-nft", "-t", "mangle", "-A", "PREROUTING", "-i", "server", "-p", "tcp",
            "--sport", str(SERVER_PORT), "-j", "MARK", "--set-mark", "1")
        run("ip", "-n", here, "rule", "add", "fwmark", "1", "lookup", "100")
        run("ip", "-n", here, "route", "add", "local", "default", "dev", "lo", "table", "100")


class HaProxyAuto(HaProxy):
    name = "HAProxy splice-auto"
    options = ("option splice-auto",)


class HaProxyCopying(HaProxy):
    name = "HAProxy without splice"
    options = ()


class Nginx(Redirected):
    name = "nginx stream"
    program = "nginx"
    tcp = False
    module = "/usr/lib/nginx/modules/ngx_stream_module.so"

    def prepare(self):
        if not os.path.exists(self.module):
            raise Missing("libnginx-mod-stream is not installed")
        super().prepare()

    def command(self):
        return [self._program, "-p", self.directory, "-c", self._write(
            "nginx.conf", f"load_module {self.module};", "daemon off;", "user root;", f"pid {self.directory}/pid;",
            f"error_log {self.directory}/error.log;", f"worker_processes {self.threads};",
            f"events {{ worker_connections {most_connections(30_000)}; }}", "stream {", "  server {",
            f"    listen {RELAY_PORT} udp reuseport;", f"    proxy_pass {self.node.server}:{SERVER_PORT};",
            f"    proxy_timeout {UDP_SECONDS}s;", "  }", "}")]


class Socat(Redirected):
    name = "socat"
    program = "socat"
    tcp = False

    def command(self):
        return [self._program, f"-T{UDP_SECONDS}", f"UDP4-LISTEN:{RELAY_PORT},fork,reuseaddr",
                f"UDP4:{self.node.server}:{SERVER_PORT}"]


# In the order of their turns: compared programs are adjacent.
ALL = [(Direct, 0), (KernelDnat, 0), (Userspace, 1), (HaProxyTransparent, 1), (UserspaceMasqueraded, 1), (HaProxy, 1),
       (Userspace, 2), (HaProxyTransparent, 2), (UserspaceMasqueraded, 2), (HaProxy, 2), (HaProxyAuto, 1), (HaProxyCopying, 1),
       (Nginx, 1), (Nginx, 2), (Socat, 0)]
FEW = [(Direct, 0), (KernelDnat, 0), (Userspace, 2), (HaProxy, 2), (Nginx, 1), (Socat, 0)]
