# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the C++ headers of the plugin ABI: their types, fields, values and methods, with the comments."""

import dataclasses
import os
import re

# The order in which a reader, and a compiler, needs them.
FILES = ("types", "service", "node", "transaction", "host", "options", "metrics", "status", "backend", "entry", "relay", "preparation", "inspection", "affinity",
         "descriptors")


@dataclasses.dataclass
class Member:
    """A field, method, enumeration value, or the argument of a function."""
    name: str
    type: str = ""          # as in C++; of a method, what it returns
    comment: tuple = ()     # lines before it
    beside: str = ""        # the comment on its line
    value: str = ""         # of an enumeration
    length: str = ""        # of an array
    arguments: tuple = ()   # Members, of a method or pointer to a function
    is_function: bool = False


@dataclasses.dataclass
class Item:
    kind: str               # file, constant, text, enum, struct or class
    name: str
    comment: tuple = ()
    type: str = ""
    value: str = ""
    scoped: bool = False
    members: list = dataclasses.field(default_factory=list)
    sizes: tuple = ()       # (None, size) and (field, offset)


class Wrong(Exception):
    pass


def arguments_of(text):
    made = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        found = re.fullmatch(r"(.*?[\s*])(\w+)", one)
        if not found or found[1].strip() in ("const", "unsigned"):
            made.append(Member("", one))
        else:
            made.append(Member(found[2], found[1].strip()))
    return tuple(made)


def statements(lines, ends=(";",)):
    """(comment lines before it, code, comment beside it) of each statement of a body."""
    comment, code, beside = [], "", ""
    for line in lines:
        line = line.strip()
        if line.startswith("//") and not code:
            comment.append(said_in(line))
            continue
        before, mark, after = line.partition("//")
        code = f"{code} {before.strip()}".strip()
        beside = f"{beside} {after.strip()}".strip() if mark else beside
        if not line:
            comment = []
        if code.endswith(ends) or code in ("public:", "protected:"):
            yield tuple(comment), code.rstrip(";,"), beside
            comment, code, beside = [], "", ""
    if code:
        yield tuple(comment), code, beside


def member(comment, code, beside):
    function = re.fullmatch(r"(?:virtual )?([\w:]+\*?) (?:\(\*(\w+)\)|(\w+))\((.*)\) noexcept(?: = 0)?", code)
    if function:
        return Member(function[2] or function[3], function[1].strip(), comment, beside, arguments=arguments_of(function[4]),
                      is_function=True)
    field = re.fullmatch(r"([\w:* ]+?[ *])(\w+)(?:\[(\d+)\])?", code)
    if not field:
        raise Wrong(f"neither a field nor a method: {code}")
    return Member(field[2], field[1].strip(), comment, beside, length=field[3] or "")


def values(text):
    """The members of an enumeration, several of which may be on one line."""
    made = []
    for comment, code, beside in statements(text, (",",)):
        for one in code.split(","):
            name, _, value = one.partition("=")
            made.append(Member(name.strip(), comment=comment, beside=beside, value=value.strip()))
            comment, beside = (), ""
    return made


def said_in(line):
    """A line of a comment without its mark; the spaces that begin a table or a diagram stay."""
    return line[2:].removeprefix(" ").rstrip()


def sizes_of(text):
    return tuple((None, int(size)) if kind == "sizeof" else (field, int(size)) for kind, field, size in
                 re.findall(r"(sizeof|offsetof)\(\w+(?:, (\w+))?\) == (\d+)", text))


def read(folder, name):
    """The items of one header."""
    with open(os.path.join(folder, f"{name}.hpp"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    inside, comment, made, at = False, [], [], 0
    first = [said_in(line) for line in lines[3:lines.index("#pragma once")] if line.startswith("//")]
    made.append(Item("file", name, tuple(first)))
    while at < len(lines):
        line = lines[at]
        at += 1
        if line == "namespace sluice::abi {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif not inside:
            continue
        elif line.startswith("//"):
            comment.append(said_in(line))
        elif not line:
            comment = []
        elif line.startswith("static_assert("):
            text = line
            while not text.rstrip().endswith(");"):
                text += " " + lines[at].strip()
                at += 1
            if made[-1].kind == "struct" and f"sizeof({made[-1].name})" in text:
                made[-1].sizes = sizes_of(text)
        elif found := re.fullmatch(r"inline constexpr (char|std::uint\d+_t) (k\w+)(\[\])? = (.+);", line):
            made.append(Item("text" if found[3] else "constant", found[2], tuple(comment), found[1], found[4]))
            comment = []
        elif found := re.fullmatch(r"(struct|class|enum class|enum) (\w+)(?: : (std::\w+))? \{(?: (.*) \};)?", line):
            body = [found[4]] if found[4] else []
            while not found[4] and lines[at] != "};":
                body.append(lines[at])
                at += 1
            kind = "enum" if found[1].startswith("enum") else found[1]
            item = Item(kind, found[2], tuple(comment), found[3] or "", scoped=found[1] == "enum class")
            if kind == "enum":
                item.members = values(body)
            else:
                body = body[:next((place for place, text in enumerate(body) if text == " protected:"), len(body))]
                item.members = [member(*one) for one in statements(body) if one[1] != "public:"]
            made.append(item)
            comment = []
        elif not re.match(r"struct \w+;|class \w+;", line) and line != "};":
            raise Wrong(f"{name}.hpp:{at}: not understood: {line}")
    return made


def items_of(folder):
    return [item for name in FILES for item in read(folder, name)]
