# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of test/run.sh."""

import argparse
import os

from parts import PARTS, QUICK
from settings import SOURCE, Settings

DESCRIPTION = f"""\
Runs every test, from a fresh clone on: installs what tests need, builds with warnings as errors, runs the
steps of all parts side by side and adds up their results. Takes half an hour to three quarters on
two processors.
Needs root, because system tests make network namespaces; --part lint and --part conformance alone need
neither root nor a build and take 10 seconds.

parts: {' '.join(PARTS)}
"""
EPILOG = """\
environment:
  SLUICE_LONG=1  run the long form of every part, which takes many hours
  SLUICE_JOBS=N  limit compilers to N jobs; 1 also runs one step after the other (default: one per processor)

A failed test runs again, alone, after all others. If it passes then it counts as retried. More than two
retried tests make the run fail. The last line is `N passed, N failed[, N skipped]`; the exit status is 0
only if nothing failed and something passed.
"""


def parse(words):
    parser = argparse.ArgumentParser(prog="test/run.sh", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--part", action="append", default=[], metavar="PART[/STEP]",
                      help="run only this part, or this step of it; repeatable")
    form.add_argument("--quick", action="store_true",
                      help="run lint, check, the system tests of nftables mode, the check of docs/conformance.md, and the "
                           "installation of the Debian packages: about eight minutes on two processors")
    form.add_argument("--changed", nargs="?", const="", metavar="BASE",
                      help="run the parts that the changes since BASE can affect (default: the merge base with main; "
                           "changes that are not committed count): from seconds to an hour")
    parser.add_argument("--list", action="store_true", help="print the parts, or with --part their steps, and exit")
    parser.add_argument("--builddir", default=os.path.join(SOURCE, "build-test"), metavar="DIR",
                        help="build there (default: build-test); logs go to DIR/logs")
    parser.add_argument("--no-build", action="store_true", help="use the build tree as it is, except for the tests' own programs")
    parser.add_argument("--filter", action="append", default=[], metavar="WORD",
                        help="steps of test/system/run.py run only cases whose name holds WORD; repeatable")
    parser.add_argument("--stress", action="store_true",
                        help="run the chosen parts many times on a busy machine, without retries, and sum up what failed")
    parser.add_argument("--times", type=_positive, default=10, metavar="N", help="with --stress: repetitions (default 10)")
    parser.add_argument("--busy", type=_positive, default=4, metavar="M",
                        help="with --stress: busy processes beside the tests (default 4)")
    wanted = parser.parse_args(words)
    wanted.chosen = wanted.part or list(QUICK if wanted.quick else PARTS)
    return wanted


def settings(wanted, environment=os.environ):
    build = os.path.abspath(wanted.builddir)
    jobs = environment.get("SLUICE_JOBS", "")
    return Settings(build, os.path.join(build, "logs"), long=environment.get("SLUICE_LONG", "0") not in ("", "0"),
                    jobs=int(jobs) if jobs.isdigit() and int(jobs) else os.cpu_count() or 1,
                    with_build=not wanted.no_build, words=tuple(wanted.filter))


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number
