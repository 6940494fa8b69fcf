# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A clean Debian with systemd for tests of packages: apt, the service, a pod and connections to it."""

import json
import os
import subprocess

from outcome import require, stretched, succeed, wait_for
from lib.probe import attempts_in

NOT_SYNCED = 3  # exit status of sluicectl status
UNIT = "sluiced.service"
SOURCE = "/etc/apt/sources.list.d/local.list"
MANIFEST = "/etc/sluice/manifests/web.yaml"
SERVICE_IP, POD_IP, NODE_IP = "10.96.0.80", "10.1.0.11", "10.1.0.1"
COUNT_FILE = "/srv/attempts"


class Machine:
    """A system of container.py; tests derive from this."""

    def __init__(self, container):
        self.container = container

    def run(self, *argv, **options):
        return succeed(self.container.run(*argv, **options))

    def path(self, name):
        return self.container.root / name.lstrip("/")

    def unit(self, name):
        return self.run("systemctl", "show", "--value", "-p", name, UNIT).strip()

    def wait_active(self):
        wait_for(lambda: self.unit("ActiveState") == "active",
                 lambda: "active\n" + self.container.run("journalctl", "-u", UNIT, "-n", "30", "--no-pager").stdout)

    def rules(self):
        return self.run("iptables-save")

    def answers(self):
        done = self.container.run("netecho", "ask", "tcp", SERVICE_IP, "80", "--count", "5", "--summary")
        return done.stdout + done.stderr

    def require_served(self):
        wait_for(lambda: "5 ok pod" in self.answers(), lambda: "an answer at the Service\n" + self.answers() + self.rules())

    def journal(self):
        return self.run("journalctl", "-u", UNIT, "--no-pager", "-o", "cat")

    def update(self):
        """Makes apt read the list of the packages under test."""
        self.apt("update", "-o", f"Dir::Etc::SourceList={SOURCE}", "-o", "Dir::Etc::SourceParts=-")

    def apt(self, *argv):
        """Returns the output of apt, which uses the packages under test and its cache. dpkg keeps configuration files
        changed by the operator, which is its default answer."""
        return self.run("apt-get", "-y", "-o", "APT::Get::List-Cleanup=0", "-o", "Dpkg::Use-Pty=0", "-o",
                        "Dpkg::Options::=--force-confold", *argv, timeout=300)

    def installed(self):
        said = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", "sluice*")
        return {line.split()[-1] for line in said.splitlines() if line.startswith("ii")}

    def hammered(self, what, most_failures=0):
        """Runs `what` while connections are made; at most `most_failures` may fail."""
        counted = self.path(COUNT_FILE)
        counted.unlink(missing_ok=True)

        def wait_attempts(count):
            enough = attempts_in(counted) + count
            wait_for(lambda: attempts_in(counted) >= enough, lambda: f"{enough} attempts, only {attempts_in(counted)}")

        command = self.container.command("netecho", "hammer", "tcp", SERVICE_IP, "80", "--seconds", "3600", "--timeout",
                                         f"{stretched(5000):.0f}", "--count-file", COUNT_FILE)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            wait_attempts(100)
            what()
            wait_attempts(100)
        finally:
            self.container.run("pkill", "-f", "^netecho hammer")
            process.wait()
        tally = json.loads(process.stdout.read())
        require(tally["failed"] <= most_failures and tally["ok"] > 20, tally)

    def make_pod(self):
        for line in ("ip netns add pod", "ip link add veth0 type veth peer name eth0 netns pod",
                     f"ip addr add {NODE_IP}/24 dev veth0", "ip link set veth0 up", "ip link set lo up",
                     f"ip -n pod addr add {POD_IP}/24 dev eth0", "ip -n pod link set eth0 up", "ip -n pod link set lo up",
                     f"ip -n pod route add default via {NODE_IP}", f"ip route add default via {POD_IP}"):
            self.run(*line.split())
        # A SYN sent before there are rules leaves a conntrack entry without NAT, which later connections from that port use.
        self.run("sh", "-c", "echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_sent")
        self.container.start("ip", "netns", "exec", "pod", "netecho", "serve", "--name", "pod", "--port", "8080", "--tcp")

    def status(self):
        done = self.container.run("sluicectl", "status", "-o", "json")
        require(done.returncode in (0, NOT_SYNCED), done)
        return json.loads(done.stdout)

    def known(self):
        """Our packages that are installed or have configuration files left."""
        said = self.container.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", "sluice*").stdout
        return sorted(line.split()[-1] for line in said.splitlines() if not line.startswith("un"))


def exchange(file, text):
    """Replaces the content atomically, because the daemon watches the file, and half of it may be valid, too."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def without_counters(rules):
    return [line for line in rules.splitlines() if not line.startswith(("#", ":"))]


def manifest():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "demo"},
               "spec": {"clusterIP": SERVICE_IP, "clusterIPs": [SERVICE_IP], "ipFamilies": ["IPv4"],
                        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}]}}
    endpoints = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                 "metadata": {"name": "web-1", "namespace": "demo", "labels": {"kubernetes.io/service-name": "web"}},
                 "addressType": "IPv4", "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
                 "endpoints": [{"addresses": [POD_IP]}]}
    return json.dumps(service) + "\n---\n" + json.dumps(endpoints) + "\n"
