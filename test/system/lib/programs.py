# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of the programs under test."""

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
        self.apiserver = os.path.join(source_root(), "test", "apiserver", "forks.py")

    def _find(self, name):
        for folder in ("core", "test/tools", ""):
            path = os.path.join(self.builddir, folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise shell.CommandFailed(f"{name} not found in {self.builddir}: run make first, or name the build with --builddir")

    def with_fault_points(self):
        """The build of the daemon with fault points, at which a test can make a swap fail."""
        return self._find("sluiced-faults")

    def test_plugin(self, name):
        """A plugin that exists only for tests."""
        for path in built_modules(os.path.join(self.builddir, "test", "plugins")):
            if os.path.basename(path) == f"{name}.so":
                return path
        raise shell.CommandFailed(f"plugin {name} not found: make test/plugins/{name}.la")

    def tool(self, name):
        """The path of a program in the folder of netecho, which only some cases need and which may be missing."""
        return os.path.join(os.path.dirname(self.netecho), name)

    def plugin_dir(self, scratch):
        """A folder with stripped copies of all built backends, because libtool builds each in a separate folder."""
        if self._plugin_dir:
            return self._plugin_dir
        folder = os.path.join(scratch, "plugins")
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o755)
            for built in built_modules(os.path.join(self.builddir, "plugins")):
                copy_stripped(built, folder)
        return folder

    def backends(self, scratch):
        """The ids of the installed backends."""
        return sorted(name[:-3] for name in os.listdir(self.plugin_dir(scratch)) if name.endswith(".so"))


class ForPlugin:
    """The installed or built daemon with only one plugin, for the conformance kit."""

    plugin = None  # see lib/plugin.py

    def __init__(self, folders, modes):
        self.sluiced, self.sluicectl, self.netecho, self.load, self.swaptraffic = (
            _program(name, folders) for name in ("sluiced", "sluicectl", "netecho", "conformance-load", "swaptraffic"))
        self._modes = modes  # the folder with the plugins of Sluice

    def plugin_dir(self, scratch):
        """A copy in a folder that the daemon trusts, because the original need not belong to root."""
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
        """Copies the plugin of that mode to the folder; returns False if it is not installed."""
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


def copy_stripped(plugin, folder):
    """Copies the plugin to the folder without symbols, if the machine has strip. Each daemon copies its plugins to memory and
    computes their digests. Reports of sanitizers lose nothing: no symbolizer can open the copy in memory."""
    strip = shutil.which("strip")
    if strip:
        shell.run([strip, "-o", os.path.join(folder, os.path.basename(plugin)), plugin])
    else:
        shutil.copy(plugin, folder)


def built_modules(folder):
    """All shared objects below a folder, including hidden folders of libtool."""
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".so")]


def source_root():
    return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
