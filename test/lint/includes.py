#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks includes against include_rules.py and prints TAP. Breaks small trees first to show that it can fail."""

import collections
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True

import include_rules as rules  # noqa: E402
from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

SUFFIXES = (".cpp", ".hpp", ".h", ".c", ".cc", ".hh", ".ipp")
Include = collections.namedtuple("Include", "file line target")

_DIRECTIVE = re.compile(r'^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$', re.M)
_HEADER_UNIT = re.compile(r'^[ \t]*(?:export[ \t]+)?import[ \t]*([<"].*)$', re.M)
# Comments go, strings stay: an include names its file in something that looks like one.
_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_comments(text):
    """The text with comments blanked and line numbers kept; spliced lines are joined by padding."""
    def blank(match):
        whole = match.group(0)
        if whole.startswith("/"):
            return " " + "\n" * whole.count("\n")
        # A directive inside a raw string is text.
        return '""' + "\n" * whole.count("\n") if whole.startswith("R") else whole
    return _COMMENT_OR_STRING.sub(blank, text.replace("\\\n", " "))


def includes_of(name, text):
    text = without_comments(text)
    for pattern in (_DIRECTIVE, _HEADER_UNIT):
        for match in pattern.finditer(text):
            yield Include(name, text.count("\n", 0, match.start()) + 1, match.group(1).strip())


def problem_with(include):
    """Why this include is not allowed, or None."""
    quoted = re.match(r'"([^"]+)"$', include.target)
    angled = re.match(r"<([^>]+)>$", include.target)
    if not quoted and not angled:
        return "names its header through a macro, which no check can follow"
    target = (quoted or angled).group(1)
    if target.startswith(("/", "./")) or ".." in target.split("/"):
        return f"{target} is a relative or absolute path; name it from the root of the tree"
    if target.startswith("sluice/"):
        return _problem_with_sdk(include.file, target)
    if target.startswith(("core/", "lib/", "names/", "plugins/", "test/", "sdk/")):
        return _problem_with_project(include.file, target)
    if target == "config.h":
        allowed = include.file.startswith(("core/", "test/unit/")) and include.file.endswith(".cpp")
        # The version in a plugin's descriptor; the file must compile without it too.
        allowed = allowed or re.fullmatch(r"plugins/[^/]+/entry\.cpp", include.file)
        return None if allowed else "config.h is for .cpp files of core and of unit tests, and for entry.cpp of a plugin"
    if quoted:
        return _problem_with_local(include.file, target)
    return _problem_with_outside(include.file, target)


def _problem_with_sdk(file, target):
    if file.startswith("sdk/include/sluice/abi/"):
        return None if target.startswith("sluice/abi/") else f"the ABI may not include {target}"
    if file.startswith(("names/", *(folder + "/" for folder in rules.FOR_ALL))):
        return f"{file.split('/')[0]} may not include {target}"
    if not file.startswith("core/"):
        return None  # plugins, examples, the SDK itself and tests
    for prefix, allowed in rules.SDK_IN_CORE.items():
        if file.startswith(prefix) and target.startswith(allowed):
            return None
    return f"{target} crosses the boundary to backends; only core/snapshot/flatten, core/plugin and core/sync may see it"


def _problem_with_project(file, target):
    here, there = file.split("/"), target.split("/")
    if there[0] in rules.FOR_ALL and here[0] not in ("names", "sdk"):
        return None if here[0] not in rules.FOR_ALL or here[0] == there[0] else f"{here[0]} may not include {target}"
    if here[0] == "core":
        return _problem_in_core(file, here[1], target, there)
    if here[0] == "plugins":
        if there[0] == "names" or (there[0] == "plugins" and there[1] in ("common", here[1])):
            return None
        return f"a backend sees the SDK, lib, names, plugins/common and its own folder, not {target}"
    if here[0] == there[0] == "names":
        return None
    if here[0] == "sdk":
        return f"the SDK may not include {target}: it is compiled where the rest is missing"
    if here[0] == "test":
        return _problem_in_tests(file, target, there)
    return f"{here[0]} may not include {target}"


