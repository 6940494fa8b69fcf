# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Versions of what the results depend on, as numbers without the words of a build."""

import json
import os
import re
import subprocess

_NUMBER = re.compile(r"\d+\.\d+(?:\.\d+)?")


def of_cluster(cluster):
    server = json.loads(cluster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    return {"kubernetes": _number(server), "containerd": of_program("containerd"), "kernel": _number(_kernel(cluster))}


def _kernel(cluster):
    """Nodes in emulated machines have another kernel than this program."""
    return cluster.nodes[0].run("uname", "-r").stdout if cluster.layout.kernel else os.uname().release


def of_program(program):
    return _number(subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout)


def _number(text):
    return _NUMBER.search(text).group(0)
