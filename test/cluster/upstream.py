#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's end-to-end tests of sig-network in a cluster of this machine, and records the results. Prints TAP.

  upstream.py list                  compare upstream_tests.toml with the tests that e2e.test has
  upstream.py run PROXY:MODE...     run the tests with each proxy, for instance kube-proxy:iptables or sluice:nftables
  upstream.py page                  write docs/conformance-upstream.md from the results

The variable SLUICE_KUBE_BIN names the folder with the programs of the cluster, ginkgo and e2e.test. Needs root.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

from lib import tap  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import VARIABLE, KubePrograms  # noqa: E402
from lib.layout import Layout  # noqa: E402
from lib.proxies import from_words  # noqa: E402
from lib.upstream import compare, documents, page, runner, selection, versions  # noqa: E402
from lib.upstream.junit import FAILED, SKIPPED, Malformed  # noqa: E402
from lib.upstream.listing import BadList, TestList  # noqa: E402

HERE = Path(__file__).resolve().parent
LIST, RESULTS, PAGE = HERE / "upstream_tests.toml", HERE / "results", HERE.parent.parent / page.NAME
PROGRAMS = ("ginkgo", "e2e.test")


def options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                        help="folder of the results (default: of the tree)")
    actions = parser.add_subparsers(dest="action", required=True)
    listed = actions.add_parser("list", help="check the list of tests")
    listed.add_argument("--write", action="store_true", help="also record the names of the tests with the results")
    run = actions.add_parser("run", help="run the tests")
    run.add_argument("proxies", nargs="+", metavar="PROXY:MODE", help="kube-proxy, sluice or the path of sluiced, and the mode")
    run.add_argument("--builddir", metavar="DIR", help="build tree of Sluice; without it the installed program runs")
    run.add_argument("--group", action="append", metavar="NAME", help="run this group only; repeatable")
    run.add_argument("--failed", action="store_true", help="run only tests that failed in the recorded results, or have none")
    run.add_argument("--running", action="store_true", help="use the cluster that runs, and leave it")
    run.add_argument("--nodes", type=int, default=6, help="nodes of a new cluster (default: %(default)s)")
    run.add_argument("--kernel", metavar="VERSION", help="nodes of a new cluster are emulated machines with this kernel")
    run.add_argument("--procs", type=int, metavar="N", help="tests at a time (default: as the group says)")
    run.add_argument("--only", metavar="RE", help="run only tests with such names; earlier results of others stay")
    run.add_argument("--limit", type=int, default=1800, metavar="SECONDS", help="time limit of a group (default: %(default)s)")
    run.add_argument("--record", action="store_true", help="write the results to the folder of the results")
    actions.add_parser("page", help="write the page")
    return parser.parse_args()


class Tap:
    """Counts and prints results with the printer of the system tests."""

    def __init__(self):
        self._results = tap.Results()

    def add(self, name, problems=(), skip=""):
        problems = list(problems)
        result = tap.FAIL if problems else tap.SKIP if skip else tap.PASS
        self._results.add({"name": name, "parameters": [], "result": result, "reason": skip}, problems)

    def finish(self):
        return self._results.finish()


def list_tests(tests, programs, out):
    """Checks the list against the program; the names of the tests of sig-network."""
    names = selection.names_of_tests(programs, tests.select)
    out.add(f"each of {len(names)} tests of sig-network is in one group or excluded", tests.problems(names))
    return names


def check_names(wanted, programs, names, out):
    """Whether the recorded names are those of e2e.test; records them with --write."""
    version = versions.of_program(programs.path("e2e.test"))
    if wanted.write:
        wanted.results.mkdir(exist_ok=True)
        documents.write_names(wanted.results, version, names)
    recorded = documents.read_names(wanted.results)
    out.add("the recorded names are those of e2e.test", [] if recorded == (version, names) else
            [f"recorded: {len(recorded[1])} of {recorded[0]}; e2e.test: {len(names)} of {version}; use list --write"])


