# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Registers cases, and defines the argument of a case function."""

import dataclasses
import sys
import threading
import time

from . import addresses as a
from . import foreign, objects, outcomes, pace, probe, tap
from .node_tools import VARIANTS, Missing
from .services import ServiceUnderTest

DEFAULT = "default"
SOURCES = ("manifests", "apiserver")
BACKENDS = ("iptables", "ipvs", "nftables", "userspace")
IN_KERNEL = ("iptables", "ipvs", "nftables")  # connections survive the end of the daemon

_registered = []


@dataclasses.dataclass(frozen=True)
class Case:
    function: object
    numbers: tuple  # numbers of the conformance cases in the behaviour reference; empty for additional tests
    title: str
    config: str | None  # None: the case starts its own daemons
    families: tuple
    protocols: tuple
    sources: tuple
    backends: tuple
    exclusive: bool  # no other case may use the daemon at the same time
    variants: tuple  # of iptables
    legacy: tuple  # backends whose short run with iptables-legacy includes the case
    slow: bool  # starts early, so that the run does not wait for it at the end
    above: bool  # does not depend on the backend: only the short run of the first backend includes it
    needs: tuple  # abilities that a backend may lack, see lib/declaration.py
    starts: bool  # the daemon is started before the case

    @property
    def name(self):
        if not self.numbers:
            return f"{self.area}: {self.title}"
        word = "case" if len(self.numbers) == 1 else "cases"
        return f"{word} {', '.join(map(str, self.numbers))}: {self.title}"

    @property
    def area(self):
        return self.function.__module__.removeprefix("cases_").removeprefix("kit_")

    @property
    def test(self):
        return f"{self.function.__module__}.{self.function.__name__}"


def case(number, title, config=DEFAULT, families=a.FAMILIES, protocols=("tcp", "udp"), sources=SOURCES,
         backends=BACKENDS, exclusive=False, variants=VARIANTS, legacy=(), slow=False, above=None, needs=(), starts=True):
    """Registers a case. `number` is one number, a tuple, or None; `legacy` is a list of backends, or True for iptables.
    ABOVE_BACKENDS and NEEDS of a module apply to all its cases."""
    numbers = () if number is None else number if isinstance(number, tuple) else (number,)
    legacy = BACKENDS[:1] if legacy is True else tuple(legacy or ())

    def register(function):
        module = sys.modules[function.__module__]
        higher = getattr(module, "ABOVE_BACKENDS", False) if above is None else above
        needed = tuple(needs) + getattr(module, "NEEDS", ())
        _registered.append(Case(function, numbers, title, config, tuple(families), tuple(protocols), tuple(sources),
                                tuple(backends), exclusive, tuple(variants), legacy, slow, higher, needed, starts))
        return function

    return register


def own_daemon(number, title, families=(a.V4,), protocols=("tcp",), sources=("apiserver",), backends=BACKENDS,
               variants=VARIANTS, legacy=(), slow=False, above=None, needs=(), starts=True):
    """Registers a case that starts, kills and restarts its own daemons."""
    return case(number, title, None, families, protocols, sources, backends, variants=variants, legacy=legacy,
                slow=slow, above=above, needs=needs, starts=starts)


def registered():
    return list(_registered)


class Skip(Exception):
    """This machine cannot run the case; the text is the reason."""


