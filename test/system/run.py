#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the system tests: real daemon, real kernel, real packets, in network namespaces of its own."""

import argparse
import collections
import contextlib
import fnmatch
import glob
import importlib
import os
import shutil
import sys
import time
import zlib

from lib import addresses as a
from lib import cases, node_tools, profile, programs, shell, tap
from lib.bench import CONFIGS, Bench
from lib.topology import Topology

CHURN = "churn: a steady Service is reachable throughout"
WORKERS = 6
LANES = 2


def options(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".", help="build tree (default: the current folder)")
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT",
                        help="only cases whose name contains TEXT, or with that case number; repeatable")
    parser.add_argument("--except", action="append", default=[], dest="excluded", metavar="TEXT",
                        help="exclude the cases that --filter TEXT selects; repeatable")
    parser.add_argument("--backend", default="iptables", choices=cases.BACKENDS)
    parser.add_argument("--iptables", default="nft", choices=node_tools.VARIANTS,
                        help="variant of iptables on the node (default %(default)s)")
    parser.add_argument("--short", action="store_true",
                        help="every case from one source: iptables from its first, nftables from its last; those that "
                             "have their own daemons, with iptables, from another source too, with half of the families "
                             "and protocols; with --churn or userspace half of the families and protocols; with --iptables "
                             "legacy from the first source, each case that is not marked for it with one family and "
                             "protocol, and in other modes than iptables only marked cases; with ipvs, which an emulated "
                             "machine runs, each marked case with one family and protocol")
    parser.add_argument("--covered", metavar="FAMILY/PROTOCOL[/SOURCE]", type=lambda text: tuple(text.split("/")),
                        help="omit this pair, of that source, where a case has others: another run covers it")
    parser.add_argument("--once", action="store_true", help="each case with one family and protocol")
    parser.add_argument("--only-trial", metavar="NAME", help="run one test: NAME is its printed name, with parameters")
    parser.add_argument("--family", choices=a.FAMILIES)
    parser.add_argument("--protocol", choices=("tcp", "udp", "sctp"))
    parser.add_argument("--source", choices=cases.SOURCES)
    parser.add_argument("--churn", action="store_true",
                        help="only the cases that share a daemon, while other Services change all the time; "
                             "connections to one of them must never fail")
    parser.add_argument("--jobs", type=int, default=WORKERS, help="number of parallel cases (default %(default)s)")
    parser.add_argument("--lanes", type=int, default=LANES,
                        help="number of parallel test networks, each with a daemon (default %(default)s)")
    parser.add_argument("--results", metavar="FILE", help="write a JSON file for conformance.py")
    parser.add_argument("--keep-logs", metavar="DIR", help="copy the logs of the daemons to DIR")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    parser.add_argument("--daemon", metavar="PROGRAM", help="run PROGRAM in place of sluiced (without sluicectl)")
    parser.add_argument("--netecho", metavar="PROGRAM", help="netecho, if it is not in the build tree")
    parser.add_argument("--plugin-dir", metavar="DIR", help="folder of backends, if they are not in the build tree")
    wanted = parser.parse_args(words)
    wanted.profile = profile.BUILT_IN[wanted.backend]
    return wanted


def load_cases():
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
    return cases.registered()


def chosen(one, wanted):
    if wanted.backend not in one.backends or wanted.iptables not in one.variants:
        return False
    if unmarked(one, wanted) and (wanted.backend != cases.BACKENDS[0] or about_source(one)):
        return False
    if sparing(wanted) and not one.legacy:
        return False
    if wanted.short and wanted.backend != cases.BACKENDS[0] and one.above:
        return False
    if wanted.churn and (one.exclusive or one.config is None):
        return False  # alone on its daemon, it would run as without churn
    if any(matches(one, text) for text in wanted.excluded):
        return False
    return not wanted.filter or any(matches(one, text) for text in wanted.filter)


