# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts in builds with sanitizers: asan, fuzz, tsan. Reports of sanitizers and findings of fuzz targets are failures that are
never retried."""

import dataclasses

from parts_build import ASAN, TSAN
from parts_system import BUT_TRAFFIC, cases, only_trial
from step import NEVER, Step

MODES = ("iptables", "nftables", "userspace")


def exact(step, failure):
    """The step with one test of a CppUnit program in place of those it chose."""
    program = next(place for place, word in enumerate(step.command) if word.endswith("_tests"))
    return dataclasses.replace(step, command=[*step.command[:program + 1], "--exact", failure.name])


class Watched:
    """Steps of one part: each leaves what sanitizers report in one folder, which the last step counts."""

    def __init__(self, run, part, build, tree):
        self.run = run
        self.part = part
        self.tree = run.built(tree)
        self.reports = run.log(f"{part}-reports")
        self._needs = (build,)
        self.steps = []

    def detection(self, kind):
        self._add(Step(self.part, "detection", [self.run.test("sanitizers/detection_test.sh"), self.tree, kind], 300,
                       clean=(self.reports,), needs=self._needs))

    def add(self, name, limit, command, **about):
        """A program that prints TAP."""
        words = [self.run.test("sanitizers/watched.sh"), self.reports, *command]
        self._add(Step(self.part, name, words, limit, after=(f"{self.part}/detection",), needs=self._needs, reports=self.reports,
                       **about))

    def unit(self, program, fragment=None, weight=0.6, expected=15):
        name = program if not fragment else f"{program.removesuffix('_tests')}-{fragment}"
        limit = 1200 if not fragment else 600 if program.startswith("userspace") else 300
        command = ["env", f"SLUICE_TEST_DATA={self.run.test()}", f"SLUICE_SRCDIR={self.run.source}",
                   f"SLUICE_BUILDDIR={self.tree}", f"{self.tree}/test/unit/{program}", *([fragment] if fragment else [])]
        self.add(name, limit, command, again=exact, weight=weight, expected=expected)

    def system(self, name, limit, *words, expected):
        # Clients and servers are those of the main build: the daemon is watched, and they start thousands of times.
        words += ("--netecho", self.run.built("test/tools/netecho"))
        self.add(f"system-{name}", limit, cases(self.run, self.part, name, limit, *words, builddir=self.tree,
                                                log=f"{self.part}-system-{name}").command, again=only_trial, weight=0.7,
                 expected=expected)

    def finish(self):
        before = tuple(step.id for step in self.steps)
        self._add(Step(self.part, "reports", [self.run.test("sanitizers/reports.sh"), self.reports], 60, needs=self._needs,
                       after=before, again=NEVER, weight=0.3, expected=1))
        return self.steps

    def _add(self, step):
        self.steps.append(step)


# These cases measure memory and times of the daemon, which a sanitizer changes.
UNMEASURED = (*BUT_TRAFFIC, "--except", "cases_hostile.memory", "--except", "cases_hostile.delay")


def asan(run):
    """Memory and undefined behaviour: all unit tests, and the daemon with real packets."""
    watched = Watched(run, "asan", ASAN, "clang")
    watched.detection("address")
    for program, weight, seconds in (("unit_tests", 0.5, 90), ("iptables_tests", 0.7, 45), ("ipvs_tests", 0.6, 35),
                                     ("nftables_tests", 0.6, 85), ("userspace_tests", 0.2, 50)):
        watched.unit(program, weight=weight, expected=seconds)
    if run.long:
        for mode in MODES:
            watched.system(mode, 3600, *UNMEASURED, "--backend", mode, expected=1200)
    else:
        # The short form takes each source once, and both families and protocols; the configurations of the daemon differ in
        # rules, which the part system tests.
        watched.system("manifests", 600, *UNMEASURED, "--source", "manifests", "--family", "v6", "--protocol", "udp", "--lanes", "3",
                       expected=25)
        watched.system("apiserver", 600, *UNMEASURED, "--backend", "nftables", "--source", "apiserver", "--family", "v4",
                       "--protocol", "tcp", "--lanes", "3", expected=220)
        watched.system("nftables-manifests", 600, *UNMEASURED, "--backend", "nftables", "--source", "manifests", "--once",
                       "--filter", "cases_nftables.*", "--filter", "cases_nftablesdrift.*", expected=90)
        # All of it together: a relay goes on while programs are started and everything else happens.
        watched.system("userspace", 600, *UNMEASURED, "--backend", "userspace", "--short", "--family", "v4", "--lanes", "4", expected=110)
    # Libraries come and go while everything runs.
    watched.system("swap", 600, "--family", "v4", "--filter", "cases_swap.every_pair", expected=45)
    return watched.finish()


def fuzz(run):
    command = [run.test("fuzz/fuzz.sh"), "--builddir", run.built("clang"), "--seconds", "600" if run.long else "1",
               "--jobs", str(run.jobs)]
    weight, expected = (2, 14400) if run.long else (0.7, 90)
    return [Step("fuzz", "targets", command, 36000, needs=(ASAN,), again=NEVER, weight=weight, expected=expected)]


def tsan(run):
    """Threads: unit tests of the core and of the backends that have some, and the daemon with the print example while
    everything changes; in the long form with real packets too."""
    watched = Watched(run, "tsan", TSAN, "thread")
    watched.detection("thread")
    watched.unit("unit_tests", expected=110)
    # Where the backend has threads. GCC 12's sanitizer does not know how std::timed_mutex, which guards the writing of
    # rules, waits, and takes it for unlocked.
    # They mostly wait.
    for program, fragments in (("userspace_tests", {"Udp": 30, "Tcp": 12, "Balancer": 6, "EventLoop": 1, "MetricsReporter": 1}),
                               ("nftables_tests", {"TableWatch": 2, "NftablesBackendTest": 2, "NetlinkTable": 1, "OwnSenders": 1}),
                               ("ipvs_tests", {"FlowKeeper": 1})):
        for fragment, seconds in fragments.items():
            watched.unit(program, fragment, weight=0.2, expected=seconds)
    watched.add("change", 1200, ["python3", run.test("sanitizers/daemon_under_change.py"), "--builddir", watched.tree,
                                 "--seconds", "300" if run.long else "10"], weight=1.0, expected=300 if run.long else 90)
    if run.long:
        for mode in MODES:
            watched.system(mode, 3600, *BUT_TRAFFIC, "--backend", mode, expected=1200)
    return watched.finish()
