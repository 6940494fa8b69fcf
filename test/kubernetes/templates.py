# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads Go templates without Go: finds unbalanced actions and blocks, unknown templates, functions and values.

It knows the functions that the chart uses; a new one is added to FUNCTIONS. It does not render: chart.py does, with helm.
"""

import re

ACTION = re.compile(r"\{\{-? *(.*?) *-?\}\}", re.S)
BLOCKS = ("if", "range", "with", "define", "block")
KEYWORDS = {*BLOCKS, "else", "end", "template", "break", "continue", "true", "false", "nil"}
# Of text/template, of sprig and of helm.
FUNCTIONS = set("""and or not eq ne lt le gt ge index slice len print printf
    append concat contains deepCopy default dict dig first get has hasKey join keys list merge mergeOverwrite nindent omit quote
    regexFind regexMatch replace set sortAlpha ternary uniq
    fail fromJson fromJsonArray include toJson toYaml""".split())


def problems(name, text, values, defined):
    """Errors of one file. `defined`: names of all templates of the chart."""
    depth, out = [], []
    if text.count("{{") != text.count("}}"):
        out.append(f"{name}: {text.count('{{')} times {{{{, {text.count('}}')} times }}}}")
    for found in ACTION.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        out += [f"{name}:{line}: {sentence}" for sentence in _action(found.group(1), depth, values, defined)]
    out += [f"{name}:{line}: {word} has no end" for word, line in depth if (word, line)]
    return out


def defined_in(text):
    return set(re.findall(r'\{\{-? *define "([^"]+)"', text))


def _action(code, depth, values, defined):
    if code.startswith("/*"):
        if not code.endswith("*/"):
            yield "a comment without its end"
        return
    words = code.split()
    if words and words[0] in BLOCKS:
        depth.append((words[0], code))
    elif code == "end":
        if not depth:
            yield "end without a block"
            return
        depth.pop()
    elif words and words[0] == "else" and (not depth or depth[-1][0] == "define"):
        yield "else outside of a block"
    yield from _unknown(code, values, defined)


def _unknown(code, values, defined):
    for name in re.findall(r'\binclude "([^"]+)"', code):
        if name not in defined:
            yield f"there is no template {name}"
    bare = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
    if bare.count("(") != bare.count(")"):
        yield "parentheses do not match"
    for path in re.findall(r"(?<![\w)])\$?(?:\.root)?\.Values\.([\w.]+)", bare):
        if not _has(values, path.split(".")):
            yield f"there is no value {path}"
    for word in re.findall(r"(?<![\w.$])[a-zA-Z]\w*", bare):
        if word not in FUNCTIONS | KEYWORDS:
            yield f"function {word} is not known here"


def _has(values, path):
    for name in path:
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True
