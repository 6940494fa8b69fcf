#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that names which several parts of the code share are written down once, and that names of the standard library for which
the project has its own are not used. Prints TAP."""

import re
import sys

sys.dont_write_bytecode = True

import broken_trees  # noqa: E402
from includes import SUFFIXES, without_comments  # noqa: E402
from source_files import read, source_files  # noqa: E402

MODES = "iptables|ipvs|nftables|userspace"
MODE = re.compile(rf'"(?:{MODES})"|\bk(?:Iptables|Ipvs|Nftables|Userspace)\b')
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
# In a literal: "ipvs mode", "iptables.syncPeriod", "ipvs-scheduler".
MODE_WORD = re.compile(rf"(?<![\w-])(?:{MODES})(?!\w)")
MODE_TABLE = "core/config/mode_table."
# Files of the core that may have a mode as a word of a longer literal, and the reason.
MODE_WORDS = {
    "core/config/options.cpp": "fields and flags of kube-proxy, with their help and errors",
    "core/observe/metrics/catalogue.cpp": "what metrics of backends count",
    "core/cleanup/": "kernel objects that modes leave",
    "core/plugin/lookup.cpp": "an example of an id",
}
# A literal that is a name and no message about it.
OBJECT = re.compile(r'"(?:KUBE-(?!6-")[A-Z0-9-]+|kube-ipvs0)"')

LOCK = re.compile(r"\bstd::((?:recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex|(?:unique|scoped|shared)_lock|lock_guard|"
                  r"condition_variable(?:_any)?)\b")


def in_lines(name, text, search):
    for number, line in enumerate(text.splitlines(), 1):
        if search(line):
            yield f"{name}:{number}: {line.strip()}"


def modes(name, text):
    """The core spells a mode in its table only, and literals with a mode only in the files that MODE_WORDS lists."""
    words = not name.startswith(tuple(MODE_WORDS))
    if name.startswith("core/") and not name.startswith(MODE_TABLE):
        yield from in_lines(name, text, lambda line: MODE.search(line) or words and any(map(MODE_WORD.search, LITERAL.findall(line))))


def kernel_objects(name, text):
    """Core and plugins take names of kernel objects from names/."""
    if name.startswith(("core/", "plugins/")):
        yield from in_lines(name, text, OBJECT.search)


def locks(name, text):
    """Core, lib and plugins lock with the types that clang checks."""
    if name.startswith(("core/", "lib/", "plugins/")) and name != "lib/mutex.hpp":
        for number, line in enumerate(text.splitlines(), 1):
            for found in LOCK.finditer(line):
                yield f"{name}:{number}: std::{found.group(1)}; use the type of lib/mutex.hpp and name what it guards with SLUICE_GUARDED_BY"


RULES = {
    f"core spells a mode in {MODE_TABLE}cpp only": modes,
    "core and plugins take names of kernel objects from names/": kernel_objects,
    "core, lib and plugins lock with lib/mutex.hpp, so that clang checks it": locks,
}


def violations(root, rule):
    for name in source_files(root):
        text = read(root, name) if name.endswith(SUFFIXES) else None
        if text is not None:
            yield from rule(name, without_comments(text))


# rule, file, text: each must be found by that rule.
BROKEN = [
    (modes, "core/lifecycle/a.cpp", 'if (backend == "ipvs") return;\n'),
    (modes, "core/cleanup/a.cpp", "into.modes |= names::kNftables;\n"),
    (modes, "core/config/render.cpp", 'out["mode"] = "iptables";\n'),
    (modes, "core/config/flag_table.cpp", 'return "ipvs mode";\n'),
    (modes, "core/config/options.cpp", '{.help = "in mode " + "nftables"},\n'),
    (modes, "core/daemon/a.cpp", 'base::log_info("app", "relayed in userspace mode");\n'),
    (modes, "core/plugin/a.cpp", 'return invalid("use an id such as \\"iptables\\"");\n'),
    (modes, "core/reload/a.cpp", 'compare("iptables.localhostNodePorts", from, to);\n'),
    (modes, "core/reload/b.cpp", 'find_flag("ipvs-scheduler");\n'),
    (kernel_objects, "core/cleanup/a.cpp", 'constexpr std::string_view kChain = "KUBE-SERVICES";\n'),
    (kernel_objects, "plugins/iptables/a.cpp", 'return "KUBE-SVC-";\n'),
    (kernel_objects, "plugins/ipvs/a.cpp", 'if_nametoindex("kube-ipvs0");\n'),
    (locks, "core/base/a.hpp", "mutable std::mutex mutex_;\n"),
    (locks, "core/base/a.hpp", "std::shared_mutex mutex_;\n"),
    (locks, "core/store/a.cpp", "const std::lock_guard lock(mutex_);\n"),
    (locks, "lib/a.hpp", "mutable std::mutex mutex_;\n"),
    (locks, "plugins/ipvs/a.cpp", "std::unique_lock lock(mutex);\n"),
    (locks, "plugins/ipvs/a.cpp", "std::condition_variable changed_;\n"),
]
FINE = [
    (MODE_TABLE + "cpp", "ModeFacts{.id = names::id_of(names::kIpvs)};\n"),
    ("core/config/options.cpp", '{.field = "ipvs.scheduler", .flag = "ipvs-scheduler"},\n'),
    ("core/a.cpp", 'starts_with("KUBE-6-"); starts_with("KUBE-");\n'),
    ("core/c.cpp", '#include "core/cleanup/ipvs_connections.hpp"\nread("bridge-nf-call-iptables", draft.ipvs, "");\n'),
    ("names/a.hpp", 'inline constexpr std::string_view kServices = "KUBE-SERVICES";\n'),
    ("plugins/ipvs/a.cpp", 'add("KUBE-PROXY-FIREWALL does not drop other sources");\n'),
    ("plugins/a.cpp", 'name = "ipvs";\n'),
    ("plugins/b.cpp", "const lib::Lock lock(mutex_, std::adopt_lock);  // no std::mutex\nstd::call_once(once, [] {});\n"),
    ("lib/mutex.hpp", "std::mutex mutex_;\n"),
    ("test/b.cpp", "std::mutex mutex;\n"),
    ("core/b.cpp", '// "ipvs", "KUBE-SERVICES"\n'),
    ("test/a.cpp", 'check("KUBE-SERVICES", "ipvs");\n'),
]


if __name__ == "__main__":
    sys.exit(broken_trees.run(RULES, violations, BROKEN, FINE))
