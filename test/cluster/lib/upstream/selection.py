# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Selects tests of e2e.test by their exact names, and lists them."""

import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

from .. import pace
from ..failure import ClusterError
from . import junit

REPORT = "junit_01.xml"  # e2e.test writes it to its --report-dir


def focus(tests):
    """A regular expression of Go that matches exactly these tests. Ginkgo puts the name of the suite before the test's name."""
    return f"({'|'.join(_quoted(test) for test in tests)})$"


def _quoted(text):
    """Go's regular expressions reject some escapes that Python's re.escape writes, such as the escaped space."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def names_of_tests(programs, select):
    """All tests that match the regular expression `select`. A dry run reports them as passed; it needs no cluster."""
    with tempfile.TemporaryDirectory() as folder:
        command = [programs.path("e2e.test"), "--ginkgo.dry-run", "--ginkgo.no-color",
                   f"--ginkgo.focus={select.removeprefix('^')}", "--provider=skeleton", f"--kubeconfig={os.devnull}",
                   f"--report-dir={folder}"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=pace.stretched(120), check=False)
        path = os.path.join(folder, REPORT)
        if done.returncode or not os.path.exists(path):
            raise ClusterError(f"e2e.test does not list its tests: exit {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
        return sorted(junit.names(ElementTree.parse(path).getroot()))
