# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Machine, versions and build of a run: without them results cannot be compared."""

import os
import platform
import subprocess
import time


def describe(builddir):
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": _processor(), "processors": os.cpu_count(), "memory_mib": _memory_mib(),
        "load_average": load_average(),
        "kernel": platform.release(), "system": _system(), "python": platform.python_version(),
        "iptables": _said("iptables", "--version"), "nft": _said("nft", "--version"),
        "commit": _commit(), "compiler_flags": _compiler_flags(builddir),
    }


def load_average():
    """The load of other programs: results can be compared if it was low."""
    return os.getloadavg()[0]


def sentence(found):
    return ", ".join([
        f"{found['processors']} × {found['processor']}", f"{found['memory_mib'] / 1024:.0f} GiB",
        f"kernel {found['kernel']}", found["system"], str(found["iptables"]), f"commit {found['commit']}",
        found["compiler_flags"],
        f"load average before and after {found['load_average']:.1f} and {found['load_average_after']:.1f}",
        found["when"]])


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_mib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)


def _system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _commit():
    """Of the source tree this script lies in; "+" when files differ from it."""
    folder = os.path.dirname(os.path.abspath(__file__))
    commit = _said("git", "-C", folder, "rev-parse", "--short=12", "HEAD")
    if commit is None:
        return "unknown"
    changed = _said("git", "-C", folder, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
    return commit + ("+" if changed else "")


def _compiler_flags(builddir):
    try:
        with open(os.path.join(builddir, "Makefile"), encoding="utf-8") as file:
            flags = [line.partition("=")[2].strip() for line in file if line.startswith("CXXFLAGS =")]
    except OSError:
        return "unknown"
    # The names of folders are of no interest elsewhere.
    return " ".join(flag for flag in flags[0].split() if not flag.startswith("-ffile-prefix-map")) if flags else "unknown"


def _said(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
