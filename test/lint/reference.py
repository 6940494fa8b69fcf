#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference that are written by hand name what the code has, and nothing else: keys of the status, signals,
exit statuses and sysctls. Also each event reason of a backend is a row of its table. Prints TAP."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATUS = ("core/daemon/status_json.cpp", "core/reload/reload_result.cpp")
CODE = ".cpp"


def differences(page, documented, known):
    return [f"docs/reference/{page} lacks {one}" for one in sorted(known - documented)] + \
           [f"docs/reference/{page} has {one}, which the code lacks" for one in sorted(documented - known)]


def page(name):
    return read(ROOT, f"docs/reference/{name}")


def cells(text):
    """The words in backquotes of all rows."""
    return {word for line in text.splitlines() if line.startswith("|") for word in re.findall(r"`([^`]+)`", line)}


def status_keys(text):
    """Names of the members that the code writes: {"name", value} and out["name"]."""
    return set(re.findall(r'\{"(\w+)",', text)) | set(re.findall(r'\["(\w+)"\]', text))


def documented_keys(text):
    """The last part of each key of the page; the first column and the keys in prose of the second have them whole."""
    keys = {word for word in cells(text) if re.fullmatch(r"[a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)*", word)}
    roots = {"version", "mode", "plugin", "node", "source", "objects", "events", "recording", "families", "swap", "retiring", "reload", "kept_sockets"}
    return {part.removesuffix("[]") for key in keys if key.removesuffix("[]").split(".")[0].removesuffix("[]") in roots
            for part in key.split(".")}


def signals(names):
    found = set()
    for name in names:
        if name.startswith("core/daemon/") and name.endswith(CODE):
            found |= set(re.findall(r"sigaddset\(&\w+, (SIG\w+)\)", read(ROOT, name)))
    return found


def sysctls(names):
    found = set()
    for name in names:
        if not name.endswith(CODE) or not name.startswith(("core/node/", "plugins/")):
            continue
        text = read(ROOT, name)
        found |= {word.replace("/", ".") for word in re.findall(r'ensure\("(net/[\w/]+)"', text)}
        if name.endswith("core/node/kernel_settings.cpp"):
            found |= {"net.netfilter." + word
                      for word in re.findall(r'(?:emplace_back|timeout)\("(nf_conntrack_\w+)"', text)}
        if name.endswith("plugins/ipvs/node/preparation.cpp"):
            found |= {word.replace("/", ".") for word in re.findall(r'\{"(net/[\w/]+)", "\d"', text)}
            found |= {word.replace("/", ".") for word in re.findall(r'kReuseMode = "(net/[\w/]+)"', text)}
    return found


def first_cells(text):
    return {word for line in text.splitlines() if line.startswith("| ") for word in re.findall(r"`([^`]+)`", line.split("|")[1])}


def literal_reasons(names):
    for name in names:
        if name.startswith("plugins/") and name.endswith(CODE):
            for number, line in enumerate(read(ROOT, name).splitlines(), 1):
                if re.search(r'\bevent\(\w[\w:]*, sdk::view\("', line):
                    yield f"{name}:{number}: take the reason from plugins/common/event_reasons.hpp: {line.strip()}"


def main():
    tap = Tap()
    names = source_files(ROOT)
    known = set().union(*(status_keys(read(ROOT, name)) for name in STATUS))
    tap.check("the keys of the status are on docs/reference/status-json.md",
              differences("status-json.md", documented_keys(page("status-json.md")), known))
    handled = {word for word in cells(page("signals.md")) if word.startswith("SIG")} - {"SIGQUIT"}  # named because it is not handled
    tap.check("the signals that the daemon handles are on docs/reference/signals.md",
              differences("signals.md", handled, signals(names)))
    statuses = {f"sluicectl {number}" for number in re.findall(r"constexpr int k\w+ = (\d);", read(ROOT, "core/ctl/main.cpp"))}
    section = page("signals.md").split("## Exit status of sluicectl")[1].split("`sluicectl reload` prints")[0]
    documented = {f"sluicectl {number}" for number in re.findall(r"^\| ([1-9]) \|", section, re.M)}
    tap.check("the exit statuses of sluicectl are on docs/reference/signals.md", differences("signals.md", documented, statuses))
    documented = {word for word in first_cells(page("kernel-settings.md")) if word.startswith("net.")}
    tap.check("the sysctls that the daemon writes are on docs/reference/kernel-settings.md",
              differences("kernel-settings.md", documented, sysctls(names)))
    tap.check("event reasons of backends are in their table", literal_reasons(names))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
