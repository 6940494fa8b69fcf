#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each file that uses a name of a precompiled header includes that header, directly or through headers of the
project, and prints TAP. A compiler that has the headers precompiled cannot notice. Breaks small files first to show that it
can fail."""

import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True

from includes import SUFFIXES, includes_of, without_comments  # noqa: E402
from source_files import read, source_files  # noqa: E402
from tap import Tap  # noqa: E402

PRECOMPILED = "test/precompiled.hpp"
# Names in std and std::ranges. A header without names here is in NOTHING_OF_ITS_OWN.
NAMES = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_if count count_if equal equal_range fill find find_if "
                 "is_sorted lower_bound max max_element min min_element mismatch none_of partition remove_if replace reverse "
                 "rotate set_difference sort stable_sort transform unique upper_bound",
    "array": "array",
    "atomic": "atomic atomic_bool atomic_flag memory_order_acquire memory_order_relaxed memory_order_release",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp",
    "deque": "deque",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind cref function greater hash invoke less ref",
    "future": "async future future_status launch packaged_task promise shared_future",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock timed_mutex unique_lock",
    "optional": "nullopt optional",
    "random": "bernoulli_distribution mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "string": "stoi stoul string to_string",
    "string_view": "string_view",
    "system_error": "errc error_category error_code generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "as_const cmp_less exchange forward in_place index_sequence make_pair move pair swap",
    "variant": "bad_variant_access get_if holds_alternative monostate variant variant_alternative_t visit",
    "vector": "vector",
    # Not precompiled themselves; others in this table have them.
    "exception": "current_exception exception exception_ptr rethrow_exception",
    "iterator": "advance back_inserter distance inserter istreambuf_iterator make_move_iterator next prev",
    "limits": "numeric_limits",
    "new": "bad_alloc nothrow",
    "numeric": "accumulate iota",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "tuple": "make_tuple tie tuple",
}
# Headers of libraries, by their namespaces.
LIBRARIES = {"nlohmann": "nlohmann/json.hpp", "YAML": "yaml-cpp/yaml.h"}
# Names of libraries that smaller headers have as well.
PARTS = {
    "YAML::anchor_t": {"yaml-cpp/anchor.h", "yaml-cpp/eventhandler.h"},
    "YAML::EmitterStyle": {"yaml-cpp/emitterstyle.h", "yaml-cpp/eventhandler.h"},
    "YAML::EventHandler": {"yaml-cpp/eventhandler.h"},
    "YAML::Exception": {"yaml-cpp/exceptions.h"},
    "YAML::Mark": {"yaml-cpp/mark.h", "yaml-cpp/exceptions.h"},
    "YAML::Parser": {"yaml-cpp/parser.h"},
}
NOTHING_OF_ITS_OWN = {"cerrno", "cppunit/extensions/HelperMacros.h"}  # macros
# Headers that have a name as well.
ALSO = {
    "hash": {"string", "string_view", "memory", "optional"},
    "less": {"map", "set"},
    "swap": {"algorithm", "string", "vector", "memory", "map"},
    "exception": {"stdexcept", "new", "future", "system_error"},
    "next": {"array", "deque", "list", "map", "set", "string", "string_view", "unordered_map", "unordered_set", "vector", "span"},
    "prev": {"array", "deque", "list", "map", "set", "string", "string_view", "unordered_map", "unordered_set", "vector", "span"},
}
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")
_LIBRARY = re.compile(r"(?<![\w:])(?:::)?((?:" + "|".join(LIBRARIES) + r")::\w+)")


def owners():
    """Each name → the headers that have it."""
    return {name: {header} | ALSO.get(name, set()) for header, names in NAMES.items() for name in names.split()}


class Tree:
    def __init__(self, root):
        self.texts = {}
        self._includes = {}
        for name in source_files(root):
            text = read(root, name) if name.endswith(SUFFIXES) else None
            if text is not None:
                self.texts[name] = _STRING.sub('""', without_comments(text))
                self._includes[name] = [include.target for include in includes_of(name, text)]

    def standard(self, name, seen=None):
        """Angled includes of that file and of the project's headers that it includes."""
        seen = set() if seen is None else seen
        seen.add(name)
        found = set()
        for target in self._includes[name]:
            inner = self._file(name, target[1:-1])
            if inner is None:
                found.add(target[1:-1])
            elif inner not in seen:
                found |= self.standard(inner, seen)
        return found

    def _file(self, name, target):
        places = (target, os.path.join("sdk/include", target), os.path.join(os.path.dirname(name), target))
        return next((place for place in places if place in self._includes), None)


def violations(root):
    tree, known = Tree(root), owners()
    for name, text in tree.texts.items():
        used = {word for word in _NAME.findall(text) if word in known}
        libraries = set(_LIBRARY.findall(text))
        if used or libraries:
            there = tree.standard(name)
            for word in sorted(used):
                if known[word].isdisjoint(there):
                    yield f"{name}: std::{word} needs #include <{home(word)}>"
            for word in sorted(libraries):
                header = LIBRARIES[word.partition("::")[0]]
                if there.isdisjoint({header} | PARTS.get(word, set())):
                    yield f"{name}: {word} needs #include <{header}>"


def home(word):
    return next(header for header, names in NAMES.items() if word in names.split())


def unknown(text):
    """Precompiled headers whose names are not in the table."""
    for include in includes_of(PRECOMPILED, text):
        header = include.target[1:-1]
        if header not in NAMES and header not in NOTHING_OF_ITS_OWN and header not in LIBRARIES.values():
            yield f"{PRECOMPILED}: <{header}> is not in the table of test/lint/standard_headers.py"


def self_test():
    """Files of which those named a to c, e, g and i need a header; i needs two."""
    files = {"core/a.cpp": "std::vector<int> a;\n", "core/b.cpp": '#include "core/b.hpp"\n// <utility>\nauto b = std::move(c);\n',
             "core/b.hpp": "#pragma once\n#include <string>\n", "core/c.cpp": "#include <vector>\nstd::ranges::sort(v);\n",
             "core/d.cpp": '#include "core/b.hpp"\nstd::string d = "std::map";  // std::set\n',
             "core/e.cpp": "nlohmann::json e;\n", "core/f.cpp": "#include <nlohmann/json.hpp>\n::nlohmann::json f;\n",
             "core/g.cpp": "#include <yaml-cpp/mark.h>\nYAML::Mark g;\nYAML::Node h;\n",
             "core/i.cpp": "std::variant<int, long> i;\nstd::shared_mutex j;\n"}
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        said = [line.split(":")[0] for line in violations(root)]
    if said != [f"core/{name}.cpp" for name in "abcegii"]:
        yield f"said {said}"
    if not list(unknown("#include <regex>\n")) or list(unknown("#include <vector>\n")):
        yield "a precompiled header without names is not noticed"


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tap = Tap()
    tap.check("each broken file is found", self_test())
    tap.check("the table has the names of each precompiled header", unknown(read(root, PRECOMPILED)))
    tap.check("each file that uses a name of a precompiled header includes the header", violations(root))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
