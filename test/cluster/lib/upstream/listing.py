# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The list of tests: assigns each test of sig-network to a group or to an exclusion with a reason."""

import dataclasses
import re
import tomllib


class BadList(Exception):
    """The file is not a list of tests."""


@dataclasses.dataclass(frozen=True)
class Group:
    """Tests that run together. Without patterns: all tests that no other entry matches."""
    name: str
    about: str
    nodes: int
    zones: int = 0  # 0: nodes have no zone
    processes: int = 8  # tests at a time
    disruptive: bool = False  # the proxy runs in pods of a DaemonSet, and nodes accept SSH
    patterns: tuple = ()

    def matches(self, test):
        return any(re.search(pattern, test) for pattern in self.patterns)


@dataclasses.dataclass(frozen=True)
class Exclusion:
    needs: str
    pattern: str
    reason: str

    def matches(self, test):
        return bool(re.search(self.pattern, test))


@dataclasses.dataclass(frozen=True)
class Absent:
    """A mode of Sluice without results."""
    mode: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Omission:
    """Tests that run in the other modes, but not in this one."""
    mode: str
    pattern: str
    reason: str

    def matches(self, test):
        return bool(re.search(self.pattern, test))


@dataclasses.dataclass(frozen=True)
class Known:
    """A test that fails with Sluice in one mode although it passes with kube-proxy."""
    mode: str
    test: str  # a regular expression that matches one test
    reason: str


class TestList:
    def __init__(self, document):
        try:
            self.select = document["select"]
            self.groups = [Group(**{**group, "patterns": tuple(group.get("patterns", ()))}) for group in document["group"]]
            self.exclusions = [Exclusion(**one) for one in document.get("exclude", [])]
            self.modes = document["modes"]
            self.absent = [Absent(**one) for one in document.get("absent", [])]
            self.omissions = [Omission(**one) for one in document.get("omit", [])]
            self.known = [Known(**one) for one in document.get("known", [])]
        except (KeyError, TypeError) as error:
            raise BadList(f"malformed list of tests: {error}") from error
        rest = [group for group in self.groups if not group.patterns]
        if len(rest) != 1:
            raise BadList(f"malformed list of tests: {len(rest)} groups without patterns, expected one")
        self._rest = rest[0]

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            try:
                return cls(tomllib.load(file))
            except tomllib.TOMLDecodeError as error:
                raise BadList(f"malformed list of tests: {path}: {error}") from error

    def selected(self, names):
        """The tests of sig-network among all tests."""
        return sorted(name for name in names if re.search(self.select, name))

    def entry(self, test):
        """The group or the exclusion of a test. `problems` proves that there is only one."""
        return next((one for one in self._matching(test)), self._rest)

    def tests_of(self, group, names, mode=None):
        """The tests of a group, without those that are omitted in `mode`."""
        return [name for name in self.selected(names) if self.entry(name) is group and not self.omission(mode, name)]

    def omission(self, mode, test):
        """The entry that omits a test in a mode, or None."""
        return next((one for one in self.omissions if one.mode == mode and one.matches(test)), None)

    def omitted(self, names):
        """Omission → its tests, each with the first entry that matches it."""
        running = [name for name in self.selected(names) if isinstance(self.entry(name), Group)]
        return {one: [name for name in running if self.omission(one.mode, name) is one] for one in self.omissions}

    def is_partial(self, mode):
        """Whether some tests are omitted in that mode."""
        return any(one.mode == mode for one in self.omissions)

    def excluded(self, names):
        """Exclusion → its tests."""
        return {one: [name for name in self.selected(names) if one.matches(name)] for one in self.exclusions}

    def known_reason(self, mode, test):
        """Why `test` is known to fail with Sluice in `mode`, or None."""
        return next((one.reason for one in self.known if one.mode == mode and re.search(one.test, test)), None)

    def problems(self, names):
        """Entries that do not fit the tests in `names`."""
        tests = self.selected(names)
        if not tests:
            yield f"no test matches {self.select}"
        for test in tests:
            entries = self._matching(test)
            if len(entries) > 1:
                yield f"{len(entries)} entries match one test: {test}"
        for pattern in [*(one.pattern for one in self.exclusions), *(one for group in self.groups for one in group.patterns)]:
            if not any(re.search(pattern, test) for test in tests):
                yield f"the pattern matches no test: {pattern}"
        for one, found in self.omitted(names).items():
            if not found:
                yield f"the pattern omits no test in {one.mode} mode: {one.pattern}"
        for one in self.known:
            found = [test for test in tests if re.search(one.test, test) and isinstance(self.entry(test), Group)]
            if len(found) != 1:
                yield f"the pattern of a known failure in {one.mode} mode matches {len(found)} tests that run: {one.test}"

    def _matching(self, test):
        return [one for one in (*self.groups, *self.exclusions) if one.matches(test)]
