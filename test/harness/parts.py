# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""All parts of a run, and their steps in the short and the long form."""

import parts_basic
import parts_build
import parts_cluster
import parts_conformance
import parts_packages
import parts_sanitizers
import parts_system
import parts_vm

PARTS = {
    "lint": parts_basic.lint,
    "check": parts_basic.check,
    "apiserver": parts_basic.apiserver,
    "kernel": parts_basic.kernel,
    "system": parts_system.system,
    "swap": parts_system.swap,
    "kit": parts_system.kit,
    "vm": parts_vm.vm,
    "conformance": parts_conformance.conformance,
    "demo": parts_basic.demo,
    "separate": parts_basic.separate,
    "bench": parts_basic.bench,
    "asan": parts_sanitizers.asan,
    "fuzz": parts_sanitizers.fuzz,
    "tsan": parts_sanitizers.tsan,
    "package": parts_packages.package,
    "kubernetes": parts_packages.kubernetes,
    "cluster": parts_cluster.cluster,
    "dist": parts_basic.dist,
}
QUICK = ("lint", "check", "system/nftables", "conformance", "package/install")
ROOTLESS = ("lint", "conformance")  # alone they need neither root nor a build


class Unknown(Exception):
    """There is no part or step of that name."""


def steps_of(run, chosen):
    """The steps of parts and of single steps, PART/STEP, in order and each once."""
    found = {}
    for name in chosen:
        part, _, step = name.partition("/")
        if part not in PARTS:
            raise Unknown(f"no part '{part}'; parts: {' '.join(PARTS)}")
        made = [one for one in PARTS[part](run) if step in ("", one.name)]
        if not made:
            known = ", ".join(one.name for one in PARTS[part](run) if one.name)
            raise Unknown(f"part {part} has no step '{step}'" + (f"; steps: {known}" if known else ""))
        if any(one.reports for one in made):  # without these two, reports of sanitizers would be lost
            made = [one for one in PARTS[part](run) if step in ("", one.name) or one.name in ("detection", "reports")]
        found.update((one.id, one) for one in made)
    return parts_conformance.with_results(run, parts_system.once_each(list(found.values())))


def with_builds(run, steps):
    """The steps, preceded by the steps that they need; with --no-build, the build tree is used unchanged."""
    builds = parts_build.builds(run, steps)
    needed = set()
    if any(step.programs or step.part == "check" for step in steps):
        needed.add(parts_build.PROGRAMS)
    queue = [name for step in steps for name in step.needs] + list(needed)
    while queue:
        name = queue.pop()
        if name in builds:
            needed.add(name)
            queue += builds[name].needs
    if not run.with_build:
        needed -= {parts_build.INSTALL, parts_build.BUILD}
    return [step for step in builds.values() if step.id in needed] + steps
