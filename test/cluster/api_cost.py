#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what a number of proxies costs one kube-apiserver: CPU time, memory and bytes, for the initial list, for a quiet
time, and under churn. Sluice is compared with kube-proxy; plain clients show what encoding and protocol alone cost.

Each run has a new API server. Results are merged into the file of --json; --table prints all results of that file.
"""

import argparse
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fleet_network, fleet_sandbox, pace  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.fleet import Fleet  # noqa: E402
from lib.fleet_cost import Cost, resident_mib  # noqa: E402
from lib.fleet_cost_table import table  # noqa: E402
from lib.fleet_lists import measure_lists  # noqa: E402
from lib.fleet_members import KubeProxyMember, SluiceMember  # noqa: E402
from lib.fleet_plain import ENCODINGS, PROTOCOLS, PlainClient  # noqa: E402
from lib.fleet_server import Server  # noqa: E402
from lib.fleet_services import Services  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402

KINDS = 4
PLAIN = [f"{encoding}-{protocol}" for encoding in ENCODINGS for protocol in PROTOCOLS]
# Only the first sync is written, so that the clients leave the processors to the API server.
RARELY = {"nftables": {"minSyncPeriod": "1h", "syncPeriod": "1h"}}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", default="build", metavar="DIR", help="build tree of Sluice (default %(default)s)")
    parser.add_argument("--clients", default="sluiced,kube-proxy", metavar="NAME,…",
                        help=f"sluiced, kube-proxy, {', '.join(PLAIN)} (default %(default)s)")
    parser.add_argument("--instances", default="0,10,100", metavar="N,…", help="(default %(default)s)")
    parser.add_argument("--services", type=int, default=1000, metavar="N", help="(default %(default)s)")
    parser.add_argument("--endpoints", type=int, default=10, metavar="N", help="of each Service (default %(default)s)")
    parser.add_argument("--rate", type=float, default=100, metavar="N", help="changes per second (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=20, metavar="N", help="of quiet, and of churn (default %(default)s)")
    parser.add_argument("--json", default="api-cost.json", metavar="FILE", help="results (default %(default)s)")
    parser.add_argument("--profile", metavar="FILE", help="write a CPU profile of the API server under churn")
    parser.add_argument("--lists", type=int, default=0, metavar="N",
                        help="with 0 instances: also measure N lists of each encoding, with and without gzip")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    return parser.parse_args()


def member(client, number, layout, programs, builddir):
    if client == "sluiced":
        return SluiceMember(layout, number, builddir, settings=RARELY)
    if client == "kube-proxy":
        return KubeProxyMember(layout, number, programs, hollow=True, settings=RARELY)
    return PlainClient(layout, number, *client.split("-"))


class Run:
    def __init__(self, arguments, server, services, members):
        self._arguments, self._server, self._services = arguments, server, services
        self._members = members

    def measure(self):
        with Fleet(self._server, self._services, self._members) as fleet:
            cost = Cost(fleet)
            cost.during("before", lambda: None)
            if self._members:
                cost.during("start", lambda: self._start(fleet))
            cost.during("steady", lambda: time.sleep(self._arguments.seconds))  # fixed time: it is measured
            cost.during("churn", self._churn)
            lists = measure_lists(self._server, self._arguments.lists) if self._arguments.lists and not self._members else []
            for one in self._members:
                one.check()
            return {"phases": cost.phases, "client": self._client(), "lists": lists}

    def _start(self, fleet):
        fleet.start()
        wanted = KINDS * len(self._members)
        if not pace.wait_until(lambda: fleet.watches() >= wanted, 300, every=2):
            for one in self._members:
                one.check()
            raise ClusterError(f"{fleet.watches()} of {wanted} watches run")

    def _churn(self):
        if self._arguments.profile:
            threading.Thread(target=self._profile, daemon=True).start()
        changes, events, seconds = self._services.churn(self._arguments.rate, self._arguments.seconds)
        return {"changes": changes, "events": events, "churnSeconds": seconds}

    def _profile(self):
        path = f"/debug/pprof/profile?seconds={int(self._arguments.seconds) - 2}"
        self._server.api.save(path, self._server.layout.folder / "profile")

    def _client(self):
        """Of one client in the middle."""
        if not self._members:
            return {}
        resident, anonymous = self._members[len(self._members) // 2].resident()
        return {"residentMiB": resident / 1024, "anonymousMiB": anonymous / 1024}


def one_run(arguments, client, count, programs):
    """Runs in a child, because it enters namespaces that it does not leave."""
    layout = fleet_network.FleetLayout(fleet_sandbox.enter("8g") / "fleet")
    fleet_network.build_bridge()
    with Server(layout, programs) as server:
        services = Services(server.api, arguments.endpoints)
        services.create(arguments.services)
        members = [member(client, number, layout, programs, arguments.builddir) for number in range(1, count + 1)]
        result = Run(arguments, server, services, members).measure()
        result |= {"clients": client, "instances": count, "services": arguments.services, "endpoints": arguments.endpoints,
                   "rate": arguments.rate, "etcdResidentMiB": resident_mib(server.etcd_pid), "version": server.version()}
        if arguments.profile:
            result["profile"] = (layout.folder / "profile").read_bytes().hex()
        return result


def in_child(work):
    """The JSON result of `work()` in a child process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        fleet_sandbox.die_with_parent()
        status = 1
        try:
            data = json.dumps(work()).encode()
            with os.fdopen(writing, "wb") as file:
                file.write(data)
            status = 0
        except ClusterError as error:
            print(f"api_cost: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return json.loads(data) if data else None


def results_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []


def keep(path, result):
    same = ("clients", "instances", "services", "endpoints", "rate")
    others = [one for one in results_of(path) if any(one[key] != result[key] for key in same)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(others + [result], file, indent=1)


def main():
    arguments, status = options(), 0
    runs = [] if arguments.table else [(client, int(count)) for count in arguments.instances.split(",")
                                       for client in (arguments.clients.split(",") if count != "0" else ["none"])]
    for client, count in runs:
        result = in_child(lambda client=client, count=count: one_run(arguments, client, count, KubePrograms.from_environment()))
        if not result:
            status = 1
            continue
        profile = result.pop("profile", None)
        if profile:
            with open(arguments.profile, "wb") as file:
                file.write(bytes.fromhex(profile))
        keep(arguments.json, result)
    print(table(results_of(arguments.json)))
    return status


if __name__ == "__main__":
    sys.exit(main())
