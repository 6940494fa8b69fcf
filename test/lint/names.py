#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that names which several parts of the code share are written down once, that names of the standard library for which
the project has its own are not used, and that unit tests are named after their source. Prints TAP."""

import os
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
MODE_WORD = re.compile(rf"(?<!\w)(?<!\w-)(?:{MODES})(?!\w)")
MODE_TABLE = "core/config/mode_table."
# Files of the core that may have a mode as a word of a longer literal, and the reason.
MODE_WORDS = {
    "core/config/options.cpp": "fields and flags of kube-proxy, with their help and errors",
    "core/observe/metrics/catalogue.cpp": "what metrics of the daemon count in each mode",
    "core/cleanup/": "kernel objects that modes leave",
    "core/plugin/lookup.cpp": "an example of an id",
}
# A literal that is a name and no message about it.
OBJECT = re.compile(r'"(?:KUBE-(?!6-")[A-Z0-9-]+|kube-ipvs0)"')

# A metric that plugins declare, and a name made of a prefix and the id of a backend.
BACKEND_METRIC = re.compile(r'sluice_(?:iptables|ipvs|nftables|userspace)_|"sluice_" \+|'
                            r'kubeproxy_(?:iptables|sync_proxy_rules_(?:iptables|nftables|no_local_endpoints))_')

LOCK = re.compile(r"\bstd::((?:recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex|(?:unique|scoped|shared)_lock|lock_guard|"
                  r"condition_variable(?:_any)?)\b")

UNIT_TEST = re.compile(r"test/unit/(.+/)?(\w+)_test\.cpp")
# test/unit mirrors these folders.
MIRRORED = ("", "core/", "plugins/", "sdk/include/sluice/")
# Unit tests without one source of their name: path below test/unit → what they test.
OTHER_TESTS = {
    **{f"{backend}/plugin": "the shared object" for backend in ("ipvs", "nftables", "userspace")},
    **{f"{backend}/written_names": "clean-up with all that the backend writes" for backend in ("iptables", "ipvs", "userspace")},
    "iptables/cases": "conformance cases, with all rules of the backend",
    "iptables/decision": "the path of packets through all rules of the backend",
    "ipvs/rule_trace": "the path of packets through rules, sets and virtual servers",
    "node/node_facts": "node IPs, node port addresses and local detectors",
    "plugin/faulty_plugin": "the plugin of test/plugins that injects faults",
    "userspace/portal/portal_decision": "the path of packets through portals",
}


def in_lines(name, text, search):
    for number, line in enumerate(text.splitlines(), 1):
        if search(line):
            yield f"{name}:{number}: {line.strip()}"


def modes(name, text, _):
    """The core spells a mode in its table only, and literals with a mode only in the files that MODE_WORDS lists."""
    words = not name.startswith(tuple(MODE_WORDS))
    if name.startswith("core/") and not name.startswith(MODE_TABLE):
        yield from in_lines(name, text, lambda line: MODE.search(line) or words and any(map(MODE_WORD.search, LITERAL.findall(line))))


def kernel_objects(name, text, _):
    """Core and plugins take names of kernel objects from names/."""
    if name.startswith(("core/", "plugins/")):
        yield from in_lines(name, text, OBJECT.search)


def backend_metrics(name, text, _):
    """The plugins declare their metrics; the core names none of them."""
    if name.startswith("core/"):
        yield from in_lines(name, text, lambda line: BACKEND_METRIC.search(line))


def locks(name, text, _):
    """Core, lib and plugins lock with the types that clang checks."""
    if name.startswith(("core/", "lib/", "plugins/")) and name != "lib/mutex.hpp":
        for number, line in enumerate(text.splitlines(), 1):
            for found in LOCK.finditer(line):
                yield f"{name}:{number}: std::{found.group(1)}; use the type of lib/mutex.hpp and name what it guards with SLUICE_GUARDED_BY"


def unit_tests(name, _, stems):
    """FOLDER/NAME_test.cpp or FOLDER/NAME_ASPECT_test.cpp tests FOLDER/NAME of the sources, or a helper of tests beside it."""
    found = UNIT_TEST.fullmatch(name)
    if not found:
        return
    folder, test = found.group(1) or "", found.group(2)
    words = test.split("_")
    sources = [f"{root}{folder}{'_'.join(words[:length])}" for root in MIRRORED for length in range(1, len(words) + 1)]
    if folder + test not in OTHER_TESTS and stems.isdisjoint([*sources, f"test/unit/{folder}{test}"]):
        yield f"{name}: no source {folder}{test}; mirror the folder and the name of the source, or add a row to OTHER_TESTS"


RULES = {
    f"core spells a mode in {MODE_TABLE}cpp only": modes,
    "core and plugins take names of kernel objects from names/": kernel_objects,
    "core names no metric of a backend": backend_metrics,
    "core, lib and plugins lock with lib/mutex.hpp, so that clang checks it": locks,
    "unit tests have the folder and the name of their source": unit_tests,
}


def violations(root, rule):
    names = [name for name in source_files(root) if name.endswith(SUFFIXES)]
    stems = {os.path.splitext(name)[0] for name in names}
    for name in names:
        text = read(root, name)
        if text is not None:
            yield from rule(name, without_comments(text), stems)


# rule, file, text: each must be found by that rule.
BROKEN = [
    (modes, "core/lifecycle/a.cpp", 'if (backend == "ipvs") return;\n'),
    (modes, "core/cleanup/a.cpp", "into.modes |= names::kNftables;\n"),
    (modes, "core/config/render.cpp", 'out["mode"] = "iptables";\n'),
    (modes, "core/config/flag_table.cpp", 'return "ipvs mode";\n'),
    (modes, "core/reload/c.cpp", 'return "--ipvs-scheduler: …";\n'),
    (modes, "core/config/options.cpp", '{.help = "in mode " + "nftables"},\n'),
    (modes, "core/daemon/a.cpp", 'base::log_info("app", "relayed in userspace mode");\n'),
    (modes, "core/plugin/a.cpp", 'return invalid("use an id such as \\"iptables\\"");\n'),
    (modes, "core/reload/a.cpp", 'compare("iptables.localhostNodePorts", from, to);\n'),
    (modes, "core/reload/b.cpp", 'find_flag("ipvs-scheduler");\n'),
    (kernel_objects, "core/cleanup/a.cpp", 'constexpr std::string_view kChain = "KUBE-SERVICES";\n'),
    (kernel_objects, "plugins/iptables/a.cpp", 'return "KUBE-SVC-";\n'),
    (kernel_objects, "plugins/ipvs/a.cpp", 'if_nametoindex("kube-ipvs0");\n'),
    (backend_metrics, "core/observe/a.cpp", 'gauge("sluice_ipvs_addresses");\n'),
    (backend_metrics, "core/daemon/a.cpp", 'gauge("sluice_" + backend + "_clients");\n'),
    (backend_metrics, "core/observe/a.cpp", '"kubeproxy_sync_proxy_rules_iptables_total";\n'),
    (backend_metrics, "core/observe/a.cpp", '"kubeproxy_sync_proxy_rules_no_local_endpoints_total";\n'),
    (locks, "core/base/a.hpp", "mutable std::mutex mutex_;\n"),
    (locks, "core/base/a.hpp", "std::shared_mutex mutex_;\n"),
    (locks, "core/store/a.cpp", "const std::lock_guard lock(mutex_);\n"),
    (locks, "lib/a.hpp", "mutable std::mutex mutex_;\n"),
    (locks, "plugins/ipvs/a.cpp", "std::unique_lock lock(mutex);\n"),
    (locks, "plugins/ipvs/a.cpp", "std::condition_variable changed_;\n"),
    (unit_tests, "test/unit/b_test.cpp", ""),
    (unit_tests, "test/unit/kube/a_test.cpp", ""),
    (unit_tests, "test/unit/kube/watch/plugin_test.cpp", ""),
]
FINE = [
    (MODE_TABLE + "cpp", "ModeFacts{.id = names::id_of(names::kIpvs)};\n"),
    ("core/config/options.cpp", '{.field = "ipvs.scheduler", .flag = "ipvs-scheduler"},\n'),
    ("core/d.cpp", '"kubeproxy_sync_proxy_rules_service_changes_total", "sluice_services"\n'),
    ("plugins/ipvs/b.cpp", 'gauge("sluice_ipvs_addresses");\n'),
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
    ("test/unit/ipvs/a_test.cpp", ""),
    ("test/unit/ipvs/a_upkeep_test.cpp", ""),
    ("test/unit/ipvs/plugin_test.cpp", ""),
    ("test/unit/b_test.cpp", ""),
    ("test/unit/names/a_test.cpp", ""),
    ("test/unit/store/rig.hpp", ""),
    ("test/unit/store/rig_test.cpp", ""),
]


if __name__ == "__main__":
    sys.exit(broken_trees.run(RULES, violations, BROKEN, FINE))