def _problem_in_core(file, stage, target, there):
    if there[0] == "names" and file.startswith(rules.NAMES_IN_CORE):
        return None
    if there[0] != "core":
        for prefix, allowed in rules.PLUGINS_IN_CORE.items():
            if file.startswith(prefix) and target.startswith(allowed):
                return None
        return f"core may not include {target}"
    if there[1] == stage:
        return None
    if stage not in rules.CORE:
        return f"core/{stage} is not in the table of include_rules.py"
    if there[1] in rules.CORE[stage]:
        return None
    if there[1] == "daemon":
        return "nothing includes core/daemon"
    return f"core/{stage} may not include core/{there[1]} (it may: {', '.join(sorted(rules.CORE[stage])) or 'nothing'})"


def _problem_in_tests(file, target, there):
    if there[0] == "test":
        return None
    if there[0] in ("names", "plugins"):
        if file.startswith(("test/unit/", "test/fuzz/")):
            return None
        return f"only unit tests and fuzz targets include {target}"
    if there[0] == "core":
        allowed = next(folders for prefix, folders in rules.TESTS.items() if file.startswith(prefix))
        if there[1] in allowed or "*" in allowed:
            return None
    return f"{'/'.join(file.split('/')[:2])} may not include {target}"


def _problem_with_local(file, target):
    """A quoted name without a folder is a file beside this one; only test tools do that."""
    if file.startswith(("test/tools/", "test/plugins/", "sdk/examples/")) and "/" not in target:
        return None
    return f'"{target}" is no path from the root of the tree'


def _problem_with_outside(file, target):
    for prefix, allowed in rules.THIRD_PARTY.items():
        if target.startswith(prefix):
            return None if file.startswith(allowed) else f"<{target}> is allowed only in {', '.join(allowed)}"
    if file.startswith("sdk/include/sluice/abi/") and target not in rules.ABI_STANDARD_HEADERS:
        return f"the ABI may not include <{target}>"
    first, _, rest = target.partition("/")
    known = first in rules.SYSTEM_FOLDERS if rest else "." not in target or target in rules.SYSTEM_HEADERS
    return None if known else f"<{target}> belongs to a library that include_rules.py does not know"


def violations(root):
    """folder → sentences, for every folder that holds C++ files."""
    found = {}
    one_file = collections.defaultdict(set)
    for name in source_files(root):
        text = read(root, name) if name.endswith(SUFFIXES) else None
        if text is None:
            continue
        here = found.setdefault(folder_of(name), [])
        for include in includes_of(name, text):
            problem = problem_with(include)
            if problem:
                here.append(f"{name}:{include.line}: {problem}")
            for prefix, folder in rules.ONE_FILE.items():
                if include.target.startswith("<" + prefix) and name.startswith(folder):
                    one_file[folder].add(name)
    for folder, names in one_file.items():
        if len(names) > 1:
            found[folder_of(folder + "x")].append(f"cpprest is included by {', '.join(sorted(names))}; one file is allowed")
    return found


def folder_of(name):
    parts = name.split("/")
    depth = 3 if name.startswith(("test/unit/", "sdk/include/")) else 2
    return "/".join(parts[:min(depth, len(parts) - 1)]) or "."


