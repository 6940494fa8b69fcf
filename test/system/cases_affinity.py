# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Cases 73–78: session affinity keeps a client at its endpoint."""

import time

from lib import pace
from lib.addresses import E1, E2, E3, E4, EXT_OTHER
from lib.cases import EXT, POD, Skip, case, kept, masqueraded
from lib.differences import LOCAL_FOR_ALL, MEMORY_PER_FRONTEND
from lib.objects import ready

NEEDS = ("affinity",)
FOUR = [ready(E1), ready(E2), ready(E3), ready(E4)]
ANY = masqueraded(E1, E2, E3, E4)
HOST = {one.name: one for one in (E1, E2, E3, E4)}
# All clients must ask once well within this time.
SHORT_SECONDS = 5 if pace.SLOWNESS < 2 else 25
# Enough independent choices that they do not all come out alike by chance: one of four endpoints each, which is 4^-14 = 4e-9 for
# one given endpoint, four times that for any endpoint; with policy Local one of two for twice as many. These cases run dozens
# of times in every run of the whole suite.
MANY = 14


def remembering(seconds=10800):
    return {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}}


def sticky(t, endpoints, seconds=10800, **wanted):
    return t.service(endpoints, spec=remembering(seconds), **wanted)


def others(name):
    return [ready(host) for host in HOST.values() if host.name != name]


def rules_of(lines, chain):
    return [line for line in lines if line.startswith(f"-A {chain} ")]


@case(73, "rules that look up session affinity precede those that choose; the entry is written where the choice is made",
      backends=["iptables"])
def rules(t):
    service = sticky(t, FOUR, seconds=10800)
    t.settle()
    lines = t.saved("nat")
    dispatch = [line for line in lines if f"{service.namespace}/{service.name}:p80 cluster IP" in line]
    chain = next((line.split(" -j ")[1] for line in dispatch if line.startswith("-A KUBE-SERVICES")), "?")
    kinds = ["lookup" if "--rcheck" in line else "choice" for line in rules_of(lines, chain) if "-j KUBE-SEP-" in line]
    t.require(kinds == ["lookup"] * 4 + ["choice"] * 4, f"the order of rules in {chain} is {kinds}")
    for line in rules_of(lines, chain):
        if "--rcheck" in line:
            t.require("--seconds 10800" in line and "--reap" in line, f"no time limit: {line}")
            endpoint = line.split(" -j ")[1]
            own = rules_of(lines, endpoint)
            t.require([("--set" in rule, "-j DNAT" in rule) for rule in own] == [(False, False), (True, True)],
                      f"only the DNAT rule must write the affinity entry: {own}")
            t.require(f"--name {endpoint} " in line and any(f"--name {endpoint} " in rule for rule in own),
                      f"{endpoint} is not asked under the name it is written under")


@case(74, "a client reaches one endpoint at cluster IP, node port, external and load balancer IP; other clients have their own",
      legacy=True)
def one_memory_for_all_addresses(t):
    services = [sticky(t, FOUR, type="LoadBalancer", external=True) for _ in range(MANY)]
    t.settle()
    service = services[0]
    if t.differs(MEMORY_PER_FRONTEND, False, True):
        memory_per_frontend(t, service)
        return
    for client in (EXT, EXT_OTHER):
        t.expect_one(client, [service.cluster(), *service.externals()], ANY)
    t.expect_one(POD, service.externals(), ANY)
    t.expect_one(POD, service.cluster(), kept(E1, E2, E3, E4))
    pairs = {(t.expect_one(EXT, one.vip(), ANY, questions=3), t.expect_one(EXT_OTHER, one.node(), ANY, questions=3))
             for one in services}
    t.require(any(here != there for here, there in pairs), "two clients always share their endpoint")


def memory_per_frontend(t, service):
    """Endpoints take turns: the second client of an address gets another endpoint than the first one."""
    fronts = [service.cluster(), *service.externals()]
    came_first = [t.expect_one(EXT_OTHER if at % 2 else EXT, front, ANY) for at, front in enumerate(fronts)]
    came_second = [t.expect_one(EXT if at % 2 else EXT_OTHER, front, ANY) for at, front in enumerate(fronts)]
    for at, (first, second) in enumerate(zip(came_first, came_second)):
        t.require(first != second, f"both clients stay with {first} at {fronts[at].ip}")
    mine = [came_second[at] if at % 2 else came_first[at] for at in range(len(fronts))]
    t.require(len(set(mine)) > 1, f"one client meets {mine[0]} at every address")
    again = [t.expect_one(EXT, front, ANY, questions=3) for front in fronts]
    t.require(again == mine, f"had {mine}, then {again}")


# IPVS keeps a client until its connections are removed, ended ones too: cases_ipvssettings.py.
@case(74, "session affinity lasts as long as the client keeps coming, and ends after the timeout", protocols=["tcp"],
      sources=["manifests"], backends=["iptables", "nftables", "userspace"])
