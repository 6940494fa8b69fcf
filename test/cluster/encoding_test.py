#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Two daemons against one kube-apiserver: one reads protobuf, the other JSON. Both have the same rules. Prints TAP."""

import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fleet_network, fleet_sandbox, pace, shell  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.fleet import Fleet  # noqa: E402
from lib.fleet_members import SluiceMember  # noqa: E402
from lib.fleet_server import Server  # noqa: E402
from lib.fleet_services import RENAMED, Services  # noqa: E402
from lib.kube_programs import VARIABLE, KubePrograms  # noqa: E402
from lib.tap import FAIL, PASS, SKIP, Results  # noqa: E402

JSON = "application/json"
SERVICES, ENDPOINTS, RATE, CHURN_SECONDS = 200, 3, 20, 5
SMALLER = 0.7  # protobuf is this fraction of JSON, or less
# What differs between two nodes: handles, counters, and the numbers that session affinity gives to service ports.
OWN = re.compile(r"# handle \d+|packets \d+ bytes \d+|expires \S+|\b[0-9a-f]+:\d+\b")
OBJECTS = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
# Fields that the Services of a fleet do not have.
VARIED = [
    {"metadata": {"name": "varied-affinity"}, "spec": {
        "ports": [{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "web", "port": 80}], "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}}, "externalIPs": ["198.51.100.7"]}},
    {"metadata": {"name": "varied-balancer"}, "spec": {
        "type": "LoadBalancer", "ports": [{"port": 443, "nodePort": 30443}], "externalTrafficPolicy": "Local",
        "internalTrafficPolicy": "Local", "loadBalancerSourceRanges": ["192.0.2.0/24"], "healthCheckNodePort": 30999}},
    {"metadata": {"name": "varied-outside"}, "spec": {"type": "ExternalName", "externalName": "example.com"}},
]
INGRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.4", "ipMode": "VIP"},
                                                  {"ip": "203.0.113.5", "ipMode": "Proxy"}]}}}
SLICE = {"metadata": {"name": "varied-affinity-1", "labels": {"kubernetes.io/service-name": "varied-affinity"}},
         "addressType": "IPv4", "ports": [{"name": "dns", "protocol": "UDP", "port": 5353}, {"name": "web", "port": 8080}],
         "endpoints": [{"addresses": ["10.200.0.1"], "conditions": {"ready": True}},
                       {"addresses": ["10.200.0.2"], "conditions": {"ready": False}},
                       {"addresses": ["10.200.0.3"], "conditions": {"ready": False, "serving": True, "terminating": True}}]}


def create_varied(api):
    for one in VARIED:
        api.must("POST", OBJECTS, one)
    api.must("PATCH", f"{OBJECTS}/varied-balancer/status", INGRESS, "application/merge-patch+json")
    api.must("POST", SLICES, SLICE)


def rules(member):
    """The rules of a member, without what is its own."""
    text = shell.run(shell.inside(fleet_network.namespace(member.number), ["nft", "-n", "list", "ruleset"])).stdout
    return sorted(OWN.sub("", line).replace(member.ip, "NODE").strip() for line in text.splitlines())


def received(member):
    """Bytes on the interface of the member."""
    done = shell.run(shell.inside(fleet_network.namespace(member.number), ["ip", "-s", "-j", "link"]))
    return sum(one["stats64"]["rx"]["bytes"] for one in json.loads(done.stdout) if one["ifname"] != "lo")


class Trial:
    def __init__(self, fleet, results):
        self._fleet, self._results = fleet, results

    def _complete(self, member):
        made = self._fleet.services
        return made.cluster_ips() | made.endpoint_addresses() <= member.programmed()

    def _add(self, title, good, note=""):
        self._results.add({"name": f"encoding: {title}", "parameters": [], "result": PASS if good else FAIL, "reason": "",
                           "seconds": 0}, [] if good else [note])

    def same(self, when, mentioned=()):
        """Waits until the rules of both members are the same, have the last state of all Services, and mention these words."""
        first, second = self._fleet.members
        alike = pace.wait_until(lambda: self._complete(first) and self._complete(second) and rules(first) == rules(second) and
                                all(word in "\n".join(rules(first)) for word in mentioned), 60, every=0.5)
        different = sorted(set(rules(first)) ^ set(rules(second)))
        self._add(f"protobuf and JSON lead to the same rules {when}", alike, f"{len(different)} lines differ: {different[:20]}")

    def smaller(self):
        first, second = (received(member) for member in self._fleet.members)
        print(f"# received: protobuf {first} bytes, JSON {second} bytes: {first / second:.2f}", flush=True)
        self._add("protobuf is smaller", first <= SMALLER * second, f"{first} and {second} bytes")


def run(arguments, programs, results):
    layout = fleet_network.FleetLayout(fleet_sandbox.enter() / "fleet")
    fleet_network.build_bridge()
    with Server(layout, programs) as server:
        made = Services(server.api, ENDPOINTS)
        made.create(SERVICES)
        members = [SluiceMember(layout, 1, arguments.builddir), SluiceMember(layout, 2, arguments.builddir)]
        connection = members[1].configuration()["clientConnection"]
        members[1] = SluiceMember(layout, 2, arguments.builddir,
                                  settings={"clientConnection": {**connection, "contentType": JSON}})
        with Fleet(server, made, members) as fleet:
            trial = Trial(fleet, results)
            fleet.start()
            trial.same("after the start")
            trial.smaller()
            create_varied(server.api)
            trial.same("with Services of every kind", ("10.200.0.1", "198.51.100.7", "203.0.113.4", "192.0.2.0"))
            made.churn(RATE, CHURN_SECONDS, RENAMED)
            trial.same("after changes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default="build", metavar="DIR", help="build tree of Sluice (default %(default)s)")
    arguments, results = parser.parse_args(), Results()
    if not os.environ.get(VARIABLE):
        results.add({"name": "encoding", "parameters": [], "result": SKIP, "reason": f"{VARIABLE} is not set", "seconds": 0})
        return results.finish() and 0
    arguments.builddir = os.path.abspath(arguments.builddir)
    try:
        run(arguments, KubePrograms.from_environment(), results)
    except ClusterError as error:
        results.add({"name": "encoding: the API server and the daemons start", "parameters": [], "result": FAIL, "reason": "",
                     "seconds": 0}, [str(error)])
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