# Each breaks one rule: file, line of code, words that the report must hold.
BROKEN = [
    ("core/base/a.hpp", '#include "core/model/node.hpp"', "core/base may not include core/model"),
    ("core/model/a.hpp", '#include "core/store/store.hpp"', "core/model may not include core/store"),
    ("core/kube/a.cpp", '#include "core/store/store.hpp"', "core/kube may not include core/store"),
    ("core/store/a.cpp", '#include "core/kube/decode/decode.hpp"', "core/store may not include core/kube"),
    ("core/store/a.cpp", '#include "sluice/abi/types.hpp"', "crosses the boundary"),
    ("core/snapshot/builder.cpp", '#include "sluice/abi/types.hpp"', "crosses the boundary"),
    ("core/snapshot/flatten.cpp", '#include "sluice/sdk/views.hpp"', "crosses the boundary"),
    ("core/snapshot/a.cpp", '#include "core/sync/sync_loop.hpp"', "core/snapshot may not include core/sync"),
    ("core/plugin/a.cpp", '#include "core/snapshot/builder.hpp"', "core/plugin may not include core/snapshot"),
    ("core/sync/a.cpp", '#include "core/store/store.hpp"', "core/sync may not include core/store"),
    ("core/sync/a.cpp", '#include "sluice/sdk/views.hpp"', "crosses the boundary"),
    ("core/node/a.cpp", '#include "core/plugin/loader.hpp"', "core/node may not include core/plugin"),
    ("core/config/a.cpp", '#include "core/store/store.hpp"', "core/config may not include core/store"),
    ("core/observe/a.cpp", '#include "core/daemon/daemon.hpp"', "nothing includes core/daemon"),
    ("core/ctl/a.cpp", '#include "core/observe/control/control_server.hpp"', "core/ctl may not include core/observe"),
    ("core/other/a.cpp", '#include "core/base/log.hpp"', "not in the table"),
    ("core/daemon/a.cpp", '#include "plugins/iptables/plan.hpp"', "core may not include plugins"),
    ("core/daemon/a.cpp", '#include "plugins/common/netfilter/restore.hpp"', "core may not include plugins"),
    ("core/cleanup/a.cpp", '#include "plugins/iptables/plan.hpp"', "core may not include plugins"),
    ("core/store/a.cpp", '#include "names/chains.hpp"', "core may not include names"),
    ("names/a.hpp", '#include "core/base/symbol.hpp"', "names may not include core"),
    ("names/a.hpp", '#include "plugins/common/netfilter/restore.hpp"', "names may not include plugins"),
    ("names/a.hpp", '#include "sluice/abi/types.hpp"', "names may not include sluice"),
    ("names/a.hpp", '#include "lib/ip.hpp"', "names may not include lib"),
    ("lib/a.hpp", '#include "core/base/log.hpp"', "lib may not include core"),
    ("lib/a.hpp", '#include "names/chains.hpp"', "lib may not include names"),
    ("lib/a.hpp", '#include "plugins/common/netfilter/restore.hpp"', "lib may not include plugins"),
    ("lib/a.hpp", '#include "sluice/abi/types.hpp"', "lib may not include sluice"),
    ("sdk/include/sluice/sdk/a.hpp", '#include "names/chains.hpp"', "the SDK may not include"),
    ("sdk/include/sluice/sdk/a.hpp", '#include "lib/ip.hpp"', "the SDK may not include"),
    ("test/tools/a.cpp", '#include "names/chains.hpp"', "only unit tests and fuzz targets"),
    ("plugins/iptables/a.cpp", '#include "core/base/symbol.hpp"', "a backend sees the SDK"),
    ("plugins/iptables/a.cpp", '#include <core/base/symbol.hpp>', "a backend sees the SDK"),
    ("plugins/iptables/a.cpp", '#include "../../core/base/symbol.hpp"', "relative or absolute path"),
    ("plugins/iptables/a.cpp", '#include "plugins/ipvs/plan.hpp"', "a backend sees the SDK"),
    ("plugins/iptables/a.cpp", '#include "config.h"', "config.h is for .cpp files of core"),
    ("plugins/iptables/a.cpp", "#include <nlohmann/json.hpp>", "allowed only in"),
    ("plugins/common/a.cpp", '#include "core/base/log.hpp"', "a backend sees the SDK"),
    ("plugins/common/a.cpp", '#include "plugins/iptables/plan.hpp"', "a backend sees the SDK"),
    ("core/base/a.hpp", '#include "config.h"', "config.h is for .cpp files of core"),
    ("core/store/a.cpp", "#include <cpprest/http_client.h>", "allowed only in core/kube/http/"),
    ("core/store/a.cpp", "#include <simdjson.h>", "allowed only in core/kube/"),
    ("core/node/a.cpp", "#include <yaml-cpp/yaml.h>", "allowed only in core/kube/"),
    ("core/kube/a.cpp", "#include <log4cplus/logger.h>", "allowed only in core/base/log.cpp"),
    ("core/daemon/a.cpp", "#include <boost/dll/shared_library.hpp>", "allowed only in core/plugin/"),
    ("core/daemon/a.cpp", "#include <netlink/netlink.h>", "allowed only in core/node/"),
    ("core/daemon/a.cpp", "#include <boost/foreach.hpp>", "does not know"),
    ("core/daemon/a.cpp", "#include <curl.h>", "does not know"),
    ("core/daemon/a.cpp", "#  include   HEADER", "through a macro"),
    ("core/base/a.cpp", '%:include "core/daemon/daemon.hpp"', "nothing includes core/daemon"),
    ("core/base/a.cpp", '/* x */ #include "core/daemon/daemon.hpp"', "nothing includes core/daemon"),
    ("core/base/a.cpp", '#include \\\n  "core/daemon/daemon.hpp"', "nothing includes core/daemon"),
    ("core/base/a.cpp", 'import "core/config/settings.hpp";', "through a macro"),
    ("core/daemon/a.cpp", '#include "settings.hpp"', "no path from the root"),
    ("sdk/include/sluice/abi/a.hpp", '#include "sluice/sdk/views.hpp"', "the ABI may not include"),
    ("sdk/include/sluice/abi/a.hpp", "#include <string>", "the ABI may not include"),
    ("sdk/include/sluice/sdk/a.hpp", '#include "core/base/symbol.hpp"', "the SDK may not include"),
    ("sdk/examples/x/a.cpp", '#include "plugins/common/netfilter/restore.hpp"', "the SDK may not include"),
    ("test/tools/fault_point.cpp", '#include "core/config/settings.hpp"', "may not include core/config"),
    ("test/plugins/a.cpp", '#include "core/plugin/loader.hpp"', "may not include core/plugin"),
    ("test/tools/a.cpp", '#include "core/base/symbol.hpp"', "may not include core/base"),
]

