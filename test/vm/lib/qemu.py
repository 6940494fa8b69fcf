# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of qemu."""

import ctypes
import hashlib
import os
import shutil
import signal

from . import clock
from .failure import Failure

PROGRAM = "qemu-system-x86_64"
# Emulation copies memory byte by byte for a processor with ERMS, walks one more level of page tables with 5-level paging,
# and keeps a second set of translated addresses for SMAP.
PROCESSORS = {"kvm": "host", "tcg": "max,-erms,-la57,-smap"}
ACCELERATORS = {"kvm": "kvm", "tcg": "tcg,thread=multi"}
# Watchdogs of the kernel are off, because they take a slow machine for a hung one and distrust its clocks. An oops ends the
# machine, because no later result is reliable. With norandmaps each process has a library at the same address, so that the
# emulator translates its code once instead of once per process, which halves the processor time. Security modules, hardening and
# self-tests of ciphers only cost, as no test depends on them.
KERNEL_WORDS = ("console=ttyS0 quiet loglevel=5 panic=-1 oops=panic mitigations=off nokaslr norandmaps tsc=reliable no_timer_check "
                "nowatchdog init_on_alloc=0 rcupdate.rcu_cpu_stall_suppress=1 random.trust_cpu=on audit=0 "
                "lsm=capability randomize_kstack_offset=off hardened_usercopy=off cryptomgr.notests psi=0")
# Accounting of memory by control group costs, too. A node of a cluster, whose kubelet needs it, and systemd have it.
WITHOUT_MEMORY_GROUPS = "cgroup_disable=memory "

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def command(accelerator, cpus, memory, kernel, image, words):
    """A machine with memory that other processes may share, and nothing else."""
    if not shutil.which(PROGRAM):
        raise Failure(f"{PROGRAM} is missing; packaging/install-deps.sh test installs it")
    return [
        PROGRAM, "-machine", "q35", "-accel", ACCELERATORS[accelerator], "-cpu", PROCESSORS[accelerator],
        "-smp", str(cpus), "-m", f"{memory}M",
        "-object", f"memory-backend-memfd,id=memory,size={memory}M,share=on", "-numa", "node,memdev=memory",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-kernel", kernel.image, "-initrd", image, "-append", f"{KERNEL_WORDS} {_clock(accelerator)}{words}",
    ]


def _clock(accelerator):
    """An emulated machine uses the counter of its processor as its clock, which programs read without a system call, if its frequency
    is known; otherwise the emulated HPET, which is slow: each reading is one of a device."""
    if accelerator == "kvm":
        return ""
    frequency = clock.frequency_khz()
    return f"clocksource=tsc tsc_early_khz={frequency} " if frequency else "clocksource=hpet "


def network(tap):
    """The machine's eth0. Its address is made of the name of the tap, so that machines on one switch differ."""
    digits = hashlib.sha256(tap.encode()).hexdigest()
    return ["-netdev", f"tap,id=network,ifname={tap},script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev=network,romfile=,mac=52:54:00:{digits[:2]}:{digits[2:4]}:{digits[4:6]}"]


def separate():
    """For a child that must end even if this process is killed, but not by Ctrl-C: this process ends the machine in order. It stays in
    this session, because a priority may apply to a session as a whole (sched(7))."""
    os.setpgrp()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
