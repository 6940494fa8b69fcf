# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""One container as a runtime starts it: the image below a layer of its own, mounts, a /proc of its own that is writable
only for privileged ones, capabilities, environment. In the network namespace it is started in, as with hostNetwork.

As a program it becomes that container: `container.py FILE`, in namespaces of mounts and processes made for it. What it does
not have of a runtime's is seccomp and AppArmor."""

import ctypes
import json
import os
import subprocess
import sys

PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
OOM_SCORE = "-997"  # what kubelet gives to the containers of system-node-critical
# By number, as in linux/capability.h.
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
    NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT
    SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
    WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""".split()


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def bind(source, target, read_only):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount("--bind", source, target)
    if read_only:
        mount("-o", "remount,bind,ro", target)


def lay_out(asked):
    """Creates the filesystem; returns its root."""
    layer = asked["layer"]
    mount("-t", "tmpfs", "tmpfs", layer)
    root = os.path.join(layer, "root")
    for folder in ("upper", "work", "root"):
        os.mkdir(os.path.join(layer, folder))
    mount("-t", "overlay", "overlay", "-o", f"lowerdir={asked['image']},upperdir={layer}/upper,workdir={layer}/work", root)
    mount("-t", "proc", "proc", f"{root}/proc")
    mount("-t", "sysfs", "-o", "ro", "sysfs", f"{root}/sys")
    if not asked["privileged"]:
        mount("--bind", f"{root}/proc/sys", f"{root}/proc/sys")
        mount("-o", "remount,bind,ro", f"{root}/proc/sys")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", f"{root}/dev")
    for device in ("null", "zero", "full", "random", "urandom"):
        bind(f"/dev/{device}", f"{root}/dev/{device}", False)
    for one in asked["mounts"]:
        target = os.path.realpath(root + one["at"])
        if not target.startswith(root + "/"):  # through an absolute link in the image
            target = root + one["at"]
        bind(one["source"], target, one["read_only"])
    if asked["read_only"]:
        mount("-o", "remount,bind,ro", root)
    return root


def become(asked):
    root = lay_out(asked)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(OOM_SCORE)
    except PermissionError:
        pass  # not allowed in a container; the daemon logs it, too
    os.chroot(root)
    os.chdir("/")
    libc = ctypes.CDLL(None, use_errno=True)
    if asked["no_new_privileges"] and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if not asked["privileged"]:
        # After exec, a root process has exactly the capabilities left in the bounding set.
        for number, name in enumerate(CAPABILITIES):
            if name not in asked["capabilities"] and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 and \
                    ctypes.get_errno() != 22:  # EINVAL: unknown to this kernel
                raise OSError(ctypes.get_errno(), f"capability {name}")
    os.execve(asked["command"][0], asked["command"], asked["environment"])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as asked_file:
        become(json.load(asked_file))
