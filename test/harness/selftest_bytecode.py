# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of a run find compiled modules: compiling the standard library at each start took two thirds of a start's time."""

import os
import subprocess
import sys

import bytecode

# Modules that programs of the tests import; those whose compiled file is missing are printed.
UNCOMPILED = """
import asyncio, http.client, json, os, ssl, subprocess, sys
cached = {name: getattr(module, "__cached__", None) for name, module in sys.modules.items()}
print(*sorted(name for name, path in cached.items() if path and not os.path.exists(path)), sep="\\n")
print(sum(1 for path in cached.values() if path and path.startswith(sys.pycache_prefix)), "in the folder")
"""


def tests(folder):
    prefix = os.path.join(folder, "pycache")
    yield "without a link, modules of the library are not compiled: the check sees it", _uncompiled(prefix, "asyncio.base_events")
    os.makedirs(prefix)
    before = os.environ.get("PYTHONPYCACHEPREFIX")
    os.environ["PYTHONPYCACHEPREFIX"] = prefix
    try:
        for number in (1, 2):
            bytecode.provide(os.path.dirname(os.path.abspath(__file__)))
            yield f"programs find the standard library compiled, run {number}", _uncompiled(prefix, None)
    finally:
        os.environ.pop("PYTHONPYCACHEPREFIX")
        if before is not None:
            os.environ["PYTHONPYCACHEPREFIX"] = before
    own = prefix + os.path.dirname(os.path.abspath(__file__)) + f"/bytecode.{sys.implementation.cache_tag}.pyc"
    yield "modules of the tests are compiled outside of the source tree", [] if os.path.exists(own) else [f"no {own}"]


def _uncompiled(prefix, expected):
    """Problems: modules without a compiled file, or the expected one not being among them."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": prefix, "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run([sys.executable, "-S", "-c", UNCOMPILED], env=environment, capture_output=True, text=True, check=True)
    *missing, last = said.stdout.split("\n")[:-1]
    missing = [name for name in missing if name]
    if expected is not None:
        return [] if expected in missing else [f"{expected} is not missing"]
    return missing[:5] + ([last] if int(last.split()[0]) < 50 else [])
