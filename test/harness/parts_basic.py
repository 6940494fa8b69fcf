# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts without system tests: lint, check, apiserver, kernel, demo, bench, dist."""

import os

from parts_build import BUILD, FILLER_WEIGHT, INSTALL, PLAIN, PROGRAMS, READY, TOOLS, TREE
from results import trs_files
from step import CHECKS, NEVER, STATUS, TAP, Step

# Programs of test/lint; each prints TAP.
LINT = ("benchmarks.py", "extension_ids.py", "includes.py", "headers.py", "links.py", "log_messages.py", "monitoring.py",
        "names.py", "pages.py", "pictures.py", "reference.py", "sleeps.py", "spelling.py", "standard_headers.py", "versions.py",
        "vocabulary.py", "shell.sh")
# Steps of part lint that use packages of the distribution, such as promtool and Python's yaml. The others start beside the
# installation of packages.
LINT_WITH_PACKAGES = ("monitoring.py", "spelling.py", "run", "conformance", "selftest")
# Programs of `make check` that run one test when its name is given.
CPPUNIT = ("test/unit/unit_tests", "test/unit/iptables_tests", "test/unit/ipvs_tests", "test/unit/nftables_tests",
           "test/unit/userspace_tests")
FINDINGS = ("test/fuzz/fuzz_targets",)  # failures are never retried


def lint(run):
    starter = {".py": ["python3"], ".sh": []}

    def step(name, command, expected=5):
        return Step("lint", name, command, 60, weight=0.7, expected=expected, needs=(INSTALL,) if name in LINT_WITH_PACKAGES else ())

    return [*(step(name, [*starter[name[-3:]], run.test("lint", name)]) for name in LINT),
            *(step(name, ["python3", run.test(f"system/{name}_test.py")]) for name in ("run", "conformance")),
            step("upstream", ["python3", run.test("cluster/selftest_upstream.py")], 2),
            step("selftest", ["python3", run.test("harness/selftest.py")], 15)]


def check(run):
    """Every program of `make check` leaves its TAP in NAME.log and its verdict in NAME.trs."""
    def command():
        for verdict in trs_files(run.build):  # those of an earlier run would be counted
            os.remove(verdict)
        return ["make", "-C", run.build, "-k", "-j", str(run.jobs), "check", *PLAIN]

    # Expected longer than it takes, so that it starts early, but after virtual machines: it needs both processors, which only
    # small steps share.
    return [Step("check", "", command, 900, CHECKS, needs=(BUILD, PROGRAMS), locks=(TREE,), weight=0.8, expected=500,
                 again=lambda step, failure: check_again(run, step, failure))]


def check_again(run, step, failure):
    """One program of `make check` as the makefile runs it; one test of it where it can be chosen."""
    if not failure.source or failure.source in FINDINGS:
        return None
    program = run.built(failure.source)
    if not os.path.exists(program):
        program = os.path.join(run.source, failure.source + ".sh")
    environment = {"SLUICE_TEST_DATA": run.test(), "SLUICE_SRCDIR": run.source, "SLUICE_BUILDDIR": run.build,
                   "CXX": run.variable("CXX")}
    only = ["--exact", failure.name] if failure.source in CPPUNIT and not failure.whole else []
    return Step(step.part, step.name, ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", run.build, program, *only], step.limit,
                TAP, environment=environment)


def apiserver(run):
    return [Step("apiserver", "test", ["python3", run.test("apiserver/test_apiserver.py")], 300, needs=READY, weight=0.1,
                 expected=80)]


def kernel(run):
    """A backend without the daemon, against a real kernel."""
    system = run.test("system")

    def step(name, limit, script, program, *words, expected=30):
        target = f"test/system/{program}"
        starter = [] if not script else ["python3", f"{system}/{script}"] if script.endswith(".py") else [f"{system}/{script}"]
        return Step("kernel", name, [*starter, run.built(target), *words], limit, needs=READY, after=(PROGRAMS,),
                    programs=(target,), weight=0.2, expected=expected, environment={"SLUICE_BUILDDIR": run.build})

    return [
        step("iptables", 300, "iptables_kernel_test.sh", "iptables_roundtrip", expected=60),
        step("userspace", 120, "iptables_kernel_test.sh", "userspace_roundtrip"),
        step("ipset", 120, "ipset_kernel_test.sh", "ipset_roundtrip"),
        step("ipvs-rules", 180, "iptables_kernel_test.sh", "ipvs_rules_roundtrip"),
        step("nftables", 120, "nftables_kernel_test.sh", "nftables_roundtrip"),
        step("nftables-crowd", 120, None, "nftables_crowd"),
        step("nftables-listing", 300, "nftables_listing_test.py", "nftables_layout"),
        step("nftables-random", 1800, None, "nftables_random", "--steps", "10000" if run.long else "300"),
    ]


