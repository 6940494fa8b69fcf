# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes sluice/abi.h."""

import re

from writer import WIDTH, Writer, snake, upper

C_BEGIN = """\
// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin ABI for C11 and for what can call C, the same as <sluice/abi/abi.hpp>. sdk/tools/bindings makes it from
// the C++ headers.
//
// A pointer to an interface, for example struct sluice_host*, points to a struct whose first member points to a table
// of functions. Call one with the object as its first argument: host->methods->now(host). An object of your own begins
// with the same member. No function may let an exception or a longjmp() leave it.
//
// Enumerations are integers, because minor versions may add values.
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SLUICE_ASSERT(test) static_assert(test, #test)
#else
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "The ABI of Sluice takes C11 or later"
#endif
#define SLUICE_ASSERT(test) _Static_assert(test, #test)
#endif
#if UINTPTR_MAX != UINT64_MAX
#error "the plugin ABI of Sluice is for 64-bit machines (LP64)"
#endif"""
C_END = """
// The name of the section and of the only symbol a plugin exports.
#define SLUICE_ABI_SECTION "sluice_abi"
#define SLUICE_ABI_SYMBOL "sluice_plugin_entry"

// SLUICE_PLUGIN_ENTRY = { ... }; must be in exactly one source file of a plugin. The value must be a constant
// expression, so that the daemon can read it before any code of the plugin runs.
#define SLUICE_PLUGIN_ENTRY                                                                                   \\
  extern const struct sluice_plugin_entry sluice_plugin_entry;                                                \\
  __attribute__((visibility("default"), section(SLUICE_ABI_SECTION), used)) const struct sluice_plugin_entry \\
      sluice_plugin_entry

#endif"""


class C(Writer):
    def constant(self, name):
        return "SLUICE_" + snake(name[1:]).upper() + ("_ID" if self.is_text(name) else "")

    def value(self, item, name):
        return "SLUICE_" + upper(item, name)

    def type_name(self, name):
        return "sluice_" + snake(name)

    def member_name(self, item, name):
        return f"{self.type_name(item.name)}{'_methods' if item.kind == 'class' else ''}.{name}"

    def type(self, text):
        words = []
        for word in re.findall(r"[\w:]+|\*", text):
            word = word.removeprefix("std::")
            if word in self.types:
                word = ("" if self.types[word].kind == "enum" else "struct ") + self.type_name(word)
            words.append(word)
        return " ".join(words).replace(" *", "*").replace("* *", "**")

    def declared(self, type_, name):
        found = self.type(type_)
        return f"{found} {name}".rstrip()

    def function(self, one, owner=None):
        arguments = [f"struct {self.type_name(owner)}* self"] if owner else []
        arguments += [self.declared(argument.type, argument.name) for argument in one.arguments]
        begin = f"  {self.type(one.type)} (*{one.name})("
        made = [begin]
        for place, argument in enumerate(arguments):
            end = ", " if place + 1 < len(arguments) else ");"
            if len(made[-1]) + len(argument) + len(end.rstrip()) > WIDTH:
                made[-1] = made[-1].rstrip()
                made.append(" " * len(begin))
            made[-1] += argument + end
        return "\n".join(made)[2:]

    def lines(self):
        yield from C_BEGIN.split("\n")
        yield from self.items_written()
        yield from C_END.split("\n")

    def write_file(self, item):
        yield f"// ---- {item.name} ".ljust(WIDTH, "-")
        yield from self.comment(item.comment)

    def write_text(self, item):
        yield f"#define {self.constant(item.name)} {item.value}"

    def write_constant(self, item):
        yield f"#define {self.constant(item.name)} {item.value}u"

    def write_enum(self, item):
        yield f"typedef {item.type.removeprefix('std::')} {self.type_name(item.name)};"
        long = "64" in item.type
        if not long:
            yield "enum {"
        for one in item.members:
            yield from self.comment(one.comment, "" if long else "  ")
            name, value = self.value(item, one.name), self.plain(one.value)
            if long:
                number, _, shift = value.partition(" ")
                yield from self.beside(f"#define {name} ({' '.join((f'UINT64_C({number})', shift)).rstrip()})", one.beside)
            else:
                yield from self.beside(f"  {name} = {value},", one.beside, "  ")
        if not long:
            yield "};"

    def write_struct(self, item):
        yield f"struct {self.type_name(item.name)} {{"
        for one in item.members:
            yield from self.comment(one.comment, "  ")
            code = self.function(one) if one.is_function else self.declared(one.type, one.name) + (
                f"[{one.length}]" if one.length else "") + ";"
            yield from self.beside(f"  {code}", one.beside, "  ")
        yield "};"
        if item.sizes:
            name = self.type_name(item.name)
            tests = [f"sizeof(struct {name}) == {size}" if field is None else f"offsetof(struct {name}, {field}) == {size}"
                     for field, size in item.sizes]
            yield "SLUICE_ASSERT(" + " &&\n              ".join(tests) + ");"

    def write_class(self, item):
        name = self.type_name(item.name)
        yield f"struct {name};"
        yield f"struct {name}_methods {{"
        for one in item.members:
            yield from self.comment(one.comment, "  ")
            yield f"  {self.function(one, item.name)}"
        yield "};"
        yield from self.comment(item.comment)
        yield f"struct {name} {{"
        yield f"  const struct {name}_methods* methods;  // never null"
        yield "};"