def run_all(wanted, tests, programs, out):
    names = list_tests(tests, programs, out)
    proxies = [from_words(program, mode, wanted.builddir)
               for program, _, mode in (words.rpartition(":") for words in wanted.proxies)]
    if wanted.running:
        with_cluster(wanted, Cluster(Layout.load(), programs), tests, names, proxies, out)
    else:
        with Cluster(Layout(nodes=wanted.nodes, kernel=wanted.kernel), programs) as cluster:
            with_cluster(wanted, cluster, tests, names, proxies, out)


def with_cluster(wanted, cluster, tests, names, proxies, out):
    for proxy in proxies:
        cluster.change_proxies(proxy)
        run = documents.read_run(wanted.results, proxy.program, proxy.mode) or documents.Run(proxy.program, proxy.mode)
        run.date, run.versions = time.strftime("%Y-%m-%d"), versions.of_cluster(cluster)
        if proxy.program == documents.SLUICE:
            run.versions["sluice"] = versions.of_program(proxy.daemon)
        for group in tests.groups:
            if not wanted.group or group.name in wanted.group:
                run_group(wanted, cluster, tests, names, proxy, run, group, out)


def run_group(wanted, cluster, tests, names, proxy, run, group, out):
    chosen = [test for test in tests.tests_of(group, names, run.mode) if re.search(wanted.only or "", test)]
    again = wanted.failed and group.name in run.groups
    if again:
        chosen = [test for test in run.failed(chosen) if tests.known_reason(run.mode, test) is None or run.result(test) is None]
        if not chosen:
            return
    if not chosen:
        return
    ginkgo = runner.GroupRun(cluster, group, chosen, f"{proxy.program}-{proxy.mode}-{group.name}", wanted.limit, wanted.procs)
    report, seconds = ginkgo.run(proxy)
    if again:
        run.add_again(group, report.results)
    elif wanted.only:
        run.add_some(group, report.results, seconds)
    else:
        run.add(group, report.results, seconds)
    out.add(f"{run.name}: {group.name}: the suite runs in {seconds:.0f} s", report.broken)
    for test in chosen:
        title, one = f"{run.name}: {group.name}: {page.short(test)}", run.result(test)
        known = tests.known_reason(run.mode, test) if run.proxy == documents.SLUICE else None
        if one is None:
            out.add(title, [f"did not run; see {ginkgo.folder}"])
        elif one.result == FAILED and known:
            out.add(f"{title}: fails, which is known: {known}")
        elif one.result == SKIPPED:
            out.add(title, skip=one.reason)
        else:
            out.add(title, [one.reason] if one.result == FAILED else ["passes and is listed as a known failure"] if known else [])
    if wanted.record:
        wanted.results.mkdir(exist_ok=True)
        documents.write(wanted.results / run.file, run.text())


def write_page(wanted, tests, out):
    _, names = documents.read_names(wanted.results)
    runs = documents.read_runs(wanted.results)
    out.add("the results have each test of the list", compare.incomplete(runs, tests, names))
    out.add("no test fails with Sluice that passes with kube-proxy, but known failures", compare.problems(runs, tests))
    documents.write(PAGE, page.text(tests, names, runs))


def main():
    wanted, out = options(), Tap()
    folder = os.environ.get(VARIABLE)
    if wanted.action != "page" and not folder:
        print(f"1..0 # SKIP {VARIABLE} is not set; it names the folder with the Kubernetes programs")
        return 0
    try:
        tests = TestList.read(LIST)
        if wanted.action == "page":
            write_page(wanted, tests, out)
            return out.finish()
        programs = KubePrograms(folder)
        for name in PROGRAMS:
            programs.path(name)
        if wanted.action == "run":
            run_all(wanted, tests, programs, out)
        else:
            check_names(wanted, programs, list_tests(tests, programs, out), out)
    except (ClusterError, BadList, Malformed, documents.Unreadable) as error:
        out.add("upstream's tests", [str(error)])
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
