#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Judges a backend: loads one plugin into a real daemon on a node of network namespaces, and reports which parts of the
promised behaviour it keeps. Installed as sluice-conformance."""

import argparse
import contextlib
import dataclasses
import importlib
import os
import platform
import shutil
import subprocess
import sys
import time

import run as runner
from lib import addresses as a
from lib import cases, declaration, differences, extent, plugin, profile, programs, report, shell, snapshot, tap
from lib.topology import Topology

HERE = os.path.dirname(os.path.abspath(__file__))
# Files of cases about data planes, and of groups that only this kit has. All other files test the daemon, or one
# of its own backends.
FILES_OF_CASES = ("cases_affinity", "cases_changes", "cases_clusterip", "cases_conntrack", "cases_loadbalancer",
                  "cases_no_endpoints", "cases_nodeports", "cases_policies", "cases_resilience", "cases_terminating",
                  "cases_topology")
GROUPS = ("contract", "cost", "kill", "claims", "cleanup", "foreign", "random", "swap")
CASES, FILE = "cases", "file"
# Cases of some of our backends that hold for every other backend with the difference, or without it.
EITHER_WAY = {
    "cases_conntrack.terminating_endpoint": (differences.UDP_MOVES, False),
    "cases_conntrack.terminating_endpoint_ipvs": (differences.UDP_MOVES, True),
    "cases_nodeports.loopback_never_served": (differences.NEVER_LOOPBACK, True),
    "cases_nodeports.no_localhost_node_ports": (differences.NEVER_LOOPBACK, False),
}
# Numbered cases about data planes that do not apply to plugins, and the reasons.
NOT_JUDGED = {
    40: "the response of the daemon at the health check node port of a Service",
    73: "the order of iptables rules; cases 74 to 76 test its visible effects",
    77: "the session affinity sets of nftables mode; cases 74 to 76 test their visible effects",
    82: "the written rules; the group cost measures the cost of a change",
    92: "a metric of the daemon",
    93: "the response of the daemon at the health check node port of a Service",
}
# For data planes that relay in their own process.
NOT_JUDGED_OF_RELAYS = {
    8: "the relaying backend of Sluice does not support SCTP",
    106: "tracked flows end at the relay, which closes them itself",
    109: "a client keeps its endpoint until the endpoint is removed, or until the UDP timeout expires",
}
PROGRAMS = {"cases_conntrack": "conntrack"}  # required by a file of cases
FAILED, USAGE, NOTHING = 1, 2, 3


def parser_of_options():
    parser = argparse.ArgumentParser(prog="sluice-conformance", description=__doc__, allow_abbrev=False)
    parser.add_argument("--plugin", required=True, metavar="FILE", help="the backend: a shared object")
    parser.add_argument("--declare", metavar="FILE",
                        help="declaration file of the plugin (default: beside it, with .conformance in place of .so)")
    parser.add_argument("--verify-declarations", action="store_true",
                        help="run cases that are declared unsupported, too, and report those that pass")
    parser.add_argument("--only", action="append", default=[], metavar="WHAT",
                        help=f"a group ({', '.join((FILE, CASES, *GROUPS))}), the number of a case, or part of a name; repeatable")
    parser.add_argument("--only-trial", metavar="NAME", help="run one test: NAME is its printed name, with parameters")
    parser.add_argument("--family", choices=a.FAMILIES)
    parser.add_argument("--protocol", choices=("tcp", "udp", "sctp"))
    parser.add_argument("--short", action="store_true",
                        help="each case with one family and protocol, fewer random steps, and the cost of fewer Services")
    parser.add_argument("--steps", type=int, metavar="N", help="number of random changes (default 200, with --short 20)")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of random changes (default: a new one each time)")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON to FILE")
    parser.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML to FILE")
    parser.add_argument("--keep-logs", metavar="DIR", help="copy the logs of the daemons to DIR")
    parser.add_argument("--strict", action="store_true", help="treat cases that cannot run on this machine as failures")
    parser.add_argument("--jobs", type=int, default=runner.WORKERS, help="number of parallel cases (default %(default)s)")
    parser.add_argument("--lanes", type=int, default=runner.LANES,
                        help="number of parallel test networks, each with a daemon (default %(default)s)")
    parser.add_argument("--list", action="store_true", help="list the selected tests and exit")
    parser.add_argument("--vm", action="store_true", help="run in a virtual machine, with a Debian kernel")
    parser.add_argument("--kernel", metavar="VERSION", help="with --vm: kernel version, such as 6.1 or 6.12")
    parser.add_argument("--vm-cache", metavar="DIR", help="with --vm: folder for kernels (default $SLUICE_VM_CACHE)")
    parser.add_argument("--builddir", help="take the programs from a build tree")
    parser.add_argument("--sbindir", help=argparse.SUPPRESS)
    parser.add_argument("--libexecdir", help=argparse.SUPPRESS)
    parser.add_argument("--plugindir", help=argparse.SUPPRESS)
    return parser


def options(words):
    parser = parser_of_options()
    wanted = parser.parse_args(words)
    extent.CHOSEN.steps = wanted.steps or (20 if wanted.short else extent.CHOSEN.steps)
    extent.CHOSEN.seed = wanted.seed
    extent.CHOSEN.services = 1000 if wanted.short else extent.CHOSEN.services
    if not wanted.vm and (wanted.kernel or wanted.vm_cache):
        parser.error("--kernel and --vm-cache are for --vm")
    return wanted


def folders(wanted):
    if wanted.builddir:
        return [os.path.join(wanted.builddir, one) for one in ("core", "test/tools")], os.path.join(wanted.builddir, "plugins")
    if wanted.sbindir and wanted.libexecdir and wanted.plugindir:
        return [wanted.sbindir, wanted.libexecdir], wanted.plugindir
    raise shell.CommandFailed("no programs found: pass a build tree with --builddir, or run sluice-conformance")


def load_cases():
    for name in (*FILES_OF_CASES, *(f"kit_{group}" for group in GROUPS)):
        importlib.import_module(name)
    return cases.registered()


def group_of(one):
    file = one.test.partition(".")[0]
    return file.removeprefix("kit_") if file.startswith("kit_") else CASES


def profile_of(found, declared, verifies):
    """The kind of data plane: that of a built-in backend, or as declared."""
    traits = {declaration.TRAITS[trait]: True for trait in declared.traits}
    more = {"families": found.families, "declared": declared, "verifies": verifies}
    if found.id in profile.BUILT_IN and not traits and not declared.differs:
        return dataclasses.replace(profile.BUILT_IN[found.id], **more)
    return profile.Profile(found.id, frozenset(declared.differs), **more, **traits)


def concerns(one, kind):
    """Returns whether a case is about such a data plane. Of cases for some of our backends those apply that hold for all
    backends in the kernel, where connections go on without the daemon; of two exclusive cases the declared one applies."""
    if "manifests" not in one.sources or "nft" not in one.variants or one.above:
        return False
    if kind.built_in:
        return kind.backend in one.backends
    if one.test in EITHER_WAY:
        difference, wanted = EITHER_WAY[one.test]
        return kind.meets(difference) == wanted and not (kind.relays and one.protocols == ("udp",))
    return set(cases.BACKENDS if kind.relays else cases.IN_KERNEL) <= set(one.backends)


def chosen(one, wanted):
    if not wanted.only:
        return True
    return any(text == group_of(one) or text.isdigit() and int(text) in one.numbers or
               not text.isdigit() and text not in (FILE, CASES, *GROUPS) and (text in one.name or text in one.test)
               for text in wanted.only)


class Kit:
    """One run."""

    def __init__(self, wanted, where, found, declared, everything):
        self.wanted = wanted
        self.where = where
        self.plugin = found
        self.declared = declared
        self.profile = profile_of(found, declared, wanted.verify_declarations)
        self.picked = [one for one in everything if concerns(one, self.profile) and chosen(one, wanted)]
        self.results = tap.Results()
        self.started = time.time()
        # The options of run.py.
        wanted.backend, wanted.profile, wanted.iptables, wanted.source = found.id, self.profile, "nft", "manifests"
        wanted.once, wanted.short, wanted.churn, wanted.covered = wanted.short, False, False, None

    def run(self):
        if not self.wanted.only or FILE in self.wanted.only:
            self.file()
        runnable = []
        for one in self.picked:
            missing = PROGRAMS.get(one.test.partition(".")[0])
            if missing and not shutil.which(missing) and not self.wanted.only_trial:
                self.add(one, [], tap.SKIP, f"{missing} is not installed")
            else:
                runnable.append(one)
        # Cases that compare traffic with its twin run alone on the machine.
        alone = [one for one in runnable if group_of(one) == "swap"]
        work = runner.jobs(self.where, self.wanted, [one for one in runnable if one not in alone], self.results)
        last = runner.jobs(self.where, self.wanted, alone, self.results)
        if work or last:
            # A plugin finds its own iptables.
            variant = "nft" if self.profile.built_in else None
            with contextlib.ExitStack() as stack:
                topologies = [stack.enter_context(Topology(self.where.netecho, variant))
                              for _ in range(max(1, min(self.wanted.lanes, len(work))))]
                for topology in topologies:
                    topology.pristine = snapshot.take(topology)
                try:
                    runner.run_all(topologies, work)
                    runner.run_all(topologies[:1], last)
                finally:
                    if self.wanted.keep_logs:
                        for topology in topologies:
                            runner.keep_logs(topology.directory, self.wanted.keep_logs)
        return self.finish()

    def file(self):
        for promise, problem in plugin.problems_of_file(self.plugin):
            if self.wanted.only_trial in (None, f"file: {promise}"):
                self.about_file(promise, problem)

    def about_file(self, promise, problem):
        """A result about the file; the problem is empty if there is none."""
        self.results.add({"name": f"file: {promise}", "numbers": [], "title": promise, "test": "file", "parameters": [],
                          "result": tap.FAIL if problem else tap.PASS, "reason": problem, "seconds": 0},
                         [problem] if problem else [])

    def add(self, one, parameters, result, reason, **more):
        """A result of a case that was not run."""
        self.results.add({"name": one.name, "numbers": list(one.numbers), "title": one.title, "test": one.test,
                          "parameters": parameters, "result": result, "reason": reason, "seconds": 0, **more})

    def finish(self):
        for line in self.stale():
            print(f"# {line}")
        self.results.finish()
        records = self.results.records
        made = report.document(self.about(), records)
        for line in report.text(made):
            print(f"# {line}")
        if self.wanted.json:
            report.write_json(self.wanted.json, made)
        if self.wanted.junit:
            report.write_junit(self.wanted.junit, made)
        found = made["counts"]
        if found[tap.FAIL] or self.wanted.strict and found[tap.SKIP]:
            return FAILED
        return 0 if found[tap.PASS] else NOTHING

    def digest(self):
        try:
            return self.plugin.sha256()
        except OSError:  # a folder, or nothing: reported elsewhere
            return None

    def stale(self):
        """Declarations that are not needed any more, if that was to be checked."""
        if not self.wanted.verify_declarations:
            return
        for one in self.declared.unsupported:
            records = [record for record in self.results.records if record.get("declared") == one.what]
            if records and all(record.get("works") for record in records):
                yield f"{one.what} is declared unsupported ({one.where}), and works"

    def about(self):
        unsupported = [{"what": one.what, "reason": one.reason, "where": one.where} for one in self.declared.unsupported]
        version = shell.run([self.where.sluiced, "--version"]).stdout.strip().splitlines()[0]
        return {
            "plugin": {"id": self.plugin.id, "version": self.plugin.version, "build": self.plugin.build, "abi": self.plugin.abi,
                       "features": list(self.plugin.features), "file": self.plugin.path, "sha256": self.digest()},
            "declaration": {"traits": list(self.declared.traits), "unsupported": unsupported,
                            "differs": {name: differences.ALL[name].sentence for name in self.declared.differs}},
            "daemon": version, "kernel": platform.release(), "machine": platform.machine(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "seconds": round(time.time() - self.started, 1),
        }


def refused(wanted, where, why):
    """A file that is no plugin, or none for this daemon, is a result like others: reports contain it."""
    name = os.path.basename(wanted.plugin)
    found = plugin.Plugin(os.path.abspath(wanted.plugin), os.path.splitext(name)[0], "unknown", "unknown", "unknown", ())
    kit = Kit(wanted, where, found, declaration.Declaration(), [])
    kit.about_file("the plugin can be loaded", why)
    return kit.finish()


def declaration_of(wanted, found, everything):
    path = wanted.declare
    if path is None:
        beside = os.path.splitext(wanted.plugin)[0] + ".conformance"
        path = beside if os.path.exists(beside) else None
    made = declaration.read(path, everything) if path else declaration.Declaration()
    return declaration.Declaration(made.differs, made.traits, made.unsupported + declaration.of_features(found.features))


def in_vm(wanted, words):
    """Runs this program on another kernel, which sees this machine's files under the same names."""
    machine = os.path.join(HERE, "vm", "run") if not wanted.builddir else os.path.join(HERE, "..", "vm", "run")
    inner, results = [], set()
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--kernel", "--vm-cache"):
            skip = True
        elif word != "--vm" and not word.startswith(("--kernel=", "--vm-cache=")):
            inner.append(word)
    for path in (wanted.json, wanted.junit, wanted.keep_logs and os.path.join(wanted.keep_logs, "x")):
        if path:
            results.add(os.path.dirname(os.path.abspath(path)))
    environment = {"SLUICE_VM_CACHE": os.path.expanduser("~/.cache/sluice-conformance"), **os.environ}
    if wanted.vm_cache:
        environment["SLUICE_VM_CACHE"] = os.path.abspath(wanted.vm_cache)
    command = [sys.executable, machine, *(["--kernel", wanted.kernel] if wanted.kernel else []),
               *(["--builddir", wanted.builddir] if wanted.builddir else []),
               *(word for folder in sorted(results) for word in ("--results", folder)), "--limit", "14400",
               "--", sys.executable, os.path.join(HERE, "kit.py"), *inner]
    status = subprocess.run(command, env=environment, check=False).returncode
    return NOTHING if status == 125 else status


def main(words):
    wanted = options(words)
    if wanted.vm:
        return in_vm(wanted, words)
    try:
        where = programs.ForPlugin(*folders(wanted))
        where.plugin = plugin.load(wanted.plugin, where.load)
        everything = load_cases()
        kit = Kit(wanted, where, where.plugin, declaration_of(wanted, where.plugin, everything), everything)
    except (shell.CommandFailed, declaration.InvalidDeclaration, OSError) as error:
        print(f"sluice-conformance: {error}", file=sys.stderr)
        return USAGE
    except plugin.InvalidPlugin as error:
        return refused(wanted, where, str(error))
    if not kit.picked and FILE not in wanted.only:
        print(f"sluice-conformance: nothing matches {', '.join(wanted.only)}", file=sys.stderr)
        return USAGE
    if wanted.list:
        for one in kit.picked:
            print(f"{one.name}  [{one.test}]")
        return 0
    if kit.picked and os.geteuid() != 0:
        print("sluice-conformance: cannot create network namespaces: run it as root", file=sys.stderr)
        return NOTHING
    return kit.run()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted; the test network is removed")