def unmarked(one, wanted):
    """Returns whether a short run with the old iptables reduces or skips the case: it does not depend on the variant."""
    return wanted.short and wanted.iptables == "legacy" and wanted.backend not in one.legacy


def about_source(one):
    """Returns whether the case is about the API server, from which objects arrive in the same way for each variant of iptables."""
    return tuple(one.sources) == ("apiserver",)


def sparing(wanted):
    """Returns whether the run is reduced for an emulated machine."""
    return wanted.short and wanted.backend == "ipvs"


def matches(one, text):
    if text.isdigit():
        return int(text) in one.numbers
    return text in one.name or text in one.test or fnmatch.fnmatch(one.test, text)


def parameters(one, wanted, source_name):
    """Every (family, protocol) with which the case is run from that source."""
    every = [(family, protocol) for family in one.families for protocol in one.protocols
             if family in wanted.profile.families and wanted.family in (None, family) and wanted.protocol in (None, protocol)]
    if every and (sparing(wanted) or wanted.once or unmarked(one, wanted)):
        every = [every[zlib.crc32(one.test.encode()) % len(every)]]  # differs between cases, and is always the same for a case
    if wanted.short and halved(one, wanted, source_name):
        every = [pair for pair in every if (one.families.index(pair[0]) + one.protocols.index(pair[1])) % 2 == 0]
    if wanted.covered and len(every) > 1:
        every = [pair for pair in every if wanted.covered not in (pair, (*pair, source_name))]
    if wanted.only_trial and not only_job(wanted):
        every = [pair for pair in every if tap.title(one.name, cases.trial_parameters(one, *pair, source_name)) == wanted.only_trial]
    return every


def only_job(wanted):
    """The job that --only-trial names if it is not a case: a daemon that did not start, or the Service under churn."""
    name = wanted.only_trial or ""
    if name.startswith(CHURN):
        source_name, config = name.removeprefix(CHURN).strip(" ()").split()
        return f"start with {config} from {source_name}"
    return name if name.startswith("start ") else None


def halved(one, wanted, source_name):
    """Returns whether each family and each protocol, but not each pair of them, is enough: another run covers the pairs.
    Sources differ in how objects arrive; their processing is the same in each family and protocol."""
    if wanted.churn or wanted.backend == "userspace":
        return len(one.backends) > 1
    return wanted.backend != "nftables" and source_name != one.sources[0]


def run_group(topology, where, wanted, results, source_name, config, group):
    """All cases that share a daemon with these flags: first those that are exclusive, then side by side."""
    with Bench(topology, where, source_name, config, wanted.profile) as bench:
        trials = [(one, family, protocol) for one in group
                  for family, protocol in parameters(one, wanted, source_name)]

        def run(one, family, protocol):
            cases.run_trial(results, one, bench, family, protocol, source_name)

        for trial in [trial for trial in trials if trial[0].exclusive]:
            run(*trial)
        side_by_side = [lambda trial=trial: run(*trial) for trial in trials if not trial[0].exclusive]
        if wanted.churn and side_by_side:
            bench.start_churn()
        cases.run_side_by_side(side_by_side, wanted.jobs)
        record_churn(results, bench.stop_churn(), source_name, config)


def record_churn(results, counts, source_name, config):
    if counts is None:
        return
    failed = counts["failed"] != 0 or counts["ok"] == 0
    sentence = f"{counts['failed']} of {counts['failed'] + counts['ok']} connects failed during {counts['changes']} changes"
    results.add({
        "name": CHURN, "numbers": [], "title": "steady Service under churn",
        "test": "churn", "parameters": [source_name, config], "result": tap.FAIL if failed else tap.PASS,
        "reason": sentence if failed else "", "seconds": counts["seconds"],
    }, [f"{sentence}, first: {counts['first_failure']}"] if failed else [sentence])


def run_alone(topology, where, wanted, results, source_name, one):
    """A case that starts and kills daemons: it gets its own bench."""
    for family, protocol in parameters(one, wanted, source_name):
        with Bench(topology, where, source_name, "default", wanted.profile, starts=one.starts) as bench:
            cases.run_trial(results, one, bench, family, protocol, source_name)


