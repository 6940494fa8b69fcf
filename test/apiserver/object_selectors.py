# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors, parsed as kube-apiserver does."""

from status import bad_request

SPECIAL = "()!,=<>"


class Matcher:
    """Both selectors of one request."""

    def __init__(self, label_text="", field_text="", supported_fields=()):
        self.label_text = label_text
        self.field_text = field_text
        self.requirements = parse_labels(label_text)
        self.fields = parse_fields(field_text, supported_fields)

    @property
    def empty(self):
        return not self.requirements and not self.fields

    def matches(self, stored):
        labels = stored.labels
        for key, operator, values in self.requirements:
            if not label_matches(labels, key, operator, values):
                return False
        for name, equal, value in self.fields:
            if (stored.field(name) == value) != equal:
                return False
        return True


def label_matches(labels, key, operator, values):
    present = key in labels
    if operator == "exists":
        return present
    if operator == "absent":
        return not present
    if operator == "in":
        return present and labels[key] in values
    if operator == "notin":
        return not present or labels[key] not in values
    try:
        have, want = int(labels[key]), int(values[0])
    except (KeyError, ValueError):
        return False
    return have > want if operator == "gt" else have < want


def tokens_of(text):
    """Words and operators; white space only separates."""
    tokens = []
    position = 0
    while position < len(text):
        char = text[position]
        if char.isspace():
            position += 1
        elif char in SPECIAL:
            if text[position : position + 2] in ("==", "!="):
                tokens.append(text[position : position + 2])
                position += 2
            else:
                tokens.append(char)
                position += 1
        else:
            end = position
            while end < len(text) and not text[end].isspace() and text[end] not in SPECIAL:
                end += 1
            tokens.append(text[position:end])
            position = end
    return tokens


class LabelParser:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.position = 0

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self):
        token = self.peek()
        self.position += 1
        return token

    @staticmethod
    def is_word(token):
        return bool(token) and token[0] not in SPECIAL

    @staticmethod
    def fail(found, expected):
        return bad_request(
            "unable to parse requirement: found '%s', expected: %s" % (found, expected)
        )

    def parse(self):
        requirements = []
        if not self.tokens:
            return requirements
        while True:
            requirements.append(self.requirement())
            separator = self.take()
            if not separator:
                return requirements
            if separator != ",":
                raise bad_request("found '%s', expected: ',' or 'end of string'" % separator)

    def requirement(self):
        negated = False
        if self.peek() == "!":
            self.take()
            negated = True
        key = self.take()
        if not self.is_word(key):
            raise self.fail(key, "identifier")
        if negated:
            return key, "absent", ()
        if self.peek() in ("", ","):
            return key, "exists", ()
        operator = self.take()
        if operator in ("in", "notin"):
            return key, operator, self.value_set()
        if operator in ("=", "==", "!=", ">", "<"):
            value = self.take() if self.is_word(self.peek()) else ""
            name = {"!=": "notin", ">": "gt", "<": "lt"}.get(operator, "in")
            return key, name, (value,)
        raise self.fail(operator, "in, notin, =, ==, !=, gt, lt")

    def value_set(self):
        opening = self.take()
        if opening != "(":
            raise self.fail(opening, "'('")
        values = []
        expect_value = True
        while True:
            token = self.take()
            if token == ")":
                if expect_value:
                    values.append("")
                return tuple(values)
            if token == ",":
                if expect_value:
                    values.append("")
                expect_value = True
            elif self.is_word(token) and expect_value:
                values.append(token)
                expect_value = False
            else:
                raise self.fail(token, "',', or ')'")


def parse_labels(text):
    return LabelParser(text).parse()


def parse_fields(text, supported):
    requirements = []
    for term in text.split(","):
        if not term:
            continue
        for operator, equal in (("!=", False), ("==", True), ("=", True)):
            name, found, value = term.partition(operator)
            if found:
                break
        else:
            raise bad_request(
                "invalid selector: '%s'; can't understand '%s'" % (text, term)
            )
        if name not in supported:
            raise bad_request("field label not supported: " + name)
        requirements.append((name, equal, value))
    return requirements
