# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of a lint with small trees: each broken one is found by its rule alone, and a good one by none."""

import os
import tempfile


def check(tap, rules, violations, broken, fine):
    """`rules`: name → rule; `violations(root, rule)`; `broken`: (rule, file, text) each; `fine`: (file, text) of one tree."""
    def write(root, name, text):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    for number, (rule, name, text) in enumerate(broken, 1):
        with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
            write(root, name, text)
            found = [sentence for one in rules.values() for sentence in violations(root, one)]
            own = list(violations(root, rule))
        tap.check(f"{rule.__name__} finds broken tree {number}, {name}", [] if len(own) == len(found) == 1 else [f"reported: {found}"])
    with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
        for name, text in fine:
            write(root, name, text)
        found = [sentence for rule in rules.values() for sentence in violations(root, rule)]
    tap.check("a good tree passes every rule", found)
