# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Files that the guest copies to memory before the command. Every opening and closing of a file of the host is a request to
virtiofsd, and so is every symbolic link on the way to it. The start of a program with ten libraries makes some fifty."""

import glob
import os
import re
import shutil
import subprocess

# Programs that tests start often, in the order of use.
PROGRAMS = ("sh", "ip", "iptables", "iptables-legacy", "modprobe", "ipset", "ipvsadm", "nft", "conntrack", "nsenter", "unshare", "env",
            "sysctl", "mount", "umount", "kill", "nice", "sleep", "cat", "sed", "grep", "ps", "timeout", "bridge", "tc", "python3")
# What these open besides their libraries.
OTHERS = ("/etc/ld.so.cache", "/usr/lib/locale/C.utf8/*", "/usr/lib/locale/C.utf8/LC_MESSAGES/*", "/etc/nsswitch.conf", "/etc/passwd",
          "/etc/protocols", "/etc/services", "/etc/iproute2/*", "/etc/modprobe.d/*", "/lib/modprobe.d/*",
          "/usr/lib/*/gconv/gconv-modules.cache", "/usr/lib/*/xtables/lib*.so")
# Programs of the build tree; the daemon itself is too large.
OWN = ("test/tools/netecho", "test/tools/swaptraffic", "core/sluicectl")
FOLDERS = "/usr/sbin:/usr/bin:/sbin:/bin"  # PATH may begin with folders of wrappers
INDEX = "modules.*.bin"  # of the kernel's modules


def files(builddir, modules):
    """(names of files, names of symbolic links that lead to them), the first to be copied first."""
    programs = [shutil.which(name, path=FOLDERS) for name in PROGRAMS]
    programs += [os.path.join(os.path.abspath(builddir), name) for name in OWN] if builddir else []
    programs = [path for path in programs if path and os.path.exists(path)]
    known = [*programs, *_libraries(programs), *glob.glob(os.path.join(modules, INDEX))]
    known += [path for pattern in OTHERS for path in sorted(glob.glob(pattern)) if not os.path.isdir(path)]
    return _unique(map(os.path.realpath, known)), _unique(link for path in known for link in _links(path))


def _unique(paths):
    return list(dict.fromkeys(paths))


def _links(path):
    """Every symbolic link on the way to the file."""
    at = "/"
    for position, name in enumerate(names := path.strip("/").split("/")):
        at = os.path.join(at, name)
        if os.path.islink(at):
            rest = os.path.join(os.path.dirname(at), os.readlink(at), *names[position + 1:])
            return [at, *_links(os.path.normpath(rest))]
    return []


def _libraries(programs):
    listed = subprocess.run(["ldd", *programs], check=False, capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)
