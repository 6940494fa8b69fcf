#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks what every file of the project must and must not contain, and prints TAP."""

import os
import re
import stat
import sys
import tempfile

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

CXX = (".cpp", ".hpp")
SCRIPTS = (".py", ".sh", ".awk")
BUILD = (".am", ".ac", ".m4", ".map", ".service.in")
LICENSED_NAMES = {"Makefile", "Dockerfile", "run"}
HEADER = ("Copyright 2026 The Sluice Authors", "SPDX-License-Identifier: Apache-2.0")

LONGEST, LONG = 800, 600
# Recorded bytes, inputs of fuzz targets and the licence text must not be changed.
FOREIGN = ("test/fixtures/", "test/fuzz/corpus/", "LICENSE")

# Spelled in pieces: this file is checked too.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
# Beginnings of paths that exist only on a developer's machine.
PRIVATE_PLACE = re.compile(r"""(?:^|[\s"'`=(\[<,:])((?:/ho""" r"""me|/Us""" r"""ers|/ro""" r"""ot|/wo""" r"""rk)/[\w.-]+)""", re.M)


def lines_with(pattern, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.search(line)
        if found:
            yield number, found.group(found.lastindex or 0)


def is_script(text):
    return text.startswith("#!")


def needs_licence(name, text):
    base = os.path.basename(name)
    return name.endswith(CXX + SCRIPTS + BUILD) or base in LICENSED_NAMES or is_script(text)


def licence(root, name, text):
    """The two lines of the licence are among the first five."""
    if needs_licence(name, text):
        head = "\n".join(text.splitlines()[:5])
        if not all(words in head for words in HEADER):
            yield f"{name}: no licence header in the first lines"


def pragma_once(root, name, text):
    if name.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.M):
        yield f"{name}: no #pragma once"


def length(root, name, text):
    lines = text.count("\n")
    if needs_licence(name, text) and lines > LONGEST:
        yield f"{name}: {lines} lines; split it"


def unfinished(root, name, text):
    if not name.endswith(".md"):
        for number, word in lines_with(UNFINISHED, text):
            yield f"{name}:{number}: {word}"


def private_place(root, name, text):
    for number, place in lines_with(PRIVATE_PLACE, text):
        yield f"{name}:{number}: {place} is a path on a developer's machine"


def interpreter(root, name, text):
    """A #! works on the first line only; a file that is run has one, and one that has one can be run."""
    for number, line in enumerate(text.splitlines()[:10], 1):
        if line.startswith("#!/") and number > 1:
            yield f"{name}:{number}: #! has no effect below the first line"
    executable = os.stat(os.path.join(root, name)).st_mode & stat.S_IXUSR
    if executable and not is_script(text):
        yield f"{name}: executable without #! on the first line"
    if is_script(text) and not executable:
        yield f"{name}: has #! but is not executable"


def whitespace(root, name, text):
    if needs_licence(name, text):
        for number, _ in lines_with(re.compile(r"[ \t]+$"), text):
            yield f"{name}:{number}: blanks at the end of the line"
        if "\r" in text:
            yield f"{name}: carriage returns"
        if text and not text.endswith("\n"):
            yield f"{name}: no newline at the end"


RULES = {
    "every source and script has the licence header": licence,
    "every header has #pragma once": pragma_once,
    f"no source is longer than {LONGEST} lines": length,
    "no words of unfinished work": unfinished,
    "no paths of a developer's machine": private_place,
    "#! stands on the first line of what can be run": interpreter,
    "no stray blanks and line ends": whitespace,
}


def violations(root, rule):
    for name in source_files(root):
        if name.startswith(FOREIGN):
            continue
        text = read(root, name)
        if text is not None:
            yield from rule(root, name, text)


GOOD_HEADER = "".join(f"// {line}\n" for line in HEADER) + "\n"
GOOD_SCRIPT_HEADER = "".join(f"# {line}\n" for line in HEADER)
# rule, file, text, mode: each must be found by that rule.
BROKEN = [
    (licence, "core/a.cpp", "int a;\n", 0o644),
    (licence, "test/a", "#!/bin/sh\ntrue\n", 0o755),
    (licence, "core/subdir.am", "a = b\n", 0o644),
    (pragma_once, "core/a.hpp", GOOD_HEADER + "int a;\n", 0o644),
    (length, "core/a.cpp", GOOD_HEADER + "int a;\n" * LONGEST, 0o644),
    (unfinished, "core/a.cpp", GOOD_HEADER + "// TO" "DO: the rest\n", 0o644),
    (private_place, "docs/a.md", "see /ho" "me/developer/notes\n", 0o644),
    (private_place, "test/a.sh", 'x="/wo' 'rk/main"\n', 0o644),
    (interpreter, "test/a.py", GOOD_SCRIPT_HEADER + "#!/usr/bin/python3\n", 0o644),
    (interpreter, "test/a.py", GOOD_SCRIPT_HEADER, 0o755),
    (interpreter, "test/a.sh", "#!/bin/sh\n" + GOOD_SCRIPT_HEADER, 0o644),
    (whitespace, "core/a.cpp", GOOD_HEADER + "int a; \n", 0o644),
    (whitespace, "core/a.cpp", GOOD_HEADER + "int a;", 0o644),
]
FINE = [
    ("core/a.hpp", GOOD_HEADER + "#pragma once\nint a;\n", 0o644),
    ("test/a.sh", "#!/bin/sh\n" + GOOD_SCRIPT_HEADER + '. "$away/ro' 'ot/x"\n', 0o755),
    ("docs/a.md", "The word TO" "DO in prose, and the folder /run/sluice.\n", 0o644),
]


def self_test(tap):
    def tree(root, name, text, mode):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    for rule, name, text, mode in BROKEN:
        with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
            tree(root, name, text, mode)
            found = list(violations(root, rule))
        tap.check(f"{rule.__name__} finds a broken {name}", [] if len(found) == 1 else [f"reported: {found}"])
    with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
        for name, text, mode in FINE:
            tree(root, name, text, mode)
        found = [sentence for rule in RULES.values() for sentence in violations(root, rule)]
    tap.check("a good tree passes every rule", found)


def notes(root, tap):
    for name in source_files(root):
        text = read(root, name)
        if text is not None and needs_licence(name, text) and LONG < text.count("\n") <= LONGEST:
            tap.note(f"{name}: {text.count(chr(10))} lines, near the limit of {LONGEST}")


def main():
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    tap = Tap()
    self_test(tap)
    for name, rule in RULES.items():
        tap.check(name, violations(root, rule))
    notes(root, tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