def guarded(results, what, work):
    """A daemon that does not start must not end the run: it is one more failure."""
    try:
        work()
    except Exception as error:  # pylint: disable=broad-except
        results.add({"name": what, "numbers": [], "title": what, "test": "run", "parameters": [], "result": tap.FAIL,
                     "reason": str(error), "seconds": 0}, [f"{type(error).__name__}: {error}"])


def sources_of(one, wanted):
    usual = one.sources
    if wanted.short and wanted.backend == "nftables":
        usual = one.sources[-1:]
    elif wanted.short and (wanted.iptables == "legacy" or wanted.backend != cases.BACKENDS[0] or
                           (one.config is not None and "nftables" in one.backends)):
        usual = one.sources[:1]
    return [name for name in usual if wanted.source in (None, name)]


def jobs(where, wanted, picked, results):
    """The jobs, as functions of the network to run on; the longest ones come first."""
    groups, alone = [], []
    for source_name in cases.SOURCES:
        here = [one for one in picked if source_name in sources_of(one, wanted) and parameters(one, wanted, source_name)]
        for config in CONFIGS:
            group = [one for one in here if one.config == config]
            if group:
                groups.append((len(group), f"start with {config} from {source_name}",
                               lambda topology, source_name=source_name, config=config, group=group:
                               run_group(topology, where, wanted, results, source_name, config, group)))
        for one in here:
            if one.config is None:
                alone.append((one.slow, f"start for {one.name}", lambda topology, source_name=source_name, one=one:
                              run_alone(topology, where, wanted, results, source_name, one)))
    groups.sort(key=lambda job: -job[0])
    alone.sort(key=lambda job: not job[0])
    return [lambda topology, what=what, work=work: guarded(results, what, lambda: work(topology))
            for _, what, work in groups + alone if only_job(wanted) in (None, what)]


def run_all(topologies, work):
    """Each network runs the next job as soon as it has finished one."""
    remaining = collections.deque(work)

    def lane(topology):
        while True:
            try:
                job = remaining.popleft()
            except IndexError:
                return
            job(topology)

    cases.run_side_by_side([lambda topology=topology: lane(topology) for topology in topologies], len(topologies))


def main():
    wanted = options()
    picked = [one for one in load_cases() if chosen(one, wanted)]
    if wanted.list:
        for one in picked:
            print(f"{one.name}  [{one.test}]")
        return 0
    if not picked:
        print(f"no case matches {wanted.filter} for backend {wanted.backend}", file=sys.stderr)
        return 2
    try:
        where = programs.Programs(wanted.builddir, wanted.daemon, wanted.plugin_dir, wanted.netecho)
    except shell.CommandFailed as error:
        print(f"system tests: {error}", file=sys.stderr)
        return 2
    results = tap.Results()
    started = time.monotonic()
    work = jobs(where, wanted, picked, results)
    if not work:
        print(f"no test is named {wanted.only_trial}" if wanted.only_trial else "nothing to run", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        topologies = [stack.enter_context(Topology(where.netecho, wanted.iptables))
                      for _ in range(min(wanted.lanes, len(work)))]
        try:
            run_all(topologies, work)
        finally:
            if wanted.keep_logs:
                for topology in topologies:
                    keep_logs(topology.directory, wanted.keep_logs)
    status = results.finish()
    print(f"# {time.monotonic() - started:.0f} s")
    if wanted.results:
        variant = f"-{wanted.iptables}" if wanted.backend == "iptables" or wanted.iptables == "legacy" else ""
        results.write(wanted.results, wanted.backend + variant)
    return status


def keep_logs(directory, destination):
    os.makedirs(destination, exist_ok=True)
    for path in glob.glob(os.path.join(directory, "**", "*.log"), recursive=True):
        shutil.copy(path, destination)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; the test network is removed")
