# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The Debian in which a node installs the packages of Sluice: systemd, and what the packages depend on. It is made once, and kept
with the images."""

import json
import os
import re
import shutil
import sys
import threading

from . import shell
from .failure import ClusterError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "package"))

import container  # noqa: E402  # pylint: disable=import-error,wrong-import-position  # extends sys.path

# The daemon and its backends, without debug symbols.
PATTERNS = ("sluice_*.deb", "sluice-backend-*[es]_*.deb")
BASE = ("systemd-sysv",)
UNUSED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/man", "usr/share/locale")
VERSION = re.compile(r"^Version: .*$", re.M)
RECIPE = 1  # grows with each change of what the Debian contains
_lock = threading.Lock()  # nodes start at the same time


def packages(folder):
    """The files of the daemon and of its backends."""
    found = [sorted(folder.glob(pattern)) for pattern in PATTERNS]
    if not all(found):
        raise ClusterError(f"no packages in {folder}; build them with packaging/debian/build.sh {folder}")
    return [file for files in found for file in files]


def dependencies(files):
    """Names of the packages of Debian that these depend on."""
    fields = [shell.run(["dpkg-deb", "--field", str(file), "Depends"]).stdout for file in files]
    names = {one.split("|")[0].split("(")[0].strip() for field in fields for one in field.split(",")}
    return sorted(name for name in names if name and not name.startswith("sluice"))


def bumped(files, suffix, folder):
    """The same packages with `suffix` after their version, written to `folder`."""
    made = []
    for file in files:
        name, version, rest = file.name.split("_")
        tree, new = folder / f"{name}.tree", folder / f"{name}_{version}{suffix}_{rest}"
        shell.run(["dpkg-deb", "--raw-extract", str(file), str(tree)])
        control = tree / "DEBIAN/control"
        control.write_text(VERSION.sub(rf"\g<0>{suffix}", control.read_text(encoding="utf-8")), encoding="utf-8")
        shell.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(new)])
        shutil.rmtree(tree)
        made.append(new)
    return made


def build(layout, files):
    """Returns the folder of the Debian for these packages; makes it if it is not there."""
    root, stamp = layout.images / "package.root", layout.images / "package.json"
    wanted = json.dumps({"recipe": RECIPE, "packages": [*BASE, *dependencies(files)]})
    with _lock:
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
            shutil.rmtree(root, ignore_errors=True)
            layout.images.mkdir(parents=True, exist_ok=True)
            _fill(root, json.loads(wanted)["packages"])
            stamp.write_text(wanted, encoding="utf-8")
    return root


def _fill(root, names):
    try:
        container.make_root(root, names)
    except container.CannotRun as error:
        raise ClusterError(f"the packages need a Debian: {error}") from None
    container.mask(root)
    for folder in UNUSED:
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
