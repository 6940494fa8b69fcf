# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Which parts the changes of a clone can affect: --changed."""

import subprocess

from parts import PARTS

ALL = tuple(PARTS)
CODE = tuple(part for part in ALL if part not in ("apiserver", "dist"))  # tests of everything that is compiled
PACKETS = ("system", "swap", "kit", "vm", "conformance", "asan", "tsan")
# Folder or file → parts. The longest match counts; a path without a match affects all parts.
TABLE = {
    ".ci": ("lint",),
    ".clang-format": ("lint",),
    ".gitignore": ("lint",),
    "CHANGELOG.md": ("lint",),
    "CONTRIBUTING.md": ("lint",),
    "LICENSE": ("lint", "package"),
    "Makefile.am": ALL,
    "NOTICE": ("lint", "package"),
    "README.md": ("lint",),
    "SECURITY.md": ("lint", "package"),
    "autogen.sh": ALL,
    "configure.ac": ALL,
    "core": CODE,
    "docs": ("lint",),
    "docs/abi.md": ("lint", "check"),
    "docs/conformance.md": ("lint", "conformance"),
    "docs/kubernetes": ("lint", "kubernetes"),
    "docs/man": ("lint", "check", "package"),
    "docs/plugin": ("lint", "check", "package"),
    "docs/security.md": ("lint", "package"),
    "docs/reference": ("lint", "check"),
    "docs/subdir.am": ALL,
    "lib": CODE,
    "m4": ALL,
    "names": CODE,
    "packaging": ALL,
    "packaging/debian": ("lint", "package", "kubernetes", "cluster"),
    "packaging/demo": ("lint", "demo", "package"),
    "packaging/etc": ("lint", "package", "kubernetes"),
    "packaging/helm": ("lint", "package", "kubernetes", "cluster"),
    "packaging/image": ("lint", "package", "kubernetes", "cluster"),
    "packaging/kubernetes": ("lint", "package", "kubernetes", "cluster"),
    "packaging/monitoring": ("lint", "system", "package", "kubernetes"),
    "packaging/rpm": ("lint", "package"),
    "packaging/sbom": ("lint", "package", "kubernetes"),
    "packaging/systemd": ("lint", "package", "kubernetes", "cluster"),
    "plugins": CODE,
    "plugins/ipvs": tuple(part for part in CODE if part != "demo"),
    "plugins/nftables": tuple(part for part in CODE if part != "demo"),
    "plugins/userspace": tuple(part for part in CODE if part != "demo"),
    "sdk": CODE,
    "test": ALL,
    "test/abi": ("lint", "check", "asan", "tsan"),  # tap.sh is used by tests of sanitizers, too
    "test/apiserver": ("lint", "check", "apiserver", *PACKETS, "bench", "kubernetes"),
    "test/bench": ("lint", "bench"),
    "test/cluster": ("lint", "cluster"),
    "test/fixtures": ("lint", "check", "apiserver", "kernel", *PACKETS, "fuzz", "bench", "package", "kubernetes"),
    "test/fuzz": ("lint", "check", "fuzz", "asan"),
    "test/harness": ("lint",),
    "test/harness/backends_in_vm.sh": ("lint", "vm"),
    "test/harness/shared_machines.py": ("lint", "vm"),
    "test/harness/steps_in_vm.sh": ("lint", "vm"),
    "test/harness/vm_result.py": ("lint", "vm"),
    "test/harness/with_plugins.sh": ("lint", "vm"),
    "test/kubernetes": ("lint", "kubernetes"),
    "test/lint": ("lint",),
    "test/lint/tarball.sh": ("lint", "dist"),
    "test/package": ("lint", "package", "kubernetes"),
    "test/plugins": ("lint", "check", *PACKETS),
    "test/precompiled.hpp": ("lint", "check", "separate", "asan", "fuzz", "tsan"),
    "test/objects.mk": ("lint", "separate"),
    "test/run.sh": ("lint",),
    "test/sanitizers": ("lint", "asan", "fuzz", "tsan"),
    "test/sdk": ("lint", "check"),
    "test/separate.sh": ("lint", "separate"),
    "test/subdir.am": ALL,
    "test/system": ("lint", "check", "kernel", *PACKETS, "bench", "package", "kubernetes"),
    "test/tools": ("lint", "check", "kernel", "demo", *PACKETS, "bench", "package", "kubernetes"),
    "test/unit": ("lint", "check", "kernel", "vm", "conformance", "fuzz", "asan", "tsan"),
    "test/vm": ("lint", "vm", "bench", "package", "kubernetes"),
}
BRANCHES = ("origin/main", "main")


class Unknown(Exception):
    """There is no such commit, or the source is not a clone."""


def parts_of(path):
    """The parts that a change of this file can affect, and the row of the table that says so."""
    words = path.split("/")
    for length in range(len(words), 0, -1):
        row = "/".join(words[:length])
        if row in TABLE:
            # A list of sources is part of the build of everything.
            return (ALL, "subdir.am") if words[-1] == "subdir.am" else (TABLE[row], row)
    return ALL, None


def _git(source, *words):
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", source, *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def base_of(source, wanted):
    for name in (wanted,) if wanted else BRANCHES:
        found = _git(source, "merge-base", name, "HEAD")
        if found:
            return found.strip()
    if wanted:
        raise Unknown(f"no commit '{wanted}' that HEAD descends from")
    return "HEAD"


def files(source, base):
    """{path: whether it was added or removed} for all files that differ from the base, committed or not."""
    changes = _git(source, "diff", "--name-status", "--no-renames", "-z", base)
    others = _git(source, "ls-files", "-z", "--others", "--exclude-standard")
    if changes is None or others is None:
        raise Unknown(f"{source} is not a clone; --changed needs git")
    words = changes.split("\0")
    found = {path: status != "M" for status, path in zip(words[0::2], words[1::2])}
    found.update((path, True) for path in others.split("\0") if path)
    return found


def select(changes):
    """The parts with the reason: {part: row of the table}. New files select part dist, which checks the tarball."""
    found = {}
    for path, is_new in sorted(changes.items()):
        chosen, row = parts_of(path)
        for part in chosen:
            found.setdefault(part, f"{row or 'a folder without a row'} ({path})")
        if is_new and not path.startswith("docs/"):
            found.setdefault("dist", f"added or removed: {path}")
    return found


def choose(source, wanted, say):
    """Parts to run; prints which and why."""
    base = base_of(source, wanted)
    changes = files(source, base)
    chosen = select(changes)
    say(f"{len(changes)} files differ from {base[:12]}")
    for part in PARTS:
        if part in chosen:
            say(f"  run       {part}: {chosen[part]}")
    skipped = [part for part in PARTS if part not in chosen]
    if skipped:
        say(f"  skip      {' '.join(skipped)}: none of these files affects them according to test/harness/changed.py")
    return [part for part in PARTS if part in chosen]
