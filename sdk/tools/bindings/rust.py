# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes sluice_abi.rs."""

import re

from writer import Writer, snake, upper

RUST_BEGIN = """\
// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin ABI for Rust, the same as <sluice/abi/abi.hpp>. sdk/tools/bindings makes it from the C++ headers.
// Include it as a module; it needs only `core`, and Rust 1.63 or later.
//
// A pointer to an interface, for example *mut Host, points to a struct whose first member points to a table of
// functions. Call one with the object as its first argument: ((*(*host).methods).now)(host). An object of your own
// begins with the same member (#[repr(C)]). A panic must not leave a function: catch it, or compile with panic=abort.
//
// Enumerations are integers, because minor versions may add values.
#![allow(dead_code, clippy::missing_safety_doc)]

use core::ffi::c_void;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the plugin ABI of Sluice is for 64-bit machines (LP64)");

/// The name of the section and of the only symbol a plugin exports: a static of type PluginEntry with the attributes
/// `#[no_mangle]` and `#[link_section = "sluice_abi"]`.
pub const ABI_SECTION: &str = "sluice_abi";
pub const ABI_SYMBOL: &str = "sluice_plugin_entry";"""


class Rust(Writer):
    mark = "///"
    # Structs of which a plugin has constants: Rust wants them to be Sync.
    CONSTANT = ("StringView", "ArrayView", "OptionSpec", "MetricSpec", "PluginEntry")
    TYPES = {"char": "u8", "void": "c_void", "double": "f64", "std::uint8_t": "u8", "std::uint16_t": "u16", "std::uint32_t": "u32",
             "std::uint64_t": "u64", "std::int32_t": "i32", "std::int64_t": "i64"}

    def constant(self, name):
        return snake(name[1:]).upper() + ("_ID" if self.is_text(name) else "")

    def value(self, item, name):
        return upper(item, name)

    def type_name(self, name):
        return name

    def member_name(self, item, name):
        return f"{item.name}{'Methods' if item.kind == 'class' else ''}::{name}"

    def type(self, text):
        words = re.findall(r"[\w:]+|\*", text)
        made, constant = "", False
        for word in words:
            if word == "const":
                constant = True
            elif word == "*":
                made = f"*{'const' if constant else 'mut'} {made}"
                constant = False
            else:
                made = self.TYPES.get(word, word)
        return made

    def function(self, one, owner=None):
        arguments = [f"this: *mut {owner}"] if owner else []
        arguments += [f"{argument.name}: {self.type(argument.type)}" for argument in one.arguments]
        result = "" if one.type == "void" else f" -> {self.type(one.type)}"
        line = f"    pub {one.name}: unsafe extern \"C\" fn({', '.join(arguments)}){result},"
        if len(line) <= 100:
            return line
        return "\n".join((f"    pub {one.name}: unsafe extern \"C\" fn(", *(f"        {argument}," for argument in arguments),
                          f"    ){result},"))

    def lines(self):
        yield from RUST_BEGIN.split("\n")
        yield from self.items_written()

    def write_file(self, item):
        yield from (line.replace("///", "//", 1) for line in self.comment(item.comment))

    def write_text(self, item):
        yield f"pub const {self.constant(item.name)}: &str = {item.value};"

    def write_constant(self, item):
        yield f"pub const {self.constant(item.name)}: {self.type(item.type)} = {item.value};"

    def write_enum(self, item):
        yield f"pub type {item.name} = {self.type(item.type)};"
        for one in item.members:
            yield from self.comment((*one.comment, *([one.beside] if one.beside else [])))
            value = self.plain(one.value)
            yield f"pub const {self.value(item, one.name)}: {item.name} = {value};"

    def write_struct(self, item):
        yield "#[repr(C)]"
        yield "#[derive(Clone, Copy)]"
        yield f"pub struct {item.name} {{"
        for one in item.members:
            yield from self.comment((*one.comment, *([one.beside] if one.beside else [])), "    ")
            type_ = f"[{self.type(one.type)}; {one.length}]" if one.length else self.type(one.type)
            yield self.function(one) if one.is_function else f"    pub {one.name}: {type_},"
        yield "}"
        for field, size in item.sizes:
            if field is None:
                yield f"const _: () = assert!(core::mem::size_of::<{item.name}>() == {size});"

        if item.name in self.CONSTANT:
            yield "// In a constant of a plugin its pointers lead to constants."
            yield f"unsafe impl Sync for {item.name} {{}}"

    def write_class(self, item):
        yield "#[repr(C)]"
        yield "#[derive(Clone, Copy)]"
        yield f"pub struct {item.name}Methods {{"
        for one in item.members:
            yield from self.comment(one.comment, "    ")
            yield self.function(one, item.name)
        yield "}"
        yield from self.comment(item.comment)
        yield "#[repr(C)]"
        yield f"pub struct {item.name} {{"
        yield "    /// Never null."
        yield f"    pub methods: *const {item.name}Methods,"
        yield "}"
