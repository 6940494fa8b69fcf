# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of tests, reported as TAP, and their helpers."""

import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "system"))

from lib import pace  # noqa: E402
from lib.pace import stretched  # noqa: E402


class Skip(Exception):
    """Raised by a test that cannot run; the message is the reason."""


class Tests:
    """Runs the methods test_… of a group in order; a method that raises fails."""

    def __init__(self):
        self.count = self.failed = 0

    def run(self, group, skip=None, about=None):
        """`about` is a prefix of the titles, for a group that runs more than once."""
        for name in [name for name in vars(type(group)) if name.startswith("test_")]:
            method = getattr(group, name)
            self.count += 1
            title = f"{self.count} - {f'{about}: ' if about else ''}{method.__doc__}"
            if skip:
                print(f"ok {title} # SKIP {skip}", flush=True)
                continue
            begin = time.monotonic()
            try:
                method()
                print(f"ok {title}", flush=True)
            except Skip as why:
                print(f"ok {title} # SKIP {why}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                self.failed += 1
                print(f"not ok {title}")
                for line in f"{type(error).__name__}: {error}".splitlines():
                    print(f"#   {line}")
            print(f"#   {time.monotonic() - begin:.1f} s", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def require(condition, said=""):
    if not condition:
        raise AssertionError(said)


def succeed(done):
    require(done.returncode == 0, f"{' '.join(map(str, done.args))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def call(*argv, timeout=600, **options):
    return succeed(subprocess.run(argv, capture_output=True, text=True, check=False, timeout=stretched(timeout), **options))


def wait_for(condition, what, seconds=60):
    found = pace.wait_until(condition, seconds, every=0.1)
    if not found:
        raise AssertionError(f"within {stretched(seconds):g} s not: {what() if callable(what) else what}")
    return found
