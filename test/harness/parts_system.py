# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts with real packets on this machine's kernel: system, swap, kit."""

import dataclasses
import os

from parts_build import PROGRAMS, READY, TOOLS
from step import Step

# Cases that compare parallel traffic need a machine with idle processors, so they have a part of their own.
TRAFFIC = ("cases_swap.", "cases_swapfaults.", "cases_swapaffinity.", "cases_restart.", "cases_reload.",
           "cases_holder.killed", "cases_holder.restarted")
BUT_TRAFFIC = tuple(word for file in TRAFFIC for word in ("--except", file))
ONLY_TRAFFIC = tuple(word for file in TRAFFIC for word in ("--filter", file))
# Those that depend on the variant of iptables: leftover state of a swap, adopted state at start, rules that settings change.
LEGACY_TRAFFIC = tuple(word for case in ("cases_swap.every_pair", "cases_restart.in_kernel", "cases_reload.of_the_rules")
                       for word in ("--filter", case))
# Tests the clients of these tests, which are the same program for both families: the short form uses one family.
TRAFFIC_ITSELF = "cases_swap.notices"
# Groups of the kit's own checks. Part system runs the cases themselves, so the short form has these groups and one case.
KIT_GROUPS = tuple(word for group in ("file", "contract", "cost", "kill", "claims", "cleanup", "foreign", "random")
                   for word in ("--only", group))
SYSTEM_PROGRAMS = (TOOLS, "test/tools/netlinkfaults.la", "test/plugins/other_major.la")


def only_trial(step, failure):
    """The step with only this test, for test/system/run.py and kit.py, which accept the printed name. Logs and reports of the
    first run are kept."""
    program = next(place for place, word in enumerate(step.command) if word.endswith(("/run.py", "/kit.py")))
    command, words = list(step.command[:program + 1]), iter(step.command[program + 1:])
    for word in words:
        if word in ("--results", "--json"):
            next(words)
        elif word == "--keep-logs":
            command += [word, os.path.join(next(words), "again")]
        else:
            command.append(word)
    return dataclasses.replace(step, command=[*command, "--only-trial", failure.name])


def filtered(run, command):
    """The command with the --filter of the whole run in place of the step's own filters."""
    if not run.words:
        return list(command)
    kept, skip = [], False
    for word in command:
        if skip or word == "--filter":
            skip = not skip
        else:
            kept.append(word)
    return [*kept, *(word for one in run.words for word in ("--filter", one))]


def cases(run, part, name, limit, *words, results=None, builddir=None, log=None, **more):
    """A step of test/system/run.py."""
    log = log or f"{part}-{name}"
    command = ["python3", run.test("system/run.py"), "--builddir", builddir or run.build, *words]
    about = {"needs": READY, "after": (PROGRAMS,), "programs": SYSTEM_PROGRAMS, "again": only_trial, **more}
    if results:
        about["records"] = run.log(f"{results}.json")
        command += ["--results", about["records"]]
    command += ["--keep-logs", run.log(log)]
    return Step(part, name, filtered(run, command), limit, **about)


def system(run):
    """Every case runs undisturbed in iptables and nftables mode. Cases that share a daemon run again while everything around
    them changes. Every case of iptables mode runs with legacy iptables, and cases about the backend in userspace mode.
    The short form uses manifests in iptables mode and the API server in nftables mode, and runs most cases once with
    legacy iptables, without those about the API server. The long form also tests userspace mode under change, and the tests themselves."""
    short = () if run.long else ("--short",)

    def step(name, *words, results=None, expected=120):
        return cases(run, "system", name, 900, *BUT_TRAFFIC, *words, *short, results=results, expected=expected, weight=0.7)

    made = [
        Step("system", "fd-holder", ["python3", run.test("system/fd_holder_test.py")], 120, needs=READY, weight=0.4),
        Step("system", "requests", ["python3", run.test("system/requests_test.py")], 120, needs=READY, weight=0.1),
        Step("system", "asking", ["python3", run.test("system/asking_test.py"), run.built("test/tools/netecho")], 120,
             needs=READY, weight=0.1),
        step("iptables", "--lanes", "4", results="system-nft", expected=230),
        step("nftables", "--lanes", "4", "--backend", "nftables", results="system-nftables", expected=160),
        *(step(f"{mode}-churn", "--backend", mode, "--churn", expected=25) for mode in ("iptables", "nftables")),
        step("legacy", "--lanes", "4", "--iptables", "legacy", results="system-legacy", expected=130),
        step("userspace", "--lanes", "4", "--backend", "userspace", results="system-userspace", expected=100),
        step("userspace-legacy", "--lanes", "3", "--backend", "userspace", "--iptables", "legacy", expected=20),
    ]
    if run.long:
        made.append(step("userspace-churn", "--backend", "userspace", "--churn"))
        made.append(Step("system", "selftest", ["python3", run.test("system/selftest.py"), "--builddir", run.build], 3600,
                         needs=READY, after=(PROGRAMS,), expected=1800))
    return made