class Trial:
    """One run of a case with one set of parameters. `close` removes everything that it created."""

    def __init__(self, bench, label, family, protocol):
        self.bench = bench
        self.topology = bench.topology
        self.family = family
        self.protocol = protocol
        self.problems = []
        self.differences = set()  # intended differences of lib/differences.py that this run has asserted
        self.served_by = set()  # active backends during a case that swaps them
        self.remarks = []  # measurements to print with the result
        self._label = label
        self._cleanup = []
        self.busiest = pace.Busiest()  # stretches the time limits that the case asserts

    # Services.

    def service(self, endpoints=None, **wanted):
        number = self.bench.allocator.number()
        made = ServiceUnderTest(self.bench.source, number, f"{self._label}-{number}", self.family, self.protocol,
                                endpoints, node_ports="node-ports" not in self.bench.profile.lacks, **wanted)
        self._cleanup.append(made.delete)
        return made

    def settle(self):
        """Returns once everything written so far is in the kernel."""
        self.bench.barrier.settle()

    def saved(self, table=None):
        """The lines of iptables-save on the node, for the family of the case."""
        return foreign.saved(self.topology, self.family, table)

    @property
    def has_status(self):
        """Whether `sluicectl status` works: a substitute for the daemon does not support it."""
        return self.bench.programs.sluicectl is not None

    def status(self):
        """The JSON document of `sluicectl status`."""
        if not self.has_status:
            raise Skip("the program under test has no sluicectl")
        return self.bench.daemon.status()

    def wait_until(self, condition, sentence, seconds=10, every=pace.POLL_SECONDS):
        """Returns the first true result of the condition; records the sentence as a problem if the timeout expires."""
        def checked():
            found = condition()
            if not found:
                self.bench.daemon.check_alive()
            return found

        found = pace.wait_until(checked, seconds, every)
        self.require(found, f"after {seconds:g} s, stretched by the load, still not: {sentence}")
        return found

    @property
    def relayed(self):
        """Whether the backend relays: it terminates connections of clients and opens its own to endpoints."""
        return self.bench.profile.relays

    @property
    def ipvs(self):
        return self.bench.backend == "ipvs"

    @property
    def nftables(self):
        return self.bench.backend == "nftables"

    # Expectations. Failures are collected, so that one run reports all of them.

    def differs(self, why, usual, otherwise):
        """The expected value for the backend of this run; `why` is a Difference of lib/differences.py."""
        if not self.bench.profile.meets(why):
            return usual
        self.differences.add(why.described_for(self.bench.backend))
        return otherwise

    def expect(self, senders, fronts, expected):
        """Requires the expected outcome from each sender to each front."""
        for sender in senders if isinstance(senders, (list, tuple)) else [senders]:
            for front in fronts if isinstance(fronts, (list, tuple)) else [fronts]:
                wrong = self._check(sender, front, expected)
                if wrong:
                    self.problems.append(wrong)

    def expect_soon(self, sender, front, expected, seconds=10):
        """Requires the outcome within a timeout, for changes that the barrier does not order: of the node, or a repair."""
        wrong = None

        def is_as_expected():
            nonlocal wrong
            wrong = self._check(sender, front, expected)
            return wrong is None

        self.require(pace.wait_until(is_as_expected, seconds), f"after {seconds:g} s, stretched by the load, still: {wrong}")

    def _check(self, sender, front, expected):
        return probe.check(self.topology, sender, front.protocol, front.ip, front.port, self.family, expected)

    def expect_one(self, sender, fronts, expected, questions=12):
        """Requires that one of the expected servers answers all requests to all these fronts; returns its name."""
        servers = set()
        for front in fronts if isinstance(fronts, (list, tuple)) else [fronts]:
            lines = probe.ask(self.topology, sender, front.protocol, front.ip, front.port, self.family, questions,
                              probe.patience_of(expected), first_syn_only=True)
            wrong = outcomes.misfit(expected, lines, probe.source_ip(sender, front.ip, self.family), self.family)
            self.require(wrong is None, f"{sender.name} → {front.protocol} {front.ip} port {front.port}: {wrong}")
            servers |= {line.split()[1] for line in lines if line.startswith("ok ")}
        self.require(len(servers) == 1, f"{sender.name} met {', '.join(sorted(servers)) or 'no server'}, expected exactly one")
        return min(servers, default="")

    def expect_shares(self, sender, front, hosts, questions=150):
        """Requires that each host answers about the same number of connections."""
        lines = probe.ask(self.topology, sender, front.protocol, front.ip, front.port, self.family, questions)
        for host in hosts:
            share = sum(line.split()[1:2] == [host.name] for line in lines)
            # With two or three endpoints, less than that is more than six standard deviations off.
            self.require(share > questions / len(hosts) * 0.45,
                         f"{host.name} answered {share} of {questions} connections to {front.ip}")

    def remark(self, sentence):
        self.remarks.append(sentence)

    def require(self, condition, sentence):
        if not condition:
            self.problems.append(sentence)

    def hammer(self, sender, front, **options):
        """A running probe.Hammer: its first attempt has completed."""
        hammer = probe.Hammer(self.topology, sender, front.protocol, front.ip, front.port, **options)
        hammer.wait_attempts(0)
        return hammer

    def require_unbroken(self, hammer, sentence):
        """Requires that the hammer has connected, without a failure."""
        counts = hammer.stop()
        self.require(counts["ok"] > 0, f"{sentence}: the hammer never connected")
        self.require(counts["failed"] == 0, f"{sentence}: {counts['failed']} failed connects of {counts['failed'] + counts['ok']}, "
                                            f"first: {counts['first_failure']} at {counts['first_failure_time']}")
        return counts

    def hold(self, sender, front):
        return probe.Held(self.topology, sender, front.protocol, front.ip, front.port)

    # Other servers, and cleanup.

    def listen(self, place, name, port, addresses=()):
        """Starts a server that is no endpoint, to receive packets that the proxy must not touch."""
        server = self.topology.serve(place, name, [port], [self.protocol], addresses)
        self.defer(lambda: probe.shell.stop(server))
        return name

    def defer(self, action):
        self._cleanup.append(action)

    def close(self):
        while self._cleanup:
            self._cleanup.pop()()