def memory_ends(t):
    for seconds in (SHORT_SECONDS, 5 * SHORT_SECONDS, 25 * SHORT_SECONDS):
        if memory_ends_after(t, seconds):
            return
        t.remark(f"this machine takes longer than {seconds} s to ask {MANY} times: that proves nothing")
    raise Skip(f"this machine takes longer than {seconds} s to ask {MANY} times: nothing is proved")


def memory_ends_after(t, seconds):
    """Returns whether the machine was fast enough to prove that clients are kept for that long."""
    services = [sticky(t, FOUR, seconds=seconds) for _ in range(MANY)]
    t.settle()

    def ask(questions=1):
        """For each Service the endpoint that answered, and times before and after that."""
        met = []
        for one in services:
            begun = time.monotonic()
            met.append((t.expect_one(EXT, one.cluster(), ANY, questions=questions), begun, time.monotonic()))
        return met

    rounds = [ask(questions=2)]
    # Longer than the timeout in all, with each pause shorter: every connection restarts the timeout.
    for _ in range(2):
        time.sleep(seconds * 0.6)  # fixed time: a part of the timeout that must not suffice
        rounds.append(ask())
    time.sleep(seconds + 1)  # fixed time: the timeout has to expire
    later = ask()
    proved = 0
    for before, after in zip(rounds, rounds[1:]):
        for (had, begun, _), (has, _, ended) in zip(before, after):
            # A machine that takes longer proves nothing.
            if ended - begun < seconds:
                proved += 1
                t.require(has == had, f"within the timeout, after {ended - begun:.1f} s: had {had}, then {has}")
    t.remark(f"{proved} of {2 * MANY} pauses were shorter than the timeout of {seconds} s")
    names = [[name for name, _, _ in one] for one in (rounds[-1], later)]
    t.require(names[0] != names[1], f"still the same endpoints after the timeout: {names[1]}")
    return proved > 0


@case(75, "a client whose endpoint is removed gets another one, and stays with it")
def endpoint_removed(t):
    service = sticky(t, FOUR)
    t.settle()
    before = t.expect_one(EXT, service.cluster(), ANY)
    service.set_endpoints(others(before))
    t.settle()
    after = t.expect_one(EXT, service.cluster(), masqueraded(*(one.host for one in others(before))))
    service.set_endpoints(FOUR)
    t.settle()
    t.require(t.expect_one(EXT, service.cluster(), ANY) == after, "it did not stay with the new one")


@case(75, "each port of a Service has its own session affinity", protocols=["tcp"])
def memory_per_port(t):
    ports = [(f"p{number}", number, 80) for number in range(80, 80 + MANY)]
    service = sticky(t, FOUR, ports=ports)
    t.settle()
    for _, number, _ in ports[::2]:  # with round robin not every client begins with the same endpoint
        t.expect_one(EXT_OTHER, service.cluster(number), ANY, questions=1)
    met = [t.expect_one(EXT, service.cluster(number), ANY, questions=4) for _, number, _ in ports]
    t.require(len(set(met)) > 1, f"all {MANY} ports led to {met[0]}")


@case(76, "affinity with external policy Local: clients stay with a local endpoint, pods with one of all", legacy=True)
def with_external_local(t):
    services = [sticky(t, FOUR, type="LoadBalancer", external=True, external_policy="Local") for _ in range(2 * MANY)]
    t.settle()
    all_of_them = t.differs(LOCAL_FOR_ALL, kept(E1, E2, E3, E4), kept(E1, E4))
    apart = t.bench.profile.meets(MEMORY_PER_FRONTEND)
    for service in services[:2]:
        for fronts in [[front] for front in service.externals()] if apart else [service.externals()]:
            t.expect_one(EXT, fronts, kept(E1, E4))
            t.expect_one(POD, fronts, all_of_them)
    if apart or t.bench.profile.meets(LOCAL_FOR_ALL):
        return
    met = {t.expect_one(POD, service.vip(), kept(E1, E2, E3, E4), questions=2) for service in services}
    t.require(met & {E2.name, E3.name}, "pods never met a remote endpoint")


@case(78, "affinity switched on and off while the Service is used")
def switched(t):
    service = t.service(FOUR)
    t.settle()
    t.expect(EXT, service.cluster(), ANY)
    hammer = t.hammer(POD, service.cluster()) if t.protocol == "tcp" else None
    service.update(spec=remembering())
    t.settle()
    t.expect_one(EXT, service.cluster(), ANY)
    t.expect_one(EXT_OTHER, service.cluster(), ANY)
    service.update(spec=None)
    t.settle()
    t.expect(EXT, service.cluster(), ANY)
    if hammer:
        t.require_unbroken(hammer, "while affinity was switched")