# A step of the short form, the step that runs the same cases in the build for address errors, and with which family and protocol.
COVERED = {"system/iptables": ("asan/system-manifests", "v6/udp/manifests"),
           "system/nftables": ("asan/system-apiserver", "v4/tcp/apiserver"),
           "system/userspace": ("asan/system-userspace", "v4/tcp")}


def once_each(steps):
    """The steps, so that none of them runs a case with a family and protocol with which another one runs it."""
    chosen = {step.id for step in steps}
    made = []
    for step in steps:
        other, pair = COVERED.get(step.id, (None, None))
        made.append(dataclasses.replace(step, command=[*step.command, "--covered", pair]) if other in chosen else step)
    return made


def swap(run):
    """The daemon under traffic that must not be disturbed: backends are swapped, swaps fail, processes are killed, settings
    change. In the long form 1,000 swaps, 200 kills in each mode and 10,000 corrupt files, and connections held for 5 minutes.
    Little runs in parallel, and its steps run one at a time."""
    short = () if run.long else ("--short",)
    programs = ("test/tools/sluiced-faults", "test/plugins/faulty.la")

    def step(name, *words, expected):
        return cases(run, "swap", name, 28800 if run.long else 900, "--lanes", "2", *words, *short, results=f"swap-{name}",
                     programs=programs, weight=0.4, quiet=True, locks=("swap",), expected=expected)

    made = [*(step(mode, "--backend", mode, *ONLY_TRAFFIC, *(() if run.long else ("--except", TRAFFIC_ITSELF)), expected=seconds)
              for mode, seconds in (("iptables", 280), ("nftables", 25), ("userspace", 30))),
            step("legacy", "--iptables", "legacy", *(ONLY_TRAFFIC if run.long else LEGACY_TRAFFIC), expected=45)]
    if not run.long:
        made.append(step("traffic", "--backend", "iptables", "--once", "--filter", TRAFFIC_ITSELF, expected=90))
    return made


def kit(run):
    """Runs the conformance kit on every backend of the tree as on a third-party plugin, without exceptions."""
    programs = ("test/tools/conformance-load", "test/tools/netecho", "test/plugins/mutant.la")
    extent = () if run.long else ("--short", "--family", "v4", "--only", "20", *KIT_GROUPS)
    about = {"needs": READY, "after": (PROGRAMS,), "programs": programs, "weight": 0.7}
    made = []
    for mode in ("iptables", "nftables", "userspace"):
        command = ["python3", run.test("system/kit.py"), "--builddir", run.build, "--lanes", "4", "--plugin",
                   run.built("plugins", mode, ".libs", f"{mode}.so"), *extent, "--json", run.log(f"kit-{mode}.json"),
                   "--keep-logs", run.log(f"kit-{mode}")]
        made.append(Step("kit", mode, command, 7200 if run.long else 300, again=only_trial, expected=20, **about))
    made += [_example(run, language, about) for language in ("c", "rust")]
    # One mistake that only the model detects; the long form has all mistakes.
    chosen = [] if run.long else ["--only", "forgets"]
    made.append(Step("kit", "mutants", ["python3", run.test("system/kit_mutants.py"), "--builddir", run.build, *chosen],
                     3600 if run.long else 300, **about))
    return made


def _example(run, language, about):
    """The whole kit, with all groups, on the example backend in that language. The long form has every family and protocol."""
    folder = run.log(f"example-{language}")
    words = ("--lanes", "4") if run.long else ("--lanes", "4", "--short")
    command = ["sh", run.test("sdk/example.sh"), language, folder, "python3", run.test("system/kit.py"), "--builddir", run.build,
               "--plugin", os.path.join(folder, f"nft-{language}.so"), *words, "--json", run.log(f"kit-{language}-example.json"),
               "--keep-logs", run.log(f"kit-{language}-example")]
    return Step("kit", f"{language}-example", command, 7200 if run.long else 900, again=only_trial, expected=200, **about,
                environment={"SLUICE_SRCDIR": run.source, "SLUICE_BUILDDIR": run.build})