def trial_parameters(one, family, protocol, source_name):
    """The words that distinguish this run of the case from its other runs."""
    return [word for word in (family, protocol, source_name, one.config) if word and word != DEFAULT]


def run_trial(results, one, bench, family, protocol, source_name):
    """Runs one case with one set of parameters and records the result."""
    label = "-".join(["c", *map(str, one.numbers), family, protocol]) if one.numbers else f"{one.area}-{family}-{protocol}"
    trial = Trial(bench, label, family, protocol)
    record = {
        "name": one.name, "numbers": list(one.numbers), "title": one.title, "test": one.test,
        "parameters": trial_parameters(one, family, protocol, source_name),
        "result": tap.PASS, "reason": "",
    }
    declared = bench.profile.declared.about(one, protocol)
    if declared:
        record.update(result=tap.UNSUPPORTED, reason=declared.sentence, declared=declared.what, seconds=0)
        if not bench.profile.verifies:
            results.add(record)
            return
        record["result"] = tap.PASS
    started = time.monotonic()
    try:
        try:
            with trial.busiest:
                one.function(trial)
        finally:
            trial.close()
    except (Skip, Missing) as reason:
        record.update(result=tap.SKIP, reason=str(reason))
    except Exception as error:  # pylint: disable=broad-except  # one broken case must not hide the others
        trial.problems.append(f"{type(error).__name__}: {error}")
    if declared:
        record["works"] = not trial.problems
        record.update(result=tap.UNSUPPORTED if trial.problems else record["result"], reason=declared.sentence)
        trial.remarks.append(record["reason"] if trial.problems else f"{record['reason']}; but it works")
        trial.problems.clear()
    if trial.problems:
        record.update(result=tap.FAIL, reason="; ".join(trial.problems))
    if trial.differences:
        record["differs"] = sorted(trial.differences)
    other_modes = sorted(trial.served_by & {*BACKENDS} - {bench.backend})
    if other_modes:
        record["modes"] = other_modes  # in addition to the mode of the run
    record["seconds"] = round(time.monotonic() - started, 2)
    results.add(record, trial.problems + trial.remarks)


def run_side_by_side(work, workers):
    """Runs the functions in a few threads: cases mostly wait for packets and for the daemon."""
    queue = list(reversed(work))
    lock = threading.Lock()

    def loop():
        while True:
            with lock:
                if not queue:
                    return
                function = queue.pop()
            function()

    # Daemon threads: an interrupted run must not wait for the rest of the queue.
    threads = [threading.Thread(target=loop, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# A process on the node sends from the node's second address. Masquerading uses the first one, which makes a missing
# masquerade visible.
NODE = a.NODE_SECOND
POD, EXT = a.POD, a.EXT
REJECTED, DROPPED, UNTOUCHED, VACANT = outcomes.REJECTED, outcomes.DROPPED, outcomes.UNTOUCHED, outcomes.VACANT
kept, masqueraded, untouched = outcomes.kept, outcomes.masqueraded, outcomes.untouched
