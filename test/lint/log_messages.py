#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the tables of log messages: ids are unique, each message is logged and each logged key is declared, and
docs/reference/log.md is generated from them. Prints TAP. `--write` generates the page."""

import os
import re
import sys

sys.dont_write_bytecode = True

from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORE, PLUGINS, PAGE = "core/base/log_messages.hpp", "plugins/common/log_ids.hpp", "docs/reference/log.md"
STRING = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(r"^SLUICE_LOG_(?:MESSAGE|ID)\((\w+),((?:\s|,|\w|" + STRING + r")*)\);", re.M)
VALID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*$")
HEAD = """# Log messages

Every message of the daemon and of the backends in the tree. The id is stable: use it in log queries and alerts. JSON
lines (`--logging-format json`) have it as the key `id`; text lines have the text only. Read
[monitor.md](../monitor.md) for the format of lines, levels and verbosity.

<!-- Generated from the tables of messages by test/lint/log_messages.py --write. -->

Keys of every JSON line: `ts` (milliseconds), `level`, `logger` (the part of the daemon, or `plugin.ID`), `caller`
(source file and line; not for backends), `pid`, `msg` (the text), `v` (verbosity), `id`. The tables list the further
keys of a message. A key that does not apply to a line is absent.
"""


def arguments(text):
    """The arguments of a row: words, and strings in one or more pieces."""
    parts, piece = [], None
    for token in re.finditer(STRING + r"|\w+|,", text):
        token = token.group()
        if token == ",":
            parts.append(piece)
            piece = None
        elif token.startswith('"'):
            piece = (piece or "") + token[1:-1]
        else:
            piece = token
    return [*parts, piece]


def rows(text):
    return [(match.group(1), *arguments(match.group(2))) for match in ROW.finditer(text)]


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(line) + " |" for line in lines)])


def page(core, plugins):
    parts = [HEAD]
    for component in sorted({row[3] for row in core}):
        lines = [(f"`{identifier}`", level, meaning, remedy, " ".join(f"`{key}`" for key in keys.split()))
                 for _, identifier, level, one, keys, meaning, remedy in core if one == component]
        parts.append(f"\n## {component}\n\n" + table(("id", "level", "meaning", "remedy", "keys"), lines) + "\n")
    lines = [(f"`{identifier}`", level, meaning, remedy) for _, identifier, level, meaning, remedy in plugins]
    parts.append("\n## plugin.ID\n\nMessages of the backends in the tree. Each has the key `backend`. Messages of other backends have an "
                 "id if the\nbackend gives one.\n\n" + table(("id", "level", "meaning", "remedy"), lines) + "\n")
    return "".join(parts)


def calls(text, start):
    """The source of each call that uses the constants of a table, with the constant."""
    for match in re.finditer(start + r"(k\w+)", text):
        depth, end = 0, match.end()
        while end < len(text) and depth >= 0:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[end], 0)
            end += 1
        yield match.group(1), text[match.end():end]


def twice(table_rows):
    seen = set()
    for row in table_rows:
        for value in row[:2]:
            if value in seen:
                yield f"{value} is given twice"
            seen.add(value)
        if not VALID.match(row[1]):
            yield f"the id {row[1]} has other characters than lower-case letters, digits and '-'"


def unused(table_rows, files, start):
    used = {name for text in files.values() for name, _ in calls(text, start)}
    yield from (f"{row[1]} is never logged" for row in table_rows if row[0] not in used)


def undeclared(table_rows, files):
    keys = {row[0]: set(row[4].split()) for row in table_rows}
    for name, text in files.items():
        for constant, call in calls(text, r"message::"):
            for key in re.findall(r'\{"(\w+)", ', call):
                if key not in keys.get(constant, {key}):
                    yield f"{name}: {constant} has the key {key}, which {CORE} does not declare"


def unnamed(files):
    """Lines without a row of the table."""
    for name, text in files.items():
        if name.startswith(("core/base/", "core/plugin/host_services")):
            continue
        yield from (f"{name}: a line without a message of {CORE}" for _ in re.finditer(r"base::log\(\s*base::LogLevel", text))


def blind():
    """Checks that do not find their violation."""
    core = [("kOne", "one", "info", "sync", "backend", "M.", ""), ("kTwo", "two", "info", "sync", "", "M.", "")]
    cases = {
        "twice": list(twice([*core, core[0]])),
        "a bad id": list(twice([("kOne", "One", "info", "sync", "", "M.", "")])),
        "unused": list(unused(core, {"a.cpp": "base::log(base::message::kOne, text);"}, "message::")),
        "undeclared": list(undeclared(core, {"a.cpp": 'base::log(base::message::kOne, f(text), {{"family", 1}});'})),
        "unnamed": list(unnamed({"core/sync/a.cpp": 'base::log(base::LogLevel::info, "sync", "text");'})),
    }
    yield from (name for name, found in cases.items() if not found)
    text = 'SLUICE_LOG_MESSAGE(kOne, "one", info, "sync", "a b",\n  "Some (text), "\n  "and more.",\n  "");\n'
    if rows(text) != [("kOne", "one", "info", "sync", "a b", "Some (text), and more.", "")]:
        yield "a row is not read"


def main():
    core, plugins = rows(read(ROOT, CORE)), rows(read(ROOT, PLUGINS))
    wanted = page(core, plugins)
    place = os.path.join(ROOT, PAGE)
    if sys.argv[1:] == ["--write"]:
        with open(place, "w", encoding="utf-8") as file:
            file.write(wanted)
        return 0
    sources = {name: read(ROOT, name) for name in source_files(ROOT)
               if name.endswith((".cpp", ".hpp")) and name.startswith(("core/", "plugins/"))}
    tap = Tap()
    tap.check("each check finds its violation", blind())
    tap.check("ids and constants are unique", [*twice(core), *twice(plugins)])
    tap.check("each message is logged", [*unused(core, sources, "message::"), *unused(plugins, sources, "log_id::")])
    tap.check("keys are declared", undeclared(core, sources))
    tap.check("each line has a message", unnamed(sources))
    stale = []
    if not os.path.exists(place) or read(ROOT, PAGE) != wanted:
        stale = [f"{PAGE} differs from the tables: run test/lint/log_messages.py --write"]
    tap.check(f"{PAGE} is generated", stale)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
