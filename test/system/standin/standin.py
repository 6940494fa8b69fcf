#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Stands in for sluiced in the tests of the test harness.

It takes the daemon's flags and writes the reference's iptables rules, completely and by polling: good enough to
show that every case passes on correct rules. SLUICE_STANDIN_OMIT, a regular expression, omits the rules that it
matches: that shows that the cases fail on wrong ones. SLUICE_STANDIN_MISBEHAVE names one wrong way to write correct rules:
  eager           writes before everything was listed
  flush-first     flushes chains before it writes them again
  never-looks     does not notice when its rules are gone
  forgetful       does not retry failed writes
  keeps-stale     leaves the chains of Services that are gone
  follows-sysctl  reads be_liberal at each write and not at the start
  never-large     writes comments however many endpoints there are
  rewrites        writes everything at a start
  hasty           does not pause between two syncs
  always-random   uses --random-fully with every version
  strict-ranges   closes an address whose source ranges are all of the other family
  any-mode        serves addresses whose ipMode is Proxy
  no-memory       checks affinity and never writes it
  endless-memory  never expires a client
  one-memory      keeps affinity by endpoint, for all Services together
"""

import argparse
import http.server
import ipaddress
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import rules
import sources
from rules import MISBEHAVIOUR

POLL_SECONDS = 0.03
CHECK_SECONDS = 1.0
LARGE = 1000
LIBERAL = "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"
stopping = threading.Event()
PER_SERVICE = re.compile(r"^:(KUBE-(?:SVC|SVL|EXT|FW|SEP)-\w+)", re.M)


def options():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--manifests")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--hostname-override")
    parser.add_argument("--proxy-mode", choices=["iptables"])
    parser.add_argument("--cluster-cidr", default="")
    parser.add_argument("--masquerade-all", action="store_true")
    parser.add_argument("--detect-local-mode", default="ClusterCIDR")
    parser.add_argument("--pod-bridge-interface")
    parser.add_argument("--pod-interface-name-prefix")
    parser.add_argument("--iptables-localhost-nodeports", default="true")
    parser.add_argument("--nodeport-addresses", default="")
    parser.add_argument("--state-dir")
    parser.add_argument("--cleanup", action="store_true")
    parser.add_argument("--iptables-min-sync-period", type=lambda text: float(text.rstrip("s")), default=0)
    for ignored in ("--plugin-dir", "--v", "--iptables-sync-period"):
        parser.add_argument(ignored)
    return parser.parse_args()


class Config:
    def __init__(self, given):
        self.given = given
        self.node_name = given.hostname_override
        self.masquerade_all = given.masquerade_all
        self.zone = ""
        self.node_ips = []
        self.random_fully = tuple(map(int, re.search(r"v(\d+)\.(\d+)\.(\d+)", run("iptables", "--version").stdout)
                                      .groups())) >= (1, 6, 2) or MISBEHAVIOUR == "always-random"
        self._liberal_at_start = is_liberal()
        self._omit = os.environ.get("SLUICE_STANDIN_OMIT")
        self._logged = set()

    def use_node(self, nodes):
        for node in nodes:
            if node["metadata"]["name"] == self.node_name:
                self.zone = (node["metadata"].get("labels") or {}).get("topology.kubernetes.io/zone", "")
                self.node_ips = [entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP"]

    def liberal(self):
        return is_liberal() if MISBEHAVIOUR == "follows-sysctl" else self._liberal_at_start

    def detector(self, family):
        if self.given.detect_local_mode == "BridgeInterface":
            return f"-i {self.given.pod_bridge_interface}"
        if self.given.detect_local_mode == "InterfaceNamePrefix":
            return f"-i {self.given.pod_interface_name_prefix}+"
        cidrs = [one for one in self.given.cluster_cidr.split(",") if one and (":" in one) == (family == 6)]
        return f"-s {cidrs[0]}" if cidrs else None

    def node_port_ranges(self, family):
        """None means every address."""
        text = self.given.nodeport_addresses
        listed = [str(ipaddress.ip_network(ip)) for ip in self.node_ips] if text == "primary" else text.split(",")
        ranges = [one for one in listed if one and (":" in one) == (family == 6)]
        return None if not ranges or any(one.endswith("/0") for one in ranges) else ranges

    def localhost_node_ports(self):
        ranges = self.node_port_ranges(4)
        return self.given.iptables_localhost_nodeports == "true" and \
            (ranges is None or any(one.startswith("127.") for one in ranges))

    def is_omitted(self, line):
        return self._omit is not None and re.search(self._omit, line) is not None

    def log(self, line):
        if line not in self._logged:
            self._logged.add(line)
            print(line, file=sys.stderr, flush=True)


def is_liberal():
    with open(LIBERAL, encoding="ascii") as file:
        return file.read().strip() != "0"


def tool(family, suffix=""):
    return ("iptables" if family == 4 else "ip6tables") + suffix


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, **more)


def restore(family, text):
    done = run(tool(family, "-restore"), "-w", "--noflush", input=text)
    if done.returncode != 0:
        print(f"restore failed: {done.stderr}", file=sys.stderr, flush=True)
    return done.returncode == 0


def saved_chains(family):
    return set(PER_SERVICE.findall(run(tool(family, "-save"), "-t", "nat").stdout))


def ensure_jumps(family):
    for table, chain, match, target in rules.JUMPS:
        rule = [chain, "-t", table, *match.split(), "-j", target]
        if run(tool(family), "-w", "-C", *rule).returncode != 0:
            run(tool(family), "-w", "-I", *rule)


def leftovers(family, text):
    """The chains of deleted Services."""
    return [] if MISBEHAVIOUR == "keeps-stale" else sorted(saved_chains(family) - set(PER_SERVICE.findall(text)))


def write(family, text):
    """Returns whether the kernel accepted it."""
    stale = leftovers(family, text)
    if MISBEHAVIOUR == "flush-first":
        restore(family, "*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n")
    ending = "".join(f"-X {name}\n" for name in stale) + "COMMIT\n"
    text = text.replace("*nat\n", "*nat\n" + "".join(f":{name} - [0:0]\n" for name in stale))
    if not restore(family, text[:-len("COMMIT\n")] + ending):
        return MISBEHAVIOUR == "forgetful"
    ensure_jumps(family)
    return True


def intact(family):
    if MISBEHAVIOUR == "never-looks":
        return True
    return "KUBE-FORWARD" in run(tool(family), "-w", "-S", "FORWARD").stdout and \
        "ESTABLISHED" in run(tool(family), "-w", "-S", "KUBE-FORWARD").stdout and \
        "KUBE-POSTROUTING" in run(tool(family), "-w", "-t", "nat", "-S", "POSTROUTING").stdout and \
        "MASQUERADE" in run(tool(family), "-w", "-t", "nat", "-S", "KUBE-POSTROUTING").stdout


def cleanup():
    for family in (4, 6):
        for table, chain, match, target in rules.JUMPS:
            run(tool(family), "-w", "-D", chain, "-t", table, *match.split(), "-j", target)
        parts = []
        for table, static in rules.STATIC_CHAINS.items():
            existing = set(re.findall(r"^:(\S+)", run(tool(family, "-save"), "-t", table).stdout, re.M))
            gone = sorted(set(static) & existing) + (sorted(saved_chains(family)) if table == "nat" else [])
            parts += [f"*{table}", *(f":{name} - [0:0]" for name in gone), *(f"-X {name}" for name in gone), "COMMIT"]
        restore(family, "\n".join(parts) + "\n")


def node_addresses(family):
    text = run("ip", "-o", f"-{family}", "addr", "show", "scope", "global").stdout + \
        run("ip", "-o", f"-{family}", "addr", "show", "dev", "lo").stdout
    return sorted({found for found in re.findall(r"inet6? ([0-9a-f.:]+)", text) if not found.startswith("fe80")})


class HealthPorts:
    def __init__(self):
        self._servers = {}
        self.ready = {}

    def update(self, ready):
        self.ready = ready
        for number in set(ready) - set(self._servers):
            self._servers[number] = _HealthServer(("::", number), self._handler(number))
            threading.Thread(target=self._servers[number].serve_forever, daemon=True).start()
        for number in set(self._servers) - set(ready):
            server = self._servers.pop(number)
            server.shutdown()
            server.server_close()

    def _handler(self, number):
        ports = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                count = len(ports.ready.get(number, ()))
                self.send_response(200 if count else 503)
                self.end_headers()
                self.wfile.write(json.dumps({"localEndpoints": count}).encode())

            def log_message(self, *_):
                pass

        return Handler


class _HealthServer(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6  # answers both families


def texts(config, found):
    """One restore text per family, and the health ports of both."""
    by_service = {}
    for one in found["EndpointSlice"]:
        name = (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
        by_service.setdefault((one["metadata"]["namespace"], name), []).append(one)
    made, health = {}, {}
    for family in (4, 6):
        collected = rules.Rules(config, family, node_addresses(family))
        collected.endpoint_comments = MISBEHAVIOUR == "never-large" or count_endpoints(found, family) <= LARGE
        collected.begin()
        for service in found["Service"]:
            key = service["metadata"]["namespace"], service["metadata"]["name"]
            collected.service(service, by_service.get(key, []))
        collected.finish()
        made[family] = collected.text()
        for number, ready in collected.health_ports.items():
            health.setdefault(number, set()).update(ready)
    return made, health


def count_endpoints(found, family):
    return sum(len(one["endpoints"]) * len(one["ports"]) for one in found["EndpointSlice"]
               if one.get("addressType") == f"IPv{family}" and one.get("ports") and one.get("endpoints"))


def serve(config, source, state_path):
    written = {}
    if os.path.exists(state_path) and MISBEHAVIOUR != "rewrites":
        with open(state_path, encoding="utf-8") as file:
            written = {int(family): text for family, text in json.load(file).items()}
    health, checked, wrote = HealthPorts(), 0, 0
    pause = 0 if MISBEHAVIOUR == "hasty" else config.given.iptables_min_sync_period
    if config.localhost_node_ports():
        run("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
    while not stopping.is_set():
        found = source.read() if time.monotonic() >= wrote + pause else None
        if found is not None:
            first = not checked
            config.use_node(found["Node"])
            made, ports = texts(config, found)
            health.update(ports)
            look = time.monotonic() - checked > CHECK_SECONDS
            changed = [family for family in made if made[family] != written.get(family) or (look and not intact(family)) or
                       (first and leftovers(family, made[family]))]
            done = [family for family in changed if write(family, made[family])]
            if look:
                checked = time.monotonic()
            if done:
                wrote = time.monotonic()
                written.update({family: made[family] for family in done})
                with open(state_path + ".new", "w", encoding="utf-8") as file:
                    json.dump(written, file)
                os.rename(state_path + ".new", state_path)
        stopping.wait(POLL_SECONDS)


def main():
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    if given.cleanup:
        cleanup()
        return 0
    config = Config(given)
    try:
        source = sources.Directory(given.manifests) if given.manifests else \
            sources.ApiServer(given.kubeconfig, accept_part=MISBEHAVIOUR == "eager")
    except OSError as error:
        print(f"kubeconfig {given.kubeconfig}: {error.strerror}", file=sys.stderr)
        return 1
    serve(config, source, os.path.join(given.state_dir, "written.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
