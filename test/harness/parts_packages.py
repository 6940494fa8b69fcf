# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts about deliverables: package, kubernetes."""

import os

from parts_build import PACKAGES, PROGRAMS, READY, TREE, packaging
from step import STATUS, Step

CONTAINER = "package-test"  # lock: the folder of that name in the build tree
PACKED = "packages"         # the tree in which packages were built
IMAGE = "image-test"


def package(run):
    """The Debian packages, installed in a clean Debian with its own systemd, and rebuilt to compare them; the environment of a
    third-party author of backends; the RPM packages in a folder. The long form adds upgrades in each mode on another kernel,
    and compiles everything again for the second build and the RPM packages."""
    debs = run.built("packages")

    def step(name, limit, *words, **about):
        command = ["python3", run.test("package", f"{name}_test.py"), "--builddir", run.build, *words]
        return Step("package", "install" if name == "package" else name, command, limit, needs=(PACKAGES,),
                    **{"weight": 0.35, "locks": (CONTAINER,), **about})

    def rpm():
        built = [] if run.long else ["--built", run.built("packages", f"sluice-{run.variable('PACKAGE_VERSION')}", "build")]
        return ["python3", run.test("package/rpm_test.py"), "--builddir", run.build, *built]

    extent = ["all"] if run.long else []
    made = [
        step("package", 900, "--debs", debs, expected=190),
        step("author", 900, "--debs", debs, expected=210),
        Step("package", "again", [run.test("package/again.sh"), debs, run.build, *extent], 7200 if run.long else 600, STATUS,
             "packages built again are the same", needs=(PACKAGES,), locks=(PACKED,), weight=0.7, expected=120,
             environment=packaging(run)),
        Step("package", "rpm", rpm, 7200 if run.long else 600, needs=(PACKAGES,), locks=(PACKED,), weight=0.5, expected=20),
    ]
    if run.long:
        made.append(step("upgrade", 16000, "--debs", debs, locks=(CONTAINER, "virtual machine"), weight=1.2, expected=3600))
    return made


def kubernetes(run):
    """The image, the manifests, the Helm chart, and a deployment of the manifests. The image is made from the packages if they
    were built, otherwise from `make install`; in the long form from both, with ipvs mode on a kernel that has IPVS."""
    folder = run.test("kubernetes")
    packages_built = lambda: os.path.exists(run.built("packages/done"))  # noqa: E731
    image = ["/usr/bin/python3", run.test("package/image_test.py"), "--builddir", run.build]
    pods = ["/usr/bin/python3", f"{folder}/pod_test.py", "--builddir", run.build, "--image", run.built("image-test/root")]
    about = {"needs": READY, "locks": (IMAGE, TREE)}  # `make install` where there are no packages
    made = [
        Step("kubernetes", "manifests", ["/usr/bin/python3", f"{folder}/manifests_test.py"], 60, needs=READY, weight=0.7),
        Step("kubernetes", "chart", ["/usr/bin/python3", f"{folder}/chart_test.py", "--builddir", run.build], 120, needs=READY,
             after=(PROGRAMS,), weight=0.7),
        Step("kubernetes", "image", lambda: [*image, *(["--debs", run.built("packages")] if packages_built() else [])], 300,
             after=(PACKAGES, *(["kubernetes/image-tree"] if run.long else [])), weight=0.7, **about),
        Step("kubernetes", "pods", [*pods, *(() if run.long else ("--short",))], 1200, after=("kubernetes/image", PROGRAMS),
             weight=0.4, expected=30, needs=READY, locks=(IMAGE,)),
    ]
    if run.long:
        # From `make install`; the other step uses the packages if there are any.
        made.insert(1, Step("kubernetes", "image-tree", image, 300, after=(PACKAGES,), weight=0.7, **about))
        command = ["/usr/bin/python3", run.test("vm/run"), "--builddir", run.build, "--kernel", "6.1", "--limit", "1500", "--", *pods,
                   "--overlay", "overlays/ipvs"]
        made.append(Step("kubernetes", "pods-ipvs", command, 1800, after=("kubernetes/pods",), needs=READY, weight=1.2, expected=600,
                         locks=(IMAGE, "virtual machine")))
    return made
