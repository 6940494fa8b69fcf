#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests this harness with tiny steps; prints TAP. A program that ends without a proven result must always count as a
failure, or a passed run means nothing."""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import selftest_bytecode  # noqa: E402
import selftest_counting  # noqa: E402
import selftest_machines  # noqa: E402
import selftest_reading  # noqa: E402
import selftest_running  # noqa: E402
import selftest_tables  # noqa: E402


def main():
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="sluice-harness-") as folder:
        for module in (selftest_bytecode, selftest_counting, selftest_machines, selftest_reading, selftest_running, selftest_tables):
            for title, problems in module.tests(folder):
                number += 1
                failed += bool(problems)
                print(f"{'not ok' if problems else 'ok'} {number} - {title}", flush=True)
                for problem in problems:
                    print(f"#   {problem}")
    print(f"1..{number}")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
