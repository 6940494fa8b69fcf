# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a lint: first its test with small trees, of which each broken one is found by its rule alone and a good one by none; then
its rules on the tree of the project."""

import os
import tempfile

from tap import Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(rules, violations, broken, fine, base=()):
    """Prints TAP and returns the exit status. The arguments are those of check()."""
    tap = Tap()
    check(tap, rules, violations, broken, fine, base)
    for name, rule in rules.items():
        tap.check(name, violations(ROOT, rule))
    return tap.finish()


def check(tap, rules, violations, broken, fine, base=()):
    """`rules`: name → rule; `violations(root, rule)`; `broken`: (rule, file, text) each; `fine`: (file, text) of one tree; `base`:
    the same of the files that each broken tree has, too."""
    def write(root, name, text):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    for number, (rule, name, text) in enumerate(broken, 1):
        with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
            for there, content in (*base, (name, text)):
                write(root, there, content)
            found = [sentence for one in rules.values() for sentence in violations(root, one)]
            own = list(violations(root, rule))
        tap.check(f"{rule.__name__} finds broken tree {number}, {name}", [] if len(own) == len(found) == 1 else [f"reported: {found}"])
    with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
        for name, text in fine:
            write(root, name, text)
        found = [sentence for rule in rules.values() for sentence in violations(root, rule)]
    tap.check("a good tree passes every rule", found)
