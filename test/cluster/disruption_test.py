#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Disrupts the proxy, its rules and the API server of a real cluster under traffic. Prints TAP. Needs root and
SLUICE_KUBE_BIN.

  disruption_test.py --builddir DIR [--only WORD]

The Services and their traffic are those of takeover_test.py. A restart or a kill of the proxy, and an API server that is down,
must not fail a connection or break a stream. Rules that another program deletes must come back.
"""

import itertools
import sys
import time

sys.dont_write_bytecode = True

from lib import traffic_state  # noqa: E402
from lib.traffic_program import Tests, parser, programs_or_reason, wait_for  # noqa: E402
from lib.traffic_stage import KUBE_PROXY, SLUICE, Stage  # noqa: E402

BEFORE, AFTER = 30, 60  # connections of each flow before and after the disruption
DOWN_SECONDS = 20
COMES_BACK_SECONDS = 90  # kube-proxy checks for its rules every 30 s
FIRST_NEW = 200  # numbers of Services that tests add

_new = itertools.count(FIRST_NEW)


def harmless(name, stage, tests, disrupt, churning=True):
    """The disruption fails no connection, and afterwards the node has the state of a fresh start, and new Services work."""
    program, mode = SLUICE, stage.node.proxy.mode
    wanted = stage.fresh(program, mode)
    with stage.churn() as churn, stage.traffic() as run:
        if not churning:
            churn.end()
        run.wait_connects(BEFORE)
        disrupt()
        run.wait_connects(AFTER)
        churn.end()
        problems = [*serves_new_service(stage), *traffic_state.wait_equal(stage.scene, wanted)[:10]]
        result = run.end()
    tests.count(name, result)
    return result.problems() + problems


def serves_new_service(stage):
    """A Service that is created now is served soon; it is deleted again."""
    number = next(_new)
    stage.services.put_service(number)
    stage.services.put_endpoints(number)
    try:
        wait_for(lambda: stage.answers(number), f"the new Service web-{number} is served", 30)
    finally:
        stage.services.delete_service(number)
        stage.services.delete_endpoints(number)
    return []


def restart(stage):
    proxy = stage.node.proxy
    stage.node.stop_proxy()
    stage.node.start_proxy(proxy)


def kill(stage):
    proxy = stage.node.proxy
    stage.node.proxy_process.kill()
    stage.node.start_proxy(proxy)


def apiserver_down(stage):
    control_plane = stage.cluster.control_plane
    control_plane.stop_apiserver()
    time.sleep(DOWN_SECONDS)  # fixed time: connections go on without an API server
    control_plane.start_apiserver()


# Rules deleted by another program.


def delete_kube_chains(stage):
    """Deletes all chains KUBE-… of IPv4 with iptables, first their rules and the jumps to them. Upstream's end-to-end test
    "should recreate its iptables rules if they are deleted" does the same."""
    rules, chains, table = [], [], ""
    for line in stage.node.run("iptables-save").stdout.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith(":KUBE-"):
            chain = line[1:].split()[0]
            rules.append(f"iptables -w -t {table} -F {chain}")
            chains.append(f"iptables -w -t {table} -X {chain}")
        elif line.startswith("-A ") and not line.startswith("-A KUBE-") and " -j KUBE-" in line:
            rules.append(f"iptables -w -t {table} -D {line[3:]}")
    stage.node.run("sh", "-c", "\n".join(rules + chains))


def delete_tables(stage):
    for family in ("ip", "ip6"):
        stage.node.run("nft", "delete", "table", family, "kube-proxy")


def flush_ruleset(stage):
    stage.node.run("nft", "flush", "ruleset")


DELETIONS = [
    (SLUICE, "iptables", "all chains KUBE-… are deleted one by one", delete_kube_chains),
    (SLUICE, "iptables", "the ruleset is flushed", flush_ruleset),
    (SLUICE, "nftables", "the tables are deleted", delete_tables),
    (SLUICE, "nftables", "the ruleset is flushed", flush_ruleset),
    (KUBE_PROXY, "iptables", "all chains KUBE-… are deleted one by one", delete_kube_chains),
]


def comes_back(stage, program, mode, delete):
    """Returns problems, and prints the seconds until the first answer and until all rules are back."""
    wanted = stage.fresh(program, mode)
    stage.begin(program, mode)
    wait_for(lambda: stage.answers(1), "web-1 is served", 30)
    delete(stage)
    begun = time.monotonic()
    wait_for(lambda: stage.answers(1), "web-1 is served after the deletion", COMES_BACK_SECONDS)
    served = time.monotonic() - begun
    remaining = traffic_state.wait_equal(stage.scene, wanted, COMES_BACK_SECONDS)
    print(f"# {program} {mode}: served {served:.1f} s after the deletion, all rules after {time.monotonic() - begun:.1f} s")
    return remaining[:10]


def reboot(stage, mode):
    """The kernel has lost rules, and the state folder on tmpfs is empty."""
    wanted = stage.fresh(SLUICE, mode)
    stage.begin(SLUICE, mode)
    proxy = stage.node.proxy
    stage.node.stop_proxy()
    flush_ruleset(stage)
    stage.node.run("sh", "-c", "rm -rf /run/sluice/* /run/sluice/.[!.]*")
    stage.node.start_proxy(proxy)
    return traffic_state.wait_equal(stage.scene, wanted)[:10] + serves_new_service(stage)


def run_mode(mode, stage, tests):
    def check(said, disrupt, **more):
        name = f"Sluice in {mode} mode: {said}"

        def test():
            stage.begin(SLUICE, mode)
            return harmless(name, stage, tests, disrupt, **more)

        tests.check(name, test)

    check("three restarts fail no connection", lambda: [restart(stage) for _ in range(3)])
    check("three kills (SIGKILL) fail no connection", lambda: [kill(stage) for _ in range(3)])
    check("a restart of the API server fails no connection", stage.cluster.control_plane.restart_apiserver)
    check(f"an API server that is down for {DOWN_SECONDS} s fails no connection", lambda: apiserver_down(stage))
    check("a restart while the API server is down fails no connection", lambda: restart_without_apiserver(stage), churning=False)
    tests.check(f"Sluice in {mode} mode: after a reboot (no rules, no state folder) the rules are complete",
                lambda: reboot(stage, mode))


def restart_without_apiserver(stage):
    """The proxy starts while the API server is down; it must keep the rules until it has the Services."""
    proxy = stage.node.proxy
    stage.cluster.control_plane.stop_apiserver()
    stage.node.stop_proxy()
    stage.node.start_proxy(proxy, wait=False)
    time.sleep(5)  # fixed time: connections go on with the rules of the stopped proxy
    stage.cluster.control_plane.start_apiserver()
    wait_for(lambda: proxy.ready(stage.node), f"{proxy} is ready", 60)


def main():
    options = parser(__doc__).parse_args()
    tests = Tests(options.only)
    programs, reason = programs_or_reason()
    if reason:
        tests.skip("disruption of proxy and API server under traffic", reason)
        return tests.finish()
    with Stage(options, programs) as stage:
        for mode in traffic_state.MODES:
            run_mode(mode, stage, tests)
        for program, mode, said, delete in DELETIONS:
            tests.check(f"{program} in {mode} mode: rules come back when {said}",
                        lambda deletion=(program, mode, delete): comes_back(stage, *deletion))
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
