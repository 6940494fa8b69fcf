# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""TAP for lint scripts: one test a rule, its violations as comments."""


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, name, violations):
        """Passes when the list of violations is empty."""
        self.count += 1
        violations = list(violations)
        self.failed += bool(violations)
        print(f"{'not ok' if violations else 'ok'} {self.count} - {name}")
        for violation in violations:
            print(f"#   {violation}")

    def note(self, text):
        print(f"# {text}")

    def finish(self):
        """Prints the plan; the exit status."""
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0
