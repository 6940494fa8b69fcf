#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of values in sluice/README.md from the comments that begin with "--" in sluice/values.yaml.

  values_table.py [--check]

--check prints the differences instead, and exits with 1 if there are any.
"""

import difflib
import json
import re
import sys
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parent / "sluice"
BEGIN, END = "<!-- generated: values -->\n", "<!-- end of the generated part -->\n"


def described(text):
    """Path → description, in the order of the file."""
    out, folders, sentence = {}, [], None
    for line in text.splitlines():
        comment = re.match(r" *# -- (.+)", line)
        key = re.match(r"( *)([A-Za-z]\w*):", line)
        if comment:
            sentence = comment.group(1)
        elif key:
            depth = len(key.group(1)) // 2
            folders = folders[:depth] + [key.group(2)]
            if sentence:
                out[".".join(folders)] = sentence
            sentence = None
    return out


def leaves(values, paths, prefix=""):
    """Path → default: of values with a description, and of those without, that no described value contains."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path not in paths and isinstance(value, dict) and value:
            yield from leaves(value, paths, f"{path}.")
        else:
            yield path, value


def table(text):
    paths = described(text)
    rows = ["| value | default | description |", "|---|---|---|"]
    for path, value in leaves(yaml.safe_load(text), paths):
        default = f"`{json.dumps(value)}`" if value != "" else ""
        rows.append(f"| `{path}` | {default} | {paths.get(path, '')} |")
    return "\n".join(rows) + "\n"


def page(text, values):
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table(values) + END + rest.partition(END)[2]


def main():
    file = CHART / "README.md"
    old = file.read_text(encoding="utf-8")
    new = page(old, (CHART / "values.yaml").read_text(encoding="utf-8"))
    if "--check" in sys.argv[1:]:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "README.md", "values.yaml"))
        return 1 if old != new else 0
    file.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
