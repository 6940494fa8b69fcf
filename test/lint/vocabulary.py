#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that code, comments, messages, documents and names of files use the terms of docs/glossary.md, and prints TAP.

Identifiers are split at underscores and capitals, so a retired word is found inside a name, too. With names of files as
arguments it prints only their violations, without TAP.
"""

import re
import sys

sys.dont_write_bytecode = True

import broken_trees  # noqa: E402
from source_files import read, source_files  # noqa: E402

# A retired word, as a regular expression, and what to write. The table is the second column of the glossary.
RETIRED = [
    (r"told|tell|tells|telling", "deliver, report, send"),
    (r"nobody|somebody|anybody|everybody|no one|someone|anyone|everyone|whoever",
     "name the actor: no client, another process, the process that …"),
    (r"who|whom", "name the actor"),
    (r"he|him|his", "a program is 'it'"),
    (r"anew|once more", "again"),
    (r"in force|into force", "active, running, applied"),
    (r"figures?", "metric, statistic, counter"),
    (r"a look|looks? at|looked at|looking at|looks? for|looking for|looked for|next look|last look",
     "check, scan, list, read back"),
    (r"(?:un)?damag(?:es?|ed|ing)", "drift, drifted; malformed"),
    (r"(?:left|leaves?|leaving)(?: it| them)? out", "not programmed, rejected, excluded, omitted"),
    (r"taken over", "applied, adopted, imported"),
    (r"time (?:is|was) over", "the timeout expires"),
    (r"accepted without effect", "ignored (accepted for compatibility)"),
    (r"newcomers?", "new backend"),
    (r"predecessors?", "old backend"),
    (r"books?|(?<!ownership[ -])ledgers?", "ownership ledger, list"),
    (r"faces?", "listener"),
    (r"urgency|urgencies", "write order"),
    (r"onlookers?", "change monitor"),
    (r"treatments?", "verdict, service class"),
    (r"mends?|mended|mending", "fix"),
    (r"feeds?", "subscription; newline for a line feed"),
    (r"moments?", "instant, time"),
    (r"outdated", "deprecated"),
    (r"of mode|(?<!proxy[ -])modes? (?:iptables|ipvs|nftables|userspace)", "in X mode"),
    (r"one a family", "one per address family"),
    (r"early listings?", "read-ahead"),
    (r"no local (?:internal|external)", "internal or external without local endpoints"),
]
# Words that say nothing about what a type, a member, a variable or a function is for.
GENERIC = r"seen_?|Seen|others_?|Others|look_?|Look|(?<!FUZZ_TARGET\()values_?|Values|say_\w+"

# Names of the frozen ABI and of the SDK, which backends of third parties use, and of maps in the kernel.
FROZEN = {"kCreatePredecessorServes", "SLUICE_CREATE_PREDECESSOR_SERVES", "CREATE_PREDECESSOR_SERVES", "predecessor_serves", "service-treatments", "nodeport-treatments"}

WORDS = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), advice) for words, advice in RETIRED]
WHOLE_NAME = re.compile(rf"(?<![\w.])(?:{GENERIC})\b")
CODE = (".cpp", ".hpp", ".h")
# Decisions are records of their time; recorded traffic and released headers are given.
UNCHECKED = ("docs/decisions/", "test/fixtures/", "test/abi/released/")
# The glossary and this file list the retired words; inputs of fuzzing, licences and Debian's format of a change log are given.
UNCHECKED_TEXT = ("docs/glossary.md", "test/lint/vocabulary.py", "test/fuzz/corpus/", "LICENSE", "NOTICE",
                  "packaging/debian/copyright", "packaging/debian/changelog")
COMMENT_OR_TEXT = re.compile(r'//.*|"(?:\\.|[^"\\])*"')


def split_names(line):
    """`leftOutEvent` and `left_out_event` become `left Out Event` and `left out event`."""
    for name in FROZEN:
        line = line.replace(name, "")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line.replace("_", " "))


def retired_words(name, text):
    """No line has a retired word, and neither has the name of the file, which counts as line 0."""
    for number, line in enumerate([name.replace("-", " "), *text.splitlines()]):
        words = split_names(line)
        for pattern, advice in WORDS:
            found = pattern.search(words)
            if found:
                yield f"{name}:{number}: '{found.group()}': write {advice}"


def generic_names(name, text):
    """No type, member or variable has a name that fits any other."""
    if name.endswith(CODE):
        for number, line in enumerate(text.splitlines(), 1):
            found = WHOLE_NAME.search(COMMENT_OR_TEXT.sub('""', line))
            if found:
                yield f"{name}:{number}: '{found.group()}': name what it holds"


RULES = {
    "code, comments, messages, documents and names of files have no retired word": retired_words,
    "no type, member or variable has a generic name": generic_names,
}


def violations(root, rule, names=None):
    for name in names or source_files(root):
        if not name.startswith(UNCHECKED):
            yield from rule(name, "" if name.startswith(UNCHECKED_TEXT) else read(root, name) or "")


# rule, file, text: each must be found by that rule, and by no other.
BROKEN = [
    (retired_words, "core/a.cpp", "// The client is told.\n"),
    (retired_words, "core/a.cpp", "int left_out_ports = 0;\n"),
    (retired_words, "core/a.cpp", "struct NewFigures {};\n"),
    (retired_words, "plugins/a/b.hpp", 'log("nobody answers");\n'),
    (retired_words, "docs/a.md", "The settings in force stay.\n"),
    (retired_words, "test/a.py", "def the_predecessor():\n"),
    (retired_words, "packaging/a.sh", "# Who starts this?\n"),
    (retired_words, "core/a.hpp", "class ClaimsLedger;\n"),
    (retired_words, "plugins/a.hpp", "class AffinityBook;\n"),
    (retired_words, "plugins/a.hpp", "EarlyListing early_;\n"),
    (retired_words, "plugins/a.hpp", "bool no_local_internal = false;\n"),
    (retired_words, "core/a.cpp", 'error("writable by everybody");\n'),
    (retired_words, "core/a.cpp", 'error("--speed: leave it out");\n'),
    (retired_words, "docs/a.md", "Mode ipvs needs modules.\n"),
    (retired_words, "docs/a.md", "In modes iptables and nftables the kernel translates.\n"),
    (retired_words, "docs/a.md", "Clients were not taken over.\n"),
    (retired_words, "docs/a.md", "When the time is over the rest ends.\n"),
    (retired_words, "docs/a.md", "**Accepted without effect.**\n"),
    (retired_words, "docs/a.md", "An undamaged file is kept.\n"),
    (retired_words, "packaging/debian/a.install", "# whoever runs the service needs none\n"),
    (retired_words, "packaging/debian/a.lintian-overrides", "# The service tells its state.\n"),
    (retired_words, "packaging/systemd/a.service.in", "# In mode userspace connections wait.\n"),
    (retired_words, "test/fuzz/corpus/a/damaged", "10.0.0.1:80 x\n"),
    (retired_words, "core/early-listing.cpp", "int a = 0;\n"),
    (generic_names, "core/a.hpp", "std::set<int> seen_;\n"),
    (generic_names, "core/a.cpp", "for (const Port& others : ports) {}\n"),
    (generic_names, "core/a.hpp", "std::vector<std::string> values(std::string_view name) const;\n"),
    (generic_names, "test/a.cpp", "void say_error(const Error& error);\n"),
]
FINE = [
    ("core/a.cpp", "// The interface is looked up in the ownership ledger.\nint unseen = seen_ports.size();\n"),
    ("core/b.cpp", "flags |= kCreatePredecessorServes;  // text \"values\"\n"),
    ("core/c.cpp", "#include \"core/config/values.hpp\"\nFUZZ_TARGET(values) { flag_values(map.values); }\n"),
    ("docs/a.md", "sluiced --proxy-mode ipvs serves in ipvs mode; `mode: ipvs`. Another Service takes over its address.\n"),
    ("docs/b.md", "kubeproxy_sync_proxy_rules_no_local_endpoints_total; bookmarks; a node is leaving without endpoints.\n"),
    ("docs/glossary.md", "| told | deliver |\n"),
    ("docs/decisions/0031-early-listing.md", "In mode ipvs the client is told.\n"),
    ("test/fuzz/corpus/config/a.yaml", "# whoever\n"),
]


def main(names):
    if names:
        wanted = [name for name in source_files(broken_trees.ROOT) if any(name == one or name.startswith(one.rstrip("/") + "/") for one in names)]
        found = [sentence for rule in RULES.values() for sentence in violations(broken_trees.ROOT, rule, wanted)]
        print(*found, f"{len(found)} in {len(wanted)} files", sep="\n")
        return 1 if found else 0
    return broken_trees.run(RULES, violations, BROKEN, FINE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
