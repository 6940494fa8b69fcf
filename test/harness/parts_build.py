# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that other steps need: packages of the distribution, the build, and builds of other kinds. Each has its own row in
the table; parts that need them add them."""

import os
import shlex
import shutil
import subprocess

from step import NEVER, STATUS, Step

INSTALL, BUILD, PROGRAMS = "install", "build", "build-check"
ASAN, TSAN, PACKAGES = "build-asan", "build-tsan", "packages"
READY = (BUILD,)
SIDE_WEIGHT = 1.0  # of builds beside tests: they have a low priority and use what tests leave
FILLER_WEIGHT = 0.1  # of a step that runs only when a processor is idle
TREE = "build tree"  # lock: one make at a time
TOOLS = "test-tools"  # target of make: programs of benchmarks and system tests that make does not build otherwise


def builds(run, steps):
    """The builds by name; `steps` are those chosen, whose check programs are made."""
    made = [
        Step(INSTALL, "", [os.path.join(run.source, "packaging/install-deps.sh"), "build", "test"], 1800, STATUS,
             "packaging/install-deps.sh build test", weight=0.5, expected=60, counted=False, is_build=True, again=NEVER),
        Step(BUILD, "", lambda: _build(run), 1500, STATUS, "the build, warnings being errors", needs=(INSTALL,), locks=(TREE,),
             weight=2, expected=300, is_build=True, again=NEVER, environment=_compilers(run.jobs)),
        _check_programs(run, steps), _asan(run), _tsan(run), _packages(run),
    ]
    return {step.id: step for step in made}


def _compilers(jobs):
    """With ccache, what the main build compiles is not compiled again for the packages. A warning that is no error there was
    none here."""
    return {"SLUICE_JOBS": str(jobs), "CCACHE_IGNOREOPTIONS": "-Werror"}


# Line numbers for backtraces; types for debuggers take a third of the compiler's time. GCC collects garbage from 128 MiB on, which
# takes a tenth of its time; without that it takes 1.5 GB for the largest file in place of 1.1 GB. clang++ rejects the word.
LINES_ONLY = "-g1" if "CXX" in os.environ else "-g1 --param=ggc-min-heapsize=1048576"


def packaging(run):
    """The environment in which packages are built. The long form has types for debuggers and the usual compression, as a
    release does. Debug symbols are compressed already: xz takes twenty times gzip's time to make them a fiftieth smaller."""
    quick = {"DEB_CXXFLAGS_APPEND": LINES_ONLY, "DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    return {**_compilers(run.jobs), **({} if run.long else quick)}


def _build(run):
    """On Debian, tests use the same compiler flags as the packages. The tree of the packages is SOURCE/build."""
    words = ["env"]
    try:
        said = subprocess.run(["dpkg-buildflags"], cwd=run.source, capture_output=True, text=True, check=True, env={
            **os.environ, "DEB_BUILD_MAINT_OPTIONS": "hardening=+all", "DEB_CXXFLAGS_APPEND": LINES_ONLY}).stdout
        flags = dict(line.partition("=")[::2] for line in said.splitlines())
        here, there = f"{run.source}=.", f"{run.build}=./build"
        flags["CXXFLAGS"] = flags["CXXFLAGS"].replace(f"-ffile-prefix-map={here}", f"-ffile-prefix-map={there}")
        words += [f"{name}={flags[name]}" for name in ("CXXFLAGS", "CPPFLAGS", "LDFLAGS")]
    except (OSError, subprocess.CalledProcessError):
        words.append(f"CXXFLAGS={LINES_ONLY} -O2")
    words += [f"CXXFLAGS={os.environ['CXXFLAGS']}"] if "CXXFLAGS" in os.environ else []
    return [*words, os.path.join(run.source, "packaging/build.sh"), run.build, "--enable-werror"]


# Tests are compiled without optimisation, which would take as long as they run. Failures print their line, so line numbers for
# debuggers are omitted, which saves a sixth of the compile time.
PLAIN = ("CXXFLAGS=-g0 -O0", "CPPFLAGS=")


def _check_programs(run, steps):
    """Everything that is compiled after the main build, before any test runs. clang++ takes half the time that g++ takes, which
    compiles tests in the long form."""
    whole = any(step.part == "check" for step in steps)
    targets = {one for step in steps for one in step.programs}
    tests = ["check", "TESTS="] if whole else sorted(targets - {TOOLS})

    def command():
        make = ["make", "-C", run.build, "-k", "-j", str(run.jobs)]
        if run.long or not shutil.which("clang++"):
            tools, precompiled, plain = [TOOLS], [], [*PLAIN]
        else:
            quick = ["CPPFLAGS=", "CXX=clang++", "SLUICE_UNITY_CXXFLAGS=", *(["LDFLAGS=-fuse-ld=lld"] if shutil.which("ld.lld") else [])]
            tools = [TOOLS, "CXXFLAGS=-g0 -O2", *quick]
            # Shared objects and programs read the same precompiled headers, so both are position independent.
            plain = [f"{PLAIN[0]} -fPIC", *quick]
            precompiled = ["precompiled/standard.hpp.pch", *plain]
            plain.append("precompiled_flags=-include precompiled/standard.hpp")
        chosen = ([tools] if TOOLS in targets else []) + ([precompiled, [*tests, *plain]] if tests else [])
        return ["sh", "-c", "status=0\n" + "".join(f"{shlex.join([*make, *words])} || status=$?\n" for words in chosen if words)
                + "exit $status"]

    return Step(PROGRAMS, "", command, 1500, STATUS, "programs of the tests are built", needs=READY, locks=(TREE,), weight=1.4,
                expected=240 if whole else 60, counted=False, is_build=True, again=NEVER)


def has_libfuzzer(run):
    source = run.log("libfuzzer.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
    with open(run.log("libfuzzer.log"), "wb") as log:
        try:
            return subprocess.run(["clang++", "-fsanitize=fuzzer", source, "-o", run.log("libfuzzer")], stdout=log, stderr=log,
                                  check=False).returncode == 0
        except OSError:
            return False


# Make variables that exclude targets from sanitizer builds: tools, which tests use from the main build; for threads, plugins
# and tests without threads.
WITHOUT_TOOLS = "conformanceexec_PROGRAMS="
PLUGINS = "plugin_LTLIBRARIES="
# Tests that part tsan runs: those that start threads.
THREADED_TESTS = ("unit_ipvs_sources=test/unit/ipvs/flows/flow_keeper_test.cpp",
                  *(f"unit_{one}_sources=$(unit_{one}_threaded_sources)" for one in ("nftables", "userspace")),
                  "unit_unit_tests_sources=$(unit_threaded_sources)")
# The sources of ipvs mode that those tests call.
THREADED_IPVS = ("ipvs_sources=$(ipvs_threaded_sources)",)
# Not linked into a program, but loaded by the daemon of part tsan. Make builds the other libraries that a program needs.
THREADED_LIBRARIES = ("noinst_LTLIBRARIES=sdk/examples/print/print.la",)
# The address sanitizer reports each use of a null pointer; a second check before it is a seventh of the compiler's time.
NULL = "-fno-sanitize=null"


# For the tests' own sources: no line numbers, and no checks of undefined behaviour, which take a quarter of the compiler's time.
PRODUCT_ONLY = "-g0 -fno-sanitize=undefined"


def _watched(run, flags, tests, *make_variables):
    """The environment of a sanitizer build. The long form builds everything, with some optimization and all checks."""
    if run.long:
        return {"SLUICE_JOBS": str(run.jobs), "CXXFLAGS": "-g1 -O1", "SLUICE_TESTS_CXXFLAGS": "", "SLUICE_MAKE_VARIABLES": ""}
    return {"SLUICE_JOBS": str(run.jobs), "CXXFLAGS": f"-g1 -O0 {flags}", "SLUICE_TESTS_CXXFLAGS": tests,
            "SLUICE_MAKE_VARIABLES": " ".join(make_variables)}


def _asan(run):
    """asan and fuzz share clang's build, which alone has libFuzzer and reports of both sanitizers in one place."""
    units = (f"test/unit/{one}_tests" for one in ("unit", "iptables", "ipvs", "nftables", "userspace"))
    programs = "" if run.long else " ".join((*units, "test/fuzz/fuzz_targets", "test/tools/sluiced-faults"))
    command = [run.test("sanitizers/build.sh"), run.built("clang"), "clang++", programs, "--enable-sanitizers=address,undefined",
               "--enable-fuzzing" if run.long else "--enable-fuzzing=targets"]
    why = "clang++ with libFuzzer is missing; install clang and libclang-rt-dev"
    return Step(ASAN, "", command, 2400, STATUS, "the build for address and undefined behaviour", needs=READY,
                after=(PROGRAMS,), locks=("clang tree",), weight=SIDE_WEIGHT, expected=600, is_build=True, again=NEVER, nice=10,
                environment=_watched(run, NULL, PRODUCT_ONLY, WITHOUT_TOOLS), absent=lambda: None if has_libfuzzer(run) else why)


def _tsan(run):
    """Compiled by clang, which is faster than g++ without optimisation."""
    programs = "test/unit/unit_tests test/unit/userspace_tests test/unit/nftables_tests test/unit/ipvs_tests"
    compiler = "g++" if run.long else "clang++"
    command = [run.test("sanitizers/build.sh"), run.built("thread"), compiler, programs, "--enable-sanitizers=thread"]
    return Step(TSAN, "", command, 2400, STATUS, "the build for threads", needs=READY, after=(PROGRAMS,),
                locks=("thread tree",), weight=SIDE_WEIGHT, expected=400, is_build=True, again=NEVER, nice=10,
                environment=_watched(run, "", "-g0", WITHOUT_TOOLS, PLUGINS, *THREADED_TESTS, *THREADED_IPVS, *THREADED_LIBRARIES))


def _packages(run):
    """Its `make distdir` at the start writes to a folder of its own and compiles nothing, so the build tree is not locked."""
    script = os.path.join(run.source, "packaging/debian/build.sh")
    command = ["sh", "-c", 'rm -f "$2/done"; "$1" "$2" "$3" && : >"$2/done"', "packages", script, run.built("packages"), run.build]
    return Step(PACKAGES, "", command, 2400, STATUS, "the Debian packages are built", needs=READY, after=(PROGRAMS,),
                weight=SIDE_WEIGHT, expected=400, is_build=True, again=NEVER, nice=10,
                environment=packaging(run))
