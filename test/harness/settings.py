# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The folders and the extent of a run."""

import dataclasses
import os

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Settings:
    build: str
    logs: str
    long: bool = False
    jobs: int = 1            # of compilers
    with_build: bool = True
    words: tuple = ()        # of --filter
    source: str = SOURCE

    def test(self, *names):
        return os.path.join(self.source, "test", *names)

    def built(self, *names):
        return os.path.join(self.build, *names)

    def log(self, *names):
        return os.path.join(self.logs, *names)

    def variable(self, name):
        """A variable of the build tree's Makefile, or nothing."""
        try:
            with open(self.built("Makefile"), encoding="utf-8") as file:
                return next((line.partition(" = ")[2].strip() for line in file if line.startswith(f"{name} = ")), "")
        except OSError:
            return ""
