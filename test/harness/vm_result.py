# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Repeats output and status of a step that steps_in_vm.sh ran in a virtual machine with others: vm_result.py FOLDER NAME CONSOLE.
A step fails if it did not end, or if the kernel had an error before its end: a kernel is not reliable after one."""

import os
import sys

# test/system has a package named lib, too, so these are imported as modules of their own. The folder comes last in the path.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm", "lib"))

from failure import STATUS  # noqa: E402
from trouble import TROUBLE  # noqa: E402


def text(path):
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def judge(status, name, console):
    """The exit status of the step, and the reason if its machine is the cause."""
    before, mark, _ = console.partition(f"steps_in_vm: {name} has ended")
    error = next((line.strip() for line in before.splitlines() if TROUBLE.search(line)), "")
    if error:
        began = f"steps_in_vm: {name} begins" in before[:before.index(error)]
        return STATUS, f"the kernel had an error {'in this' if began else 'in an earlier'} step: {error}"
    if status == "124" or mark and status.isdigit():
        return int(status), ""
    if f"steps_in_vm: {name} begins" in before:
        return STATUS, "the machine ended before this step did"
    return STATUS, "this step did not run: an earlier one ended their machine"


def main(folder, name, console):
    file = os.path.join(folder, name)
    sys.stdout.write(text(f"{file}.out"))
    sys.stderr.write(text(f"{file}.err"))
    status, reason = judge(text(f"{file}.status").strip(), name, text(console))
    if reason:
        print(f"test/vm/run: {reason}; the console is in {console}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
