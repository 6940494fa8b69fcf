#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that code, comments, messages and documents use the terms of docs/glossary.md, and prints TAP.

Identifiers are split at underscores and capitals, so a retired word is found inside a name, too. With names of files as
arguments it prints only their violations, without TAP.
"""

import os
import re
import sys

sys.dont_write_bytecode = True

import broken_trees  # noqa: E402
from source_files import read, source_files  # noqa: E402

# A retired word, as a regular expression, and what to write. The table is the second column of the glossary.
RETIRED = [
    (r"told|tell|tells|telling", "deliver, report, send"),
    (r"nobody|somebody|whoever", "name the actor: no client, another process, the process that …"),
    (r"who|whom", "name the actor"),
    (r"he|him|his", "a program is 'it'"),
    (r"anew|once more", "again"),
    (r"in force|into force", "active, running, applied"),
    (r"figures?", "metric, statistic, counter"),
    (r"a look|looks? at|looked at|looking at|looks? for|looking for|looked for|next look|last look",
     "check, scan, list, read back"),
    (r"damages?|damaged", "drift, drifted"),
    (r"left out", "not programmed, rejected, excluded"),
    (r"newcomers?", "new backend"),
    (r"predecessors?", "old backend"),
    (r"claims book|(?<!ownership[ -])ledgers?", "ownership ledger"),
    (r"faces?", "listener"),
    (r"urgency|urgencies", "write order"),
    (r"onlookers?", "change monitor"),
    (r"treatments?", "verdict, service class"),
    (r"mends?|mended|mending", "fix"),
    (r"feeds?", "subscription; newline for a line feed"),
    (r"moments?", "instant, time"),
    (r"outdated", "deprecated"),
    (r"of mode", "in X mode"),
    (r"one a family", "one per address family"),
]
# Words that say nothing about what a type, a member or a variable holds.
GENERIC = r"seen_?|Seen|others_?|Others|look_?|Look|values_|Values"

# Names of the frozen ABI and of the SDK, which backends of third parties use, and of maps in the kernel.
FROZEN = {"kCreatePredecessorServes", "predecessor_serves", "service-treatments", "nodeport-treatments"}

WORDS = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), advice) for words, advice in RETIRED]
WHOLE_NAME = re.compile(rf"(?<![\w.])(?:{GENERIC})\b")
CODE = (".cpp", ".hpp", ".h")
CHECKED = (*CODE, ".py", ".sh", ".md", ".am", ".ac", ".m4", ".yaml", ".json", ".in", ".1", ".3", ".5", ".7", ".8")
# The glossary and this file list the retired words; decisions are records of their time; recorded traffic, released headers,
# licences and Debian's format of a change log are given.
UNCHECKED = ("docs/glossary.md", "docs/decisions/", "test/lint/vocabulary.py", "test/fixtures/", "test/fuzz/corpus/",
             "test/abi/released/", "LICENSE", "NOTICE", "packaging/debian/copyright", "packaging/debian/changelog")
COMMENT_OR_TEXT = re.compile(r'//.*|"(?:\\.|[^"\\])*"')


def split_names(line):
    """`leftOutEvent` and `left_out_event` become `left Out Event` and `left out event`."""
    for name in FROZEN:
        line = line.replace(name, "")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line.replace("_", " "))


def retired_words(name, text):
    """No line has a retired word."""
    for number, line in enumerate(text.splitlines(), 1):
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
    "code, comments, messages and documents have no retired word": retired_words,
    "no type, member or variable has a generic name": generic_names,
}


def is_checked(name):
    return not name.startswith(UNCHECKED) and (name.endswith(CHECKED) or "." not in os.path.basename(name))


def violations(root, rule, names=None):
    for name in names or source_files(root):
        text = read(root, name) if is_checked(name) else None
        if text is not None:
            yield from rule(name, text)


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
    (generic_names, "core/a.hpp", "std::set<int> seen_;\n"),
    (generic_names, "core/a.cpp", "for (const Port& others : ports) {}\n"),
]
FINE = [
    ("core/a.cpp", "// The interface is looked up in the ownership ledger.\nint unseen = seen_ports.size();\n"),
    ("core/b.cpp", "flags |= kCreatePredecessorServes;  // text \"values\"\n"),
    ("docs/glossary.md", "| told | deliver |\n"),
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
