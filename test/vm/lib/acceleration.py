# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Selects KVM or emulation. KVM is used only if a trial guest answers, because an accessible /dev/kvm may not work."""

import os
import subprocess

from . import qemu

KNOWN = ("kvm", "tcg")
TRIAL_SECONDS = 8


def choose(cache, kernel, image):
    """kvm or tcg; the result of the trial is cached until the host reboots."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        known = os.path.join(cache, f"kvm-{file.read().strip()}")
    if not os.path.exists(known):
        answer = "kvm" if _answers(kernel, image) else "tcg"
        with open(known + f".{os.getpid()}", "w", encoding="utf-8") as file:
            file.write(answer)
        os.rename(file.name, known)
    with open(known, encoding="utf-8") as file:
        return file.read()


def _answers(kernel, image):
    words = qemu.command("kvm", 1, 512, kernel, image, "sluice.trial") + ["-serial", "stdio"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRIAL_SECONDS, check=False,
                              preexec_fn=qemu.separate)
    except subprocess.TimeoutExpired:
        return False
    return b"the trial guest answers" in done.stdout
