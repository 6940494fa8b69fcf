# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each sandbox option the unit does not use has a reason, and that the documented score is right."""

import re

from outcome import require


def require_explained(unit, findings):
    """`findings` is the JSON output of systemd-analyze security for `unit`. A reason is a comment with the name of the
    option, or in the line before the option. Each capability needs its own reason."""
    comments = "\n".join(line for line in unit.splitlines() if line.startswith("#"))
    explained = set(re.findall(r"^#.*\n((?:[A-Z]\w+)(?==))", unit, re.MULTILINE)) | set(re.findall(r"[A-Z]\w+", comments))
    missing = []
    for finding in findings:
        if finding["exposure"] is None:
            continue
        options, _, what = finding["name"].partition("=~")
        group = re.match(r"@[\w-]+", what)
        if group:
            known = re.search(rf"{group.group(0)}(?![\w-])", comments)
        else:
            known = {option.rstrip("=") for option in options.split("/")} & explained
        if not known:
            missing.append(finding["name"])
    bounding = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE).group(1).split()
    missing += [one for one in bounding if not re.search(rf"^#   {one} ", unit, re.MULTILINE)]
    require(not missing, f"left open, and nothing in the unit says why: {missing}")


def require_quoted(page, row, said):
    """`said` is the last line of systemd-analyze security, `row` how the row of the page begins that has the score."""
    score = re.search(r"Overall exposure level for \S+ (\d+\.\d)", said).group(1)
    quoted = re.findall(rf"^\| {re.escape(row)}.*\| (\d+\.\d) \|$", page, re.MULTILINE)
    require(quoted == [score], f"the page has {quoted} for '{row}', systemd-analyze says {score}")
