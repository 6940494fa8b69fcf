# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Lists the source files of a tree: files that git would commit or, without git, all except build products."""

import os
import subprocess

# Made by tools, never by hand: build folders, autotools output, caches.
GENERATED_FOLDERS = ("build", ".git", "autom4te.cache", "__pycache__", "sluice-")
GENERATED_FILES = {"configure", "aclocal.m4", "config.h.in", "libtool.m4", "ltoptions.m4", "ltsugar.m4",
                   "ltversion.m4", "lt~obsolete.m4", "Makefile.in"}


def source_files(root):
    """Paths below `root`, relative to it, sorted."""
    names = _from_git(root)
    if names is None:
        names = _from_walk(root)
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def read(root, name):
    """The text of a file, or None when it is not text."""
    with open(os.path.join(root, name), "rb") as file:
        content = file.read()
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _from_git(root):
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in done.stdout.decode("utf-8").split("\0") if name]


def _from_walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not _is_generated_folder(folder, name)]
        for name in files:
            if name not in GENERATED_FILES and not name.endswith((".pyc", "~")):
                yield os.path.relpath(os.path.join(folder, name), root)


def _is_generated_folder(parent, name):
    # A build tree is recognized by the files that configure creates in it.
    inside = os.path.join(parent, name)
    return name.startswith(GENERATED_FOLDERS) or os.path.exists(os.path.join(inside, "config.status"))
