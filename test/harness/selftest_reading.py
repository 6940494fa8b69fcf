# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reading of results of steps with several programs: `make check`, and programs in one virtual machine."""

import os

import report
import results
from settings import Settings
from step import CHECKS, MACHINE, Ended, Step

GOOD, BAD = "ok 1 - a\n1..1\n", "not ok 1 - b\n1..1\n"


def tests(folder):
    yield from _checks(os.path.join(folder, "checks"))
    yield from _machine(os.path.join(folder, "machine"))


def _write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _summary(outcome):
    return len(outcome.passed), [report.named(outcome, failure) for failure in outcome.failed], [name for name, _ in outcome.skipped]


def _read(folder, step, status, files):
    _write(folder, files)
    return _summary(results.read(Settings(folder, os.path.join(folder, "logs")), step, Ended(status)))


def _expect(title, found, expected):
    return title, [] if found == expected else [f"expected {expected}", f"found    {found}"]


def _checks(folder):
    check = Step("check", "", [], 20, CHECKS)
    log = {"logs/check.log": "make: *** [check] Error 2\n"}
    passing, failing = ":test-result: PASS a\n:global-test-result: PASS\n", ":global-test-result: FAIL\n"
    good = {"test/unit/one_tests.log": GOOD, "test/unit/one_tests.trs": passing}
    yield _expect("make check that leaves no verdict has failed", _read(folder, check, 2, log), (0, ["check: make check"], []))
    yield _expect("make check: each program counts", _read(folder, check, 0, good), (1, [], []))
    yield _expect("make check: trees inside of the build tree do not count",
                  _read(folder, check, 0, {"sluice-1.0/x.trs": failing, "clang/y.trs": failing}), (1, [], []))
    yield _expect("make check that fails although no program does has failed", _read(folder, check, 2, {}),
                  (1, ["check: make check"], []))
    bad = {"test/abi/two.log": BAD + "x\n", "test/abi/two.trs": failing}
    yield _expect("make check: a failure has the name of its program", _read(folder, check, 2, bad), (1, ["check: two: b"], []))
    died = {"test/abi/two.log": GOOD, "test/abi/two.trs": failing}
    yield _expect("make check: a program that ends badly after good tests has failed", _read(folder, check, 2, died),
                  (2, ["check: two: ended with status 1 although no test failed"], []))
    found = sorted(os.path.relpath(path, folder) for path in results.trs_files(folder))
    yield _expect("make check: verdicts of earlier runs are found", found, ["test/abi/two.trs", "test/unit/one_tests.trs"])


def _machine(folder):
    step = Step("vm", "backends", [], 20, MACHINE, results=os.path.join(folder, "results"), machines=("one", "two"))
    tap = {"logs/vm-backends.tap": "ok 1 - one has run\nok 2 - two has run\n1..2\n", "logs/vm-backends.err": ""}
    good = {"results/one.tap": GOOD, "results/one.status": "0\n", "results/two.tap": GOOD, "results/two.status": "0\n"}
    yield _expect("programs in one machine: each counts", _read(folder, step, 0, {**tap, **good}), (4, [], []))
    yield _expect("programs in one machine: a status after good tests counts", _read(folder, step, 0, {"results/two.status": "3\n"}),
                  (4, ["vm: two: ended with status 3 although no test failed"], []))
    os.remove(os.path.join(folder, "results/two.tap"))
    os.remove(os.path.join(folder, "results/two.status"))
    yield _expect("programs in one machine: one that did not run has failed", _read(folder, step, 0, {}),
                  (3, ["vm: two: printed no plan and ended with its time limit (status 124)"], []))
    said = {"logs/vm-backends.err": "test/vm/run: the kernel says BUG, see FILE\n", "logs/vm-backends.tap": ""}
    _write(folder, {**said, **good})
    outcome = results.read(Settings(folder, os.path.join(folder, "logs")), step, Ended(125))
    words = [line for failure in outcome.failed for line in failure.why]
    yield _expect("what is wrong with a machine is part of the reason", [word for word in words if "BUG" in word][-1:],
                  ["the kernel says BUG, see FILE"])
