#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet of proxies against one kube-apiserver with many Services: all converge to the last state, and none of them sends
more requests than it must. Prints TAP, and the API traffic of each phase beside that of kube-proxy."""

import argparse
import json
import math
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fleet_network, fleet_sandbox, pace  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.fleet import KINDS as KINDS_WATCHED, Fleet  # noqa: E402
from lib.fleet_attempts import Attempts, busiest  # noqa: E402
from lib.fleet_members import KubeProxyMember, SluiceMember, of_all  # noqa: E402
from lib.fleet_recorder import Recorder  # noqa: E402
from lib.fleet_server import Server  # noqa: E402
from lib.fleet_services import RENAMED, Services  # noqa: E402
from lib.kube_programs import VARIABLE, KubePrograms  # noqa: E402
from lib.tap import FAIL, PASS, SKIP, Results  # noqa: E402

RATE, CHURN_SECONDS, STEADY_SECONDS = 50, 20, 20
FAILURES = 12  # failed attempts of each member before the API server returns: three for each kind
BACKOFF_START = 0.8  # seconds, docs/api-server.md
SHORTEST_WATCH = 300  # seconds
KINDS = len(KINDS_WATCHED)
REQUESTS = 20  # of one member: a watch, a list and another watch for each kind, and events
WINDOW = 0.1  # seconds
SPREAD_AFTER = 2 * BACKOFF_START  # when the first retries are over


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builddir", default="build", metavar="DIR", help="build tree of Sluice (default %(default)s)")
    parser.add_argument("--members", type=int, default=24, metavar="N", help="proxies of each program (default %(default)s)")
    parser.add_argument("--services", type=int, default=1000, metavar="N", help="Services (default %(default)s)")
    parser.add_argument("--endpoints", type=int, default=3, metavar="N", help="endpoints of each (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the measurements to this file")
    return parser.parse_args()


class Trial:
    """The tests of one program. `bounded` tests its requests; those of the control are printed only."""

    def __init__(self, fleet, results, bounded):
        self.fleet, self._results, self._bounded = fleet, results, bounded
        self._program = fleet.members[0].program
        self.recorder = Recorder(fleet)
        self._alive, self._started = True, time.monotonic()

    def run(self):
        count = len(self.fleet.members)
        self._phase(f"{count} members program every Service after the start", "start", self._start)
        self._phase(f"{count} members have the last state after churn", "churn", self._churn)
        self._phase(f"{count} members keep it while nothing changes", "steady", self._steady)
        self._phase(f"{count} members have the last state after a restart of the API server", "restart", self._restart)

    def _phase(self, title, name, work):
        if not self._alive:
            self._add(title, SKIP, "an earlier phase failed")
            return
        try:
            phase = self.recorder.during(name, work)
        except ClusterError as error:
            self._alive = False
            self._add(title, FAIL, "", [str(error)])
            return
        self._add(title, PASS)
        print(f"# {self._program} per member: {phase.line(self.fleet.members)}", flush=True)
        if self._bounded:
            self._bound(phase)

    def _add(self, title, result, reason="", notes=()):
        self._results.add({"name": f"fleet: {title}", "parameters": [self._program], "result": result, "reason": reason,
                           "seconds": 0}, notes)

    def _expect(self, title, good, note):
        self._add(title, PASS if good else FAIL, "", [] if good else [note])

    def _bound(self, phase):
        most = max(phase.each(self.fleet.members))
        quiet = phase.name in ("churn", "steady")
        # The server ends a watch after 5 to 10 minutes.
        limit = KINDS * int((time.monotonic() - self._started) / SHORTEST_WATCH) if quiet else REQUESTS
        words = "no new request" if quiet else f"at most {limit} requests of a member"
        self._expect(f"{words} during {phase.name}", most <= limit, f"most requests of one member: {most}, limit {limit}")

    def _start(self):
        self.fleet.start()
        self.fleet.wait_converged()

    def _churn(self):
        changes, events, seconds = self.fleet.services.churn(RATE, CHURN_SECONDS, RENAMED)
        print(f"# {changes} changes, {events} events in {seconds:.0f} s", flush=True)
        self.fleet.wait_converged()

    def _steady(self):
        time.sleep(STEADY_SECONDS)  # fixed time: proves that nothing happens
        self.fleet.wait_converged()

    def _restart(self):
        before = self._attempts()
        with Attempts() as attempts:
            self.fleet.server.kill_apiserver()
            killed = time.monotonic()
            if not pace.wait_until(lambda: min(self._failures(before)) >= FAILURES, 60, every=0.2):
                raise ClusterError("some members do not try to reconnect")
            failed, away = self._failures(before), time.monotonic() - killed
        self.fleet.server.start_apiserver()
        self.fleet.services.churn(RATE, 2, RENAMED)
        self.fleet.wait_converged()
        self._judge_number(failed, away)
        self._judge_spread(attempts.seen, away)
        self._expect("all four kinds are watched again", self.fleet.wait_watches(KINDS_WATCHED, 90), self._watched())
        print(f"# {self._program}: watches after the restart: {self._watched()}", flush=True)

    def _watched(self):
        return ", ".join(f"{kind} {self.fleet.watches_of(kind)}" for kind in KINDS_WATCHED)

    def _attempts(self):
        return of_all(self.fleet.members, lambda member: member.requests().get("<error>", 0))

    def _failures(self, before):
        return [now - then for now, then in zip(self._attempts(), before)]

    def _judge_number(self, failed, away):
        """Each kind of object retries after 0.8 s, 1.6 s and so on, or later."""
        limit = KINDS * (1 + math.ceil(math.log2(1 + away / BACKOFF_START)))
        print(f"# {self._program}: API server away for {away:.1f} s: failed attempts of a member {min(failed)} to {max(failed)}, "
              f"limit {limit}", flush=True)
        if self._bounded:
            self._expect("attempts back off while the API server is away", max(failed) <= limit,
                         f"{max(failed)} attempts of one member in {away:.1f} s, limit {limit}")

    def _judge_spread(self, seen, away):
        """Once the first retries are over, members try at different times."""
        later = [(at, ip) for at, ip in seen if at > SPREAD_AFTER]
        most, limit = busiest(later, WINDOW), len(self.fleet.members) * 3 / 4  # all, if they retried together
        print(f"# {self._program}: {len(later)} later connection attempts, of at most {most} members within {WINDOW} s, "
              f"limit {limit:.0f}", flush=True)
        if self._bounded:
            self._expect("members retry at different times", away > SPREAD_AFTER and later and most <= limit,
                         f"{most} members within {WINDOW} s, limit {limit:.0f}")


def members_of(program, arguments, layout, programs):
    numbers = range(1, arguments.members + 1)
    if program == "sluiced":
        return [SluiceMember(layout, number, arguments.builddir) for number in numbers]
    return [KubeProxyMember(layout, number, programs) for number in numbers]


def run(arguments, programs, results):
    layout = fleet_network.FleetLayout(fleet_sandbox.enter() / "fleet")
    fleet_network.build_bridge()
    measured = {}
    with Server(layout, programs, audit=True) as server:
        services = Services(server.api, arguments.endpoints)
        services.create(arguments.services)
        for program in ("sluiced", "kube-proxy"):
            with Fleet(server, services, members_of(program, arguments, layout, programs)) as fleet:
                trial = Trial(fleet, results, bounded=program == "sluiced")
                trial.run()
                measured[program] = [phase.record(fleet.members) for phase in trial.recorder.phases]
    return measured


def main():
    arguments, results = options(), Results()
    if not os.environ.get(VARIABLE):
        results.add({"name": "fleet", "parameters": [], "result": SKIP, "reason": f"{VARIABLE} is not set", "seconds": 0})
        return results.finish() and 0
    target = os.path.abspath(arguments.json) if arguments.json else None
    try:
        measured = run(arguments, KubePrograms.from_environment(), results)
    except ClusterError as error:
        results.add({"name": "fleet: the API server and the members start", "parameters": [], "result": FAIL, "reason": "",
                     "seconds": 0}, [str(error)])
        return results.finish()
    if target:
        with open(target, "w", encoding="utf-8") as file:
            json.dump({"members": arguments.members, "services": arguments.services, "endpoints": arguments.endpoints,
                       "phases": measured}, file, indent=1)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
