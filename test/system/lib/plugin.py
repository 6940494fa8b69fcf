# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin file under test: its descriptor, and static checks of the file."""

import dataclasses
import hashlib
import json
import os
import signal
import subprocess

from . import addresses as a
from . import shell

SYMBOL = "sluice_plugin_entry"
FAMILIES = {"IPv4": a.V4, "IPv6": a.V6}


@dataclasses.dataclass(frozen=True)
class Plugin:
    path: str
    id: str
    version: str
    build: str
    abi: str
    features: tuple

    @property
    def families(self):
        return tuple(family for name, family in FAMILIES.items() if name in self.features)

    def sha256(self):
        with open(self.path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


class InvalidPlugin(Exception):
    """The plugin cannot be loaded; the text is the reason."""


def load(path, conformance_load):
    """Loads the plugin and returns its descriptor."""
    if not os.path.isfile(path):
        raise InvalidPlugin(f"{path} is not a file: name the plugin itself" if os.path.exists(path) else f"there is no file {path}")
    done = subprocess.run([conformance_load, "describe", os.path.abspath(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().removeprefix("conformance-load: ")
        if done.returncode < 0:
            reason = f"{path}: loading it ends with signal {-done.returncode} ({signal.strsignal(-done.returncode)})"
        raise InvalidPlugin(reason or f"{path}: loading it ends with status {done.returncode}")
    entry = json.loads(done.stdout)
    return Plugin(os.path.abspath(path), entry["id"], entry["version"], entry["build"], entry["abi"], tuple(entry["features"]))


def problems_of_file(plugin):
    """Checks of the file: (requirement, problem), with an empty problem if the requirement is met."""
    name = os.path.basename(plugin.path)
    yield "the file is named after the id", "" if name == f"{plugin.id}.so" else f"backend {plugin.id} is {plugin.id}.so, not {name}"
    exported = shell.run(["nm", "-D", "--defined-only", plugin.path]).stdout.split()[2::3]
    more = sorted({one.partition("@")[0] for one in exported} - {SYMBOL})
    yield f"{SYMBOL} is all that it exports", f"also {', '.join(more[:5])}: link with plugin.map" if more else ""
    needed = shell.run(["ldd", plugin.path], check=False)
    missing = [line.strip() for line in needed.stdout.splitlines() if "not found" in line]
    yield "the libraries that it needs are there", "; ".join(missing)
