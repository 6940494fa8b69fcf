# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled Python modules of a run, outside of the source tree. With PYTHONPYCACHEPREFIX set, Python reads compiled modules
from there only, those of the standard library too; a module that is missing there is compiled at each start of a program."""

import os
import subprocess
import sys
import sysconfig


def provide(folder):
    """Links the compiled standard library, and compiles the modules below the folder; programs that start later only read both."""
    link(sysconfig.get_path("stdlib"), os.environ["PYTHONPYCACHEPREFIX"])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "compileall", "-q", folder], env=environment, stdout=subprocess.DEVNULL, check=False)


def link(library, prefix):
    """A distribution compiles the library when it installs it. Python ignores a compiled module that does not fit its source."""
    ending = f".{sys.implementation.cache_tag}.pyc"
    for folder, _, files in os.walk(library):
        if os.path.basename(folder) != "__pycache__":
            continue
        place = prefix + os.path.dirname(folder)
        os.makedirs(place, exist_ok=True)
        for name in files:
            if name.endswith(ending) and not os.path.lexists(os.path.join(place, name)):
                os.symlink(os.path.join(folder, name), os.path.join(place, name))
