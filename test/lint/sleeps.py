#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that tests and packaging scripts wait for conditions, not for time, and prints TAP.

Each sleep carries a comment on its line: `poll interval` inside a loop that checks a condition, or `fixed time: REASON`
if the test needs the time itself. The comment begins with # in Python and shell, with // in C++.
"""

import re
import sys

sys.dont_write_bytecode = True

import broken_trees  # noqa: E402
from source_files import read, source_files  # noqa: E402

# Spelled in pieces: this file is checked too.
SLEEP = "sle" "ep"
# asyncio's sleep of 0 only yields to other tasks.
PYTHON_CALL = re.compile(rf"\btime\.{SLEEP}\(|\basyncio\.{SLEEP}\((?!0\))")
CXX_CALL = re.compile(rf"(?:{SLEEP}_for|\bu{SLEEP}|nano{SLEEP})\(")
SHELL_COMMAND = re.compile(rf"""(?<![\w./-]){SLEEP}\s+["']?[$\d.]""")
REASON = r"\s*(?:fixed time: \S|poll interval\b)"
HASH_REASON, SLASH_REASON = re.compile("#" + REASON), re.compile("//" + REASON)


def language(name, text):
    first = text.partition("\n")[0]
    if name.endswith(".py") or re.match(r"#!.*\bpython", first):
        return "python"
    if name.endswith(".sh") or re.match(r"#!.*\b(?:ba|da)?sh\b", first):
        return "shell"
    return "cxx" if name.endswith((".cpp", ".hpp")) else None


def unexplained(name, text, call, reason, comment):
    for number, line in enumerate(text.splitlines(), 1):
        found = call.search(line)
        if found and not line.lstrip().startswith(comment) and not reason.search(line, found.end()):
            yield f"{name}:{number}: {line.strip()}"


def in_python(name, text):
    """Every call of time.sleep or asyncio.sleep says what it waits for."""
    if name.startswith("test/") and language(name, text) == "python":
        yield from unexplained(name, text, PYTHON_CALL, HASH_REASON, "#")


def in_cxx(name, text):
    """Every call of sleep_for, usleep or nanosleep says what it waits for."""
    if name.startswith("test/") and language(name, text) == "cxx":
        yield from unexplained(name, text, CXX_CALL, SLASH_REASON, "//")


def in_shell(name, text):
    """Every sleep command says what it waits for."""
    if name.startswith(("test/", "packaging/")) and language(name, text) == "shell":
        yield from unexplained(name, text, SHELL_COMMAND, HASH_REASON, "#")


RULES = {
    "Python tests: every sleep is a poll interval or says why it is a fixed time": in_python,
    "C++ tests: every sleep is a poll interval or says why it is a fixed time": in_cxx,
    "test and packaging scripts: every sleep is a poll interval or says why it is a fixed time": in_shell,
}


def violations(root, rule):
    for name in source_files(root):
        text = read(root, name)
        if text is not None:
            yield from rule(name, text)


# rule, file, text: each must be found by that rule.
BROKEN = [
    (in_python, "test/a.py", f"time.{SLEEP}(1)\n"),
    (in_python, "test/a.py", f"time.{SLEEP}(1)  # until it is over\n"),
    (in_python, "test/a.py", f"time.{SLEEP}(1)  # fixed time:\n"),
    (in_python, "test/a.py", f"# poll interval\ntime.{SLEEP}(1)\n"),
    (in_python, "test/a.py", f"await asyncio.{SLEEP}(0.1)\n"),
    (in_python, "test/a/run", f"#!/usr/bin/python3\ntime.{SLEEP}(1)\n"),
    (in_cxx, "test/a.cpp", f"std::this_thread::{SLEEP}_for(1s);\n"),
    (in_cxx, "test/a.cpp", f"std::this_thread::{SLEEP}_for(1s);  # poll interval\n"),
    (in_cxx, "test/a.hpp", f"  u{SLEEP}(1000);  // long enough\n"),
    (in_cxx, "test/a.cpp", f"clock_nano{SLEEP}(CLOCK_MONOTONIC, 0, &rest, nullptr);\n"),
    (in_shell, "test/a.sh", f"{SLEEP} 1\n"),
    (in_shell, "packaging/a/b.sh", f"kill 1 || {SLEEP} 0.1\n"),
    (in_shell, "packaging/a", f'#!/bin/bash\n  {SLEEP} "$seconds"\n'),
    (in_shell, "test/a", f"#! /bin/sh\nwhile true; do {SLEEP} .5; done  # until it answers\n"),
]
FINE = [
    ("test/a.py", f"time.{SLEEP}(0.1)  # poll interval\ntime.{SLEEP}(2)  # fixed time: the affinity timeout\n"),
    ("test/b.py", f"await asyncio.{SLEEP}(0)\n# a time.{SLEEP}(1) in a comment\n"),
    ("test/a.cpp", f"{SLEEP}_for(1s);  // poll interval\nu{SLEEP}(9);  // fixed time: the rate of the load\n// {SLEEP}_for(1s) would do\n"),
    ("test/a.sh", f"{SLEEP} 1  # poll interval\n{SLEEP} 9  # fixed time: nothing may happen\n# {SLEEP} 1\necho {SLEEP}y 3\n"),
    ("packaging/a", f"#!/bin/sh\nrun --on {SLEEP}ing\n"),
    ("core/a.cpp", f"std::this_thread::{SLEEP}_for(1s);\n"),
    ("docs/a.sh", f"{SLEEP} 1\n"),
]


if __name__ == "__main__":
    sys.exit(broken_trees.run(RULES, violations, BROKEN, FINE))
