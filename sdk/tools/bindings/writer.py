# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What the writers of all languages share: names, and comments with them."""

import dataclasses
import re

WIDTH = 120


# A line of a list of terms: two blanks or more after the term.
TERM = re.compile(r"(?:  )?([A-Za-z][A-Za-z ]*) {2,}(\S.*)")


@dataclasses.dataclass
class Block:
    """What is wrapped as a whole."""
    text: str
    margin: str = ""     # before each line
    hanging: str = ""    # before each line but the first
    continued: str = ""  # how a further line of it begins in the source


def snake(name):
    return re.sub(r"(?<!^)(?<![A-Z_])(?=[A-Z])", "_", name).lower()


def upper(item, value):
    """kOk of Code is CODE_OK; a flag has its own name, for example FEATURE_IPV4."""
    text = snake(value[1:])
    return (f"{snake(item.name)}_{text}" if item.scoped else text).upper()


def wrapped(prefix, text, hanging=""):
    """Lines of at most WIDTH characters; those after the first begin with `hanging`."""
    made, line = [], prefix
    for word in text.split():
        if line != prefix and len(line) + 1 + len(word) > WIDTH:
            made.append(line)
            line = prefix + hanging
        line += f" {word}"
    return [*made, line]


class Writer:
    """Names and types in one language. NAMES are the C++ names with those of the language."""
    mark = "//"

    def __init__(self, items):
        self.items = items
        self.types = {item.name: item for item in items if item.kind in ("enum", "struct", "class")}
        self.names = {}
        for item in items:
            if item.kind in ("constant", "text"):
                self.names[item.name] = self.constant(item.name)
            elif item.kind == "enum":
                self.names.update({one.name: self.value(item, one.name) for one in item.members})
                self.names.update({f"{item.name}::{one.name}": self.value(item, one.name) for one in item.members})

    def items_written(self):
        """Each item after an empty line and, where the language has it there, its comment."""
        for item in self.items:
            yield ""
            if item.kind not in ("file", "class"):
                yield from self.comment(item.comment)
            yield from getattr(self, f"write_{item.kind}")(item)

    @staticmethod
    def plain(value):
        """A number without the suffix of its type in C++."""
        return re.sub(r"(?<=\d)u(ll)?", "", value)

    def is_text(self, name):
        return any(item.kind == "text" and item.name == name for item in self.items)

    def said(self, text):
        """A comment, with the names of the language."""
        words = sorted((*self.names, *self.types), key=len, reverse=True)
        place = re.compile(r"(?<![\w/.])(" + "|".join(map(re.escape, words)) + r")(?:(::)(\w+))?(?!\w|\.\w)")

        def name(found):
            if found[1] in self.names:
                return self.names[found[1]]
            if found[2]:
                return self.member_name(self.types[found[1]], found[3])
            # "Service" and other words of Kubernetes are no types, but "Frontend" and "Error" begin sentences, too.
            return self.type_name(found[1])

        return place.sub(name, text)

    def comment(self, lines, indent=""):
        """Joins and wraps a comment again, because names are longer or shorter. Paragraphs, points ("- ") and terms with their
        explanation ("NAME      text") are wrapped; diagrams and code, which are indented, stay as they are."""
        made, prefix, block = [], indent + self.mark, None

        def end():
            nonlocal block
            if block:
                made.extend(wrapped(prefix + block.margin, self.said(block.text), block.hanging))
            block = None

        for place, line in enumerate(lines):
            term = TERM.fullmatch(line)
            if term:
                end()
                block = Block(f"{term[1].strip()}: {term[2]}", "  ", "  ", "    ")
            elif line.startswith("- "):
                end()
                block = Block(line, "", "  ", "  ")
            elif block and line and line.startswith(block.continued) and (block.continued or not line.startswith(" ")):
                block.text += f" {line.strip()}"
            elif line and not line.startswith(" "):
                end()
                block = Block(line)
            else:
                end()
                made.append(f"{prefix} {self.said(line)}".rstrip())
            if block and not block.hanging and self._ends_here(line, lines[place + 1:], indent):
                end()
        end()
        return made

    @staticmethod
    def _ends_here(line, later, indent):
        """Whether the author began a new line where the next word would have fitted."""
        after = later[0].split(" ")[0] if later else ""
        return line.endswith((".", ":")) and len(f"{indent}// {line} {after}") <= WIDTH

    def beside(self, code, comment, indent=""):
        """Code with its comment on the same line, or before it if that is too long."""
        line = f"{code}  // {self.said(comment)}" if comment else code
        return [line] if len(line) <= WIDTH else [*self.comment((comment,), indent), code]
