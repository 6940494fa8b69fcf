// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend's settings as a table: one row per key with its reader, its default and its allowed values. Error messages
// and the documentation are made from this table.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/sdk/options.hpp"

namespace sluice::settings {

struct Key {
  std::string_view key;         // "threads"
  bool list;                    // written as key[0], key[1], …
  std::string_view as_default;  // "250ms", "[250ms, 500ms]"
  std::string_view allowed;     // description of its values, for error messages
  std::string_view meaning;     // sentences for the documentation
};

// The result of a reader: kTaken, kNotAllowed, or a specific error message.
using Problem = const char*;
inline constexpr Problem kTaken = nullptr;
inline constexpr Problem kNotAllowed = "";

// Reads one of `words` into `out`.
template <class T>
Problem word(std::string_view value, T& out, std::initializer_list<std::pair<std::string_view, T>> words) {
  for (const auto& [name, meaning] : words) {
    if (name != value) continue;
    out = meaning;
    return kTaken;
  }
  return kNotAllowed;
}

template <class Context>
struct Row {
  Key key;
  Problem (*read)(std::string_view value, Context& context);  // called once per element of a list
};

// "dialTimeouts" for "dialTimeouts[0]"; the whole key if it is not an element of a list.
std::string_view name_of(std::string_view key);

// The given options, lists in the order of their elements.
std::vector<std::pair<std::string, std::string>> in_order(const sdk::Options& options);

// The index of `given` in `keys`. Throws sdk::Failure (kInvalid) that suggests the nearest key or lists all keys.
std::size_t find_key(std::span<const Key> keys, const std::string& given, std::string_view backend);

// Throws sdk::Failure (kInvalid) whose object is `key`.
[[noreturn]] void refuse(std::string key, const std::string& message);
[[noreturn]] void refuse_value(const std::string& key, const std::string& value, Problem problem,
                               std::string_view allowed);

template <class Context, std::size_t N>
std::vector<Key> keys_of(const std::array<Row<Context>, N>& rows) {
  std::vector<Key> out;
  for (const Row<Context>& row : rows) out.push_back(row.key);
  return out;
}

// Reads all given options into `context`. Throws sdk::Failure (kInvalid) whose object is the key if the key is unknown
// or its value is malformed or out of range.
template <class Context, std::size_t N>
void read(const sdk::Options& options, const std::array<Row<Context>, N>& rows, std::string_view backend,
          Context& context) {
  const std::vector<Key> keys = keys_of(rows);
  for (const auto& [key, value] : in_order(options)) {
    const Row<Context>& row = rows[find_key(keys, key, backend)];
    const Problem problem = row.read(value, context);
    if (problem != kTaken) refuse_value(key, value, problem, row.key.allowed);
  }
}

}  // namespace sluice::settings
