#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the spelling of every text file with codespell. test/lint/spelling.txt lists words that are right here. Prints TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from source_files import source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = os.path.join(ROOT, "test/lint/spelling.txt")
# Recorded bytes and random input, which are no text of ours.
EXEMPT = ("test/fixtures/apiserver-v1.36/", "test/fuzz/corpus/", "test/lint/spelling.txt")
MISSPELLED = "reciev" + "ed"


def misspelled(names, folder=ROOT):
    done = subprocess.run(["codespell", "--ignore-words", WORDS, *names], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 65):
        yield f"codespell: exit {done.returncode}: {done.stderr.strip()[-300:]}"
    yield from (line for line in done.stdout.splitlines() if " ==> " in line)


def main():
    tap = Tap()
    if shutil.which("codespell") is None:
        tap.check("spelling", ["codespell is missing; run packaging/install-deps.sh test"])
        return tap.finish()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "page.md"), "w", encoding="utf-8") as file:
            file.write(f"The packet is {MISSPELLED}.\n")
        found = list(misspelled(["page.md"], folder))
        tap.check("a misspelled word is found", [] if len(found) == 1 else [f"found: {found}"])
    names = [name for name in source_files(ROOT) if not name.startswith(EXEMPT)]
    tap.check(f"spelling of {len(names)} files", misspelled(names) if names else ["there are no files"])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
