# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The iptables programs of the node under test: one variant, and wrappers that record or reject its input.

They are in one folder at the start of PATH, in which all iptables names are that variant, independent of the
alternatives of the host. The folder is a symbolic link, so that wrappers can be added and removed under a
running daemon.
"""

import contextlib
import os
import shutil

from . import addresses as a
from . import pace, shell

VARIANTS = ("nft", "legacy")
NAMES = {a.V4: "iptables", a.V6: "ip6tables"}
SUFFIXES = ("", "-save", "-restore")
WRAPPERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wrappers")


class Missing(shell.CommandFailed):
    """This machine does not have that variant of iptables."""


class NodeTools:
    def __init__(self, directory, variant):
        self.variant = variant
        self._directory = os.path.join(directory, f"iptables-{variant}")
        self.path = os.path.join(self._directory, "programs")
        found = shutil.which(f"iptables-{variant}")
        if found is None:
            raise Missing(f"iptables-{variant} is not installed")
        multi = os.path.realpath(found)
        for folder in ("real", "wrapped", "inputs", "turned-away"):
            os.makedirs(os.path.join(self._directory, folder))
        for name in NAMES.values():
            for infix in ("", f"-{variant}"):
                for suffix in SUFFIXES:
                    called = name + infix + suffix
                    os.symlink(multi, self._file("real", called))
                    wrapper = os.path.abspath(os.path.join(WRAPPERS, "iptables" + suffix))
                    os.symlink(multi if suffix == "-save" else wrapper, self._file("wrapped", called))
        self._point_to("real")
        self._wraps = 0

    def program(self, family, suffix=""):
        """The name of that program on the host."""
        return f"{NAMES[family]}-{self.variant}{suffix}"

    def empty(self, topology, family, table):
        """Removes every rule and chain from a table of the node. If the daemon repairs or removes a chain between the two
        commands, the second one fails, and both run again."""
        def emptied():
            words = [self.program(family), "-w", "-t", table]
            return all(topology.run("node", *words, action, check=False).returncode == 0 for action in ("-F", "-X"))

        if not pace.wait_until(emptied, 10):
            raise shell.CommandFailed(f"table {table} cannot be emptied")

    @contextlib.contextmanager
    def wrapped(self):
        """While open, the node runs the wrappers; calls may nest."""
        self._wraps += 1
        self._point_to("wrapped")
        try:
            yield self
        finally:
            self._wraps -= 1
            if not self._wraps:
                self._point_to("real")

    # Only while wrapped.

    def inputs(self, namespace):
        """The inputs that iptables-restore has accepted in that network namespace, oldest first."""
        number = os.stat(f"/run/netns/{namespace}").st_ino
        found = sorted(name for name in os.listdir(self._file("inputs")) if name.endswith(f".{number}"))
        return [_text(self._file("inputs", name)) for name in found]

    def turned_away(self):
        """The number of rejected inputs so far."""
        return len(os.listdir(self._file("turned-away")))

    def refuse(self, pattern, manner):
        """Rejects inputs with a line that matches the extended regular expression. `manner` is the line that the error message
        contains: that `line`, the `commit` after it, or `nothing`."""
        self._write("manner", manner)
        self._write("refused", pattern + "\n")

    def accept_all(self):
        self._write("refused", "")

    def claim_version(self, text):
        """Sets the output of `iptables --version`; empty restores the real version."""
        self._write("version", text)

    def _file(self, *parts):
        return os.path.join(self._directory, *parts)

    def _write(self, name, text):
        with open(self._file(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self._file(name + ".new"), self._file(name))

    def _point_to(self, folder):
        new = self.path + ".new"
        os.symlink(folder, new)
        os.rename(new, self.path)


def _text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