FINE = [
    ("core/kube/http/a.cpp", '#include "core/model/event.hpp"\n#include <cpprest/http_client.h>'),
    ("core/sync/a.cpp", '#include "core/snapshot/flatten.hpp"\n#include "core/plugin/loader.hpp"\n#include "sluice/abi/abi.hpp"'),
    ("core/snapshot/flatten.hpp", '#include "sluice/abi/transaction.hpp"'),
    ("core/daemon/a.cpp", '#include "config.h"\n#include "core/sync/sync_loop.hpp"\n#include <unistd.h>\n#include <vector>'),
    ("core/store/a.cpp", '// #include "core/config/settings.hpp"\n/*\n#include "core/config/settings.hpp"\n*/'),
    ("core/store/a.cpp", 'auto text = R"(\n#include "core/config/settings.hpp"\n)";'),
    ("core/ctl/a.cpp", '#include "core/base/log.hpp"'),
    ("core/cleanup/a.cpp", '#include "plugins/common/netfilter/restore.hpp"\n#include "names/chains.hpp"'),
    ("names/a.hpp", '#include <string_view>\n#include "names/modes.hpp"'),
    ("lib/a.hpp", '#include <mutex>\n#include "lib/mutex.hpp"'),
    ("plugins/common/a.hpp", '#include "lib/mutex.hpp"'),
    ("test/unit/a.cpp", '#include "lib/mutex.hpp"'),
    ("plugins/iptables/a.cpp", '#include "names/chains.hpp"\n#include "lib/ip.hpp"'),
    ("lib/a.cpp", '#include "lib/ip.hpp"\n#include <unistd.h>'),
    ("core/base/a.cpp", '#include "lib/ip.hpp"'),
    ("plugins/iptables/entry.cpp", '#include "config.h"'),
    ("plugins/iptables/a.cpp", '#include "plugins/common/netfilter/restore.hpp"\n#include "sluice/sdk/sdk.hpp"\n#include <sys/wait.h>'),
    ("test/unit/config/a.cpp", '#include "core/config/settings.hpp"'),
    ("test/unit/iptables/a.cpp", '#include "plugins/iptables/plan.hpp"'),
]


def reported(*files):
    """All sentences about a tree of just these (name, text)."""
    with tempfile.TemporaryDirectory(prefix="sluice-lint-") as root:
        for name, text in files:
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        return [sentence for sentences in violations(root).values() for sentence in sentences]


def self_test(tap):
    for name, text, words in BROKEN:
        found = reported((name, text))
        good = len(found) == 1 and words in found[0] and found[0].startswith(name)
        tap.check(f"finds in {name}: {text.splitlines()[0]}", [] if good else [f"reported: {found}"])
    for name, text in FINE:
        tap.check(f"accepts {name}: {text.splitlines()[0]}", reported((name, text)))
    twice = reported(("core/kube/http/a.cpp", "#include <cpprest/json.h>"),
                     ("core/kube/http/b.cpp", "#include <pplx/pplxtasks.h>"))
    tap.check("finds a second file that includes cpprest", [] if len(twice) == 1 else [f"reported: {twice}"])


def main():
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    tap = Tap()
    self_test(tap)
    found = violations(root)
    for folder in sorted(found):
        tap.check(f"{folder} includes only what it may", found[folder])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
