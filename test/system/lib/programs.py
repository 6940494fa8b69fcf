# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs under test are in a build tree."""

import os
import shutil
import tempfile

from . import shell


class Programs:
    def __init__(self, builddir, daemon=None, plugin_dir=None, netecho=None):
        self.builddir = os.path.abspath(builddir)
        self.netecho = os.path.abspath(netecho) if netecho else self._find("netecho")
        self.sluiced = os.path.abspath(daemon) if daemon else self._find("sluiced")
        self.sluicectl = None if daemon else self._find("sluicectl")
        self._plugin_dir = plugin_dir
        self.swaptraffic = self.tool("swaptraffic")
        self.apiserver = os.path.join(source_root(), "test", "apiserver", "apiserver.py")

    def _find(self, name):
        for folder in ("core", "test/tools", ""):
            path = os.path.join(self.builddir, folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise shell.CommandFailed(f"{name} not found in {self.builddir}: run make first, or name the build with --builddir")

    def with_fault_points(self):
        """The daemon of which a test can say at which step a swap goes wrong."""
        return self._find("sluiced-faults")

    def test_plugin(self, name):
        """A plugin that only tests have."""
        for path in built_modules(os.path.join(self.builddir, "test", "plugins")):
            if os.path.basename(path) == f"{name}.so":
                return path
        raise shell.CommandFailed(f"plugin {name} not found: make test/plugins/{name}.la")

    def tool(self, name):
        """The path of a program that only some cases need: beside netecho, whether it exists or not."""
        return os.path.join(os.path.dirname(self.netecho), name)

    def plugin_dir(self, scratch):
        """One folder with every built backend: libtool leaves each in a folder of its own."""
        if self._plugin_dir:
            return self._plugin_dir
        folder = os.path.join(scratch, "plugins")
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o755)
            for built in built_modules(os.path.join(self.builddir, "plugins")):
                shutil.copy(built, folder)
        return folder

    def backends(self, scratch):
        """The ids of the installed backends."""
        return sorted(name[:-3] for name in os.listdir(self.plugin_dir(scratch)) if name.endswith(".so"))


class ForPlugin:
    """The daemon as it is installed, or built, with one plugin and no other: what the conformance kit runs."""

    plugin = None  # see lib/plugin.py

    def __init__(self, folders, modes):
        self.sluiced, self.sluicectl, self.netecho, self.load, self.swaptraffic = (
            _program(name, folders) for name in ("sluiced", "sluicectl", "netecho", "conformance-load", "swaptraffic"))
        self._modes = modes  # where the plugins of Sluice's own modes are, below that folder

    def plugin_dir(self, scratch):
        """A folder that the daemon trusts: the author's need not belong to root."""
        folder = os.path.join(scratch, "plugins")
        if not os.path.isdir(folder):
            made = tempfile.mkdtemp(dir=scratch)
            os.chmod(made, 0o755)
            copy = os.path.join(made, f"{self.plugin.id}.so")
            shutil.copyfile(self.plugin.path, copy)
            os.chmod(copy, 0o755)
            os.rename(made, folder)
        return folder


    def add_mode(self, mode, folder):
        """Whether that mode is installed; it is in the folder then."""
        for path in built_modules(self._modes):
            if os.path.basename(path) == f"{mode}.so":
                shutil.copy(path, folder)
                return True
        return False


def _program(name, folders):
    for folder in folders:
        path = os.path.join(os.path.abspath(folder), name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise shell.CommandFailed(f"{name} not found in {' or '.join(folders)}")


def built_modules(folder):
    """Every shared object below a folder, those in libtool's hidden folders too."""
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".so")]


def source_root():
    return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
