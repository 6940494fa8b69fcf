# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ source that compares abi.h with the C++ headers."""

from c import C

COMPARE_BEGIN = """\
// Compiles only if abi.h has the layout of the C++ headers: each size, offset, type, value and function.
#include <type_traits>

#include "sluice/abi.h"
#undef SLUICE_ABI_SECTION
#undef SLUICE_ABI_SYMBOL
#undef SLUICE_PLUGIN_ENTRY
#include "sluice/abi/abi.hpp"

namespace abi = sluice::abi;

// The type that stands for T in C.
template <class T>
struct In { using type = T; };
template <class T>
using in_c = typename In<T>::type;
template <class T>
struct In<const T> { using type = const in_c<T>; };
template <class T>
struct In<T*> { using type = in_c<T>*; };
template <class T, std::size_t Size>
struct In<T[Size]> { using type = in_c<T>[Size]; };
template <class Result, class... Arguments>
struct In<Result (*)(Arguments...) noexcept> { using type = in_c<Result> (*)(in_c<Arguments>...); };
template <class Result, class Owner, class... Arguments>
struct In<Result (Owner::*)(Arguments...) noexcept> { using type = in_c<Result> (*)(in_c<Owner>*, in_c<Arguments>...); };
"""


def compare(items):
    """The C++ source that compares both headers."""
    c = C(items)
    yield from COMPARE_BEGIN.split("\n")
    for item in items:
        if item.kind in ("struct", "class"):
            yield f"template <> struct In<abi::{item.name}> {{ using type = {c.type_name(item.name)}; }};"
        elif item.kind == "enum":
            yield f"template <> struct In<abi::{item.name}> {{ using type = std::underlying_type_t<abi::{item.name}>; }};"
    for item in items:
        name = c.type_name(item.name) if item.kind not in ("constant", "text", "file") else ""
        if item.kind == "struct":
            yield (f"static_assert(sizeof({name}) == sizeof(abi::{item.name}) && alignof({name}) == alignof(abi::{item.name}), "
                   f"\"{name}\");")
            for one in item.members:
                yield (f"static_assert(offsetof({name}, {one.name}) == offsetof(abi::{item.name}, {one.name}) && "
                       f"std::is_same_v<decltype({name}::{one.name}), in_c<decltype(abi::{item.name}::{one.name})>>, "
                       f"\"{name}.{one.name}\");")
        elif item.kind == "class":
            yield (f"static_assert(sizeof({name}) == sizeof(abi::{item.name}) && offsetof({name}, methods) == 0 && "
                   f"sizeof({name}_methods) == {len(item.members)} * sizeof(void*), \"{name}\");")
            for place, one in enumerate(item.members):
                yield (f"static_assert(offsetof({name}_methods, {one.name}) == {place} * sizeof(void*) && "
                       f"std::is_same_v<decltype({name}_methods::{one.name}), in_c<decltype(&abi::{item.name}::{one.name})>>, "
                       f"\"{name}_methods.{one.name}\");")
        elif item.kind == "enum":
            yield f"static_assert(std::is_same_v<{name}, std::underlying_type_t<abi::{item.name}>>, \"{name}\");"
            for one in item.members:
                scope = f"abi::{item.name}::" if item.scoped else "abi::"
                yield (f"static_assert(static_cast<{name}>({c.value(item, one.name)}) == "
                       f"static_cast<{name}>({scope}{one.name}), \"{c.value(item, one.name)}\");")
        elif item.kind == "constant":
            yield f"static_assert({c.constant(item.name)} == abi::{item.name}, \"{c.constant(item.name)}\");"
        elif item.kind == "text":
            yield (f"static_assert(sizeof({c.constant(item.name)}) == sizeof(abi::{item.name}) && "
                   f"__builtin_strcmp({c.constant(item.name)}, abi::{item.name}) == 0, \"{c.constant(item.name)}\");")
