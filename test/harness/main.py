# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests; see options.py for what test/run.sh takes, parts.py for what there is to run."""

import os
import resource
import sys
import time

sys.dont_write_bytecode = True

import bytecode  # noqa: E402
import changed  # noqa: E402
import options  # noqa: E402
import parts  # noqa: E402
import parts_conformance  # noqa: E402
import report  # noqa: E402
import shared_machines  # noqa: E402
import stress  # noqa: E402
from processes import Interrupted, Processes  # noqa: E402
from retry import Retry  # noqa: E402
from runner import Runner  # noqa: E402

INTERRUPTED, BROKEN_PIPE = 130, 141


def set_environment(settings):
    """The environment of every step."""
    # Steps that run make must not inherit the options of a make that called this program.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
        os.environ.pop(name, None)
    # Programs of the distribution first: its Python has the packages that packaging/install-deps.sh installs, and starts
    # without the launcher of a version manager.
    path = ["/usr/sbin", "/usr/bin", *os.environ.get("PATH", os.defpath).split(":")]
    os.environ.update(LC_ALL="C", PATH=":".join(dict.fromkeys(path)), PYTHONDONTWRITEBYTECODE="1",
                      PYTHONPYCACHEPREFIX=settings.built("pycache"))
    # configure and libtool prefer bash, which takes longer for their thousands of lines.
    if os.access("/bin/dash", os.X_OK):
        os.environ.setdefault("CONFIG_SHELL", "/bin/dash")


def list_names(wanted, settings):
    if not wanted.part:
        print(*parts.PARTS, sep="\n")
    else:
        print(*(step.id for step in parts.steps_of(settings, wanted.part)), sep="\n")
    return 0


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(wanted, settings):
    begun = time.monotonic()
    steps = parts.with_builds(settings, shared_machines.merged(settings, parts.steps_of(settings, wanted.chosen)))
    parts_conformance.remove_earlier(steps)
    try:
        os.remove(settings.built("packages", "done"))  # packages of an earlier run
    except FileNotFoundError:
        pass
    bytecode.provide(settings.test())
    with Processes() as processes:
        if wanted.stress:
            return stress.run(settings, processes, steps, wanted)
        runner = Runner(settings, processes)
        runner.run(steps)
        Retry(settings, processes, report.say).run(runner.outcomes)
    return report.finish(runner.outcomes, begun, processor_seconds(), settings.logs)


def main(words):
    wanted = options.parse(words)
    settings = options.settings(wanted)
    set_environment(settings)
    try:
        if wanted.list:
            return list_names(wanted, settings)
        if wanted.changed is not None:
            wanted.chosen = changed.choose(settings.source, wanted.changed, report.say)
            if not wanted.chosen:
                return report.last_line(0, 0, 0)
        os.environ["SLUICE_JOBS"] = str(settings.jobs)
        is_rootless = all(name.partition("/")[0] in parts.ROOTLESS for name in wanted.chosen)
        if os.geteuid() != 0 and not is_rootless:
            print("run.sh: network namespaces and packages need root; run it with sudo", file=sys.stderr)
            report.say("Failed:\n  not rooted: needs root")
            return report.last_line(0, 1, 0)
        os.makedirs(settings.logs, exist_ok=True)
        return run(wanted, settings)
    except (parts.Unknown, changed.Unknown) as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return 2
    except Interrupted:
        report.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # as in `test/run.sh | head`; running steps have been ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