def separate(run):
    """Each source file compiles by itself. The short form has installed code, the long form tests as well. No other step waits for
    it, so it runs when a processor is idle."""
    command = ["chrt", "--idle", "0", run.test("separate.sh"), run.built("separate"), "objects" if run.long else "installed-objects"]
    return [Step("separate", "", command, 3600, STATUS, "each file compiles by itself", needs=READY, after=(PROGRAMS,),
                 weight=FILLER_WEIGHT, expected=300, again=NEVER, nice=19, environment={"SLUICE_JOBS": str(run.jobs)})]


def demo(run):
    command = [os.path.join(run.source, "packaging/demo/demo.sh"), "--build-dir", run.build]
    # It runs make to ensure that there is a build.
    return [Step("demo", "", command, 300, STATUS, "the demo answers as it says", needs=READY, after=(PROGRAMS,), locks=(TREE,),
                 weight=0.4)]


def bench(run):
    """Benchmarks compare times: in the long form little else runs in parallel, and never another benchmark. The short form runs
    them with tiny sizes and compares nothing."""
    forms = (("smoke", "bench", "the benchmark", 3600, 135), ("scale", "scale", "the benchmark of nftables mode", 5400, 20),
             ("swap", "swap", "the benchmark of swaps", 3600, 20))
    # Heap memory and instructions, which other programs do not change.
    ready = {"needs": READY, "after": (PROGRAMS,), "programs": (TOOLS,)}
    core = [run.built("test/tools/corescale"), *(["--full"] if run.long else [])]
    made = [Step("bench", name, [*core, *words], 3600 if run.long else 300, expected=expected, **ready)
            for name, words, expected in (("core", [], 6), ("core-instructions", ["--instructions"], 30))]
    for name, program, title, limit, tiny in forms:
        command = ["python3", run.test("bench", f"{program}.py"), "--builddir", run.build]
        about = {"locks": ("bench",), **ready}
        if run.long:
            made.append(Step("bench", name, [*command, "--json", run.log(f"{program}.json")], limit, STATUS, title, again=NEVER,
                             expected=limit / 2, weight=1.6, quiet=True, **about))
        else:
            made.append(Step("bench", name, [*command, "--smoke"], 300, expected=tiny, weight=0.4, **about))
    # Beside a real kube-proxy it would take hours, so both forms run it with one tiny size; without the programs of Kubernetes
    # it tests itself and counts the rest as skipped.
    compare = ["python3", run.test("bench/compare/compare.py"), "--builddir", run.build, "--smoke"]
    return [*made, Step("bench", "compare", compare, 600, locks=("bench",), weight=0.4, expected=40, **ready)]


def dist(run):
    """The short form checks that the tarball has every file; the long form builds, tests and installs from it, at another
    level of optimisation."""
    has_clone = os.path.exists(os.path.join(run.source, ".git"))
    made = [Step("dist", "tarball", [run.test("lint/tarball.sh"), run.build], 300, STATUS,
                 "the tarball has every file of the clone", needs=READY, after=(PROGRAMS,), locks=(TREE,), weight=1,
                 absent=lambda: None if has_clone else "there is no clone to compare the tarball with")]
    if run.long:
        command = ["make", "-C", run.build, "-j", str(run.jobs), "distcheck",
                   "DISTCHECK_CONFIGURE_FLAGS=--enable-werror CXXFLAGS=-O0"]
        made.append(Step("dist", "distcheck", ["sh", "-c", 'CXX=$(sed -n "s/^CXX = //p" "$1/Makefile") && export CXX && shift '
                                               '&& exec "$@"', "sh", run.build, *command], 1200, STATUS, "make distcheck",
                         needs=READY, after=(PROGRAMS,), locks=(TREE,), weight=2, expected=900, again=NEVER))
    return made
