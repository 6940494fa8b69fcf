// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The configuration section of a backend: typed values by the declared table, or text without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi/entry.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/option_table.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// A copy of the flattened options, which stays valid after create().
class Options {
 public:
  Options() = default;
  // Of a backend that declares no options: text only.
  explicit Options(const abi::ArrayView& options) { copy(options); }
  // `table`: PluginEntry::options, which must outlive it. Throws Failure (kInvalid) if an option is unknown or invalid,
  // which only a daemon of minor 0 passes.
  Options(const abi::ArrayView& options, const abi::ArrayView& table) {
    bool typed = options.count != 0;
    std::vector<OptionValue> typed_values;
    for (const abi::Option& one : range<abi::Option>(options)) {
      const bool is_default = (one.flags & abi::kOptionDefault) != 0;
      typed = typed && one.value_type != abi::OptionType::kUndeclared;
      typed_values.push_back({std::string(text(one.key)), std::string(text(one.value)), one.value_type, one.number, is_default});
      if (!is_default) options_.emplace(text(one.key), text(one.value));
    }
    table_ = rows(table);
    for (const abi::OptionSpec& spec : table_) declared_[std::string(option_name(spec))];
    if (!typed) {
      typed_values.clear();
      const auto problems = read_options(table_, {options_.begin(), options_.end()}, typed_values);
      if (!problems.empty()) throw Failure(abi::Code::kInvalid, problems.front().key, problems.front().text);
    }
    for (OptionValue& value : typed_values) {
      declared_[std::string(option_name_of(value.key))].push_back(std::move(value));
    }
  }

  // Of declared options: the value of the configuration, or the default. REQUIRES: the table has the key, with this type.
  bool boolean(std::string_view key) const { return value(key).number != 0; }
  std::int64_t integer(std::string_view key) const { return value(key).number; }
  std::chrono::nanoseconds duration(std::string_view key) const { return std::chrono::nanoseconds(value(key).number); }
  // The index in the words of the table, as an enumeration in their order.
  template <class Enum>
  Enum word(std::string_view key) const {
    return static_cast<Enum>(value(key).number);
  }
  const std::string& string(std::string_view key) const { return value(key).text; }
  const OptionValue& value(std::string_view key) const {
    const std::vector<OptionValue>& found = list(key);
    if (found.size() != 1) throw std::logic_error("option '" + std::string(key) + "' is a list");
    return found.front();
  }
  // The elements of a list, in order.
  const std::vector<OptionValue>& list(std::string_view key) const {
    const auto found = declared_.find(key);
    if (found == declared_.end()) throw std::logic_error("option '" + std::string(key) + "' is not declared");
    return found->second;
  }
  std::vector<std::string> strings(std::string_view key) const {
    std::vector<std::string> out;
    for (const OptionValue& one : list(key)) out.push_back(one.text);
    return out;
  }
  std::vector<std::chrono::nanoseconds> durations(std::string_view key) const {
    std::vector<std::chrono::nanoseconds> out;
    for (const OptionValue& one : list(key)) out.emplace_back(one.number);
    return out;
  }

  // Rejects a value that the table allows, with the text of the table about allowed values. `problem`: a specific reason.
  [[noreturn]] void reject(const OptionValue& value, const std::string& problem = "is not a valid value") const {
    for (const abi::OptionSpec& spec : table_) {
      if (option_name(spec) == option_name_of(value.key)) {
        throw Failure(abi::Code::kInvalid, value.key, invalid_value(spec, value.text, problem));
      }
    }
    throw std::logic_error("option '" + value.key + "' is not declared");
  }

  // Text of the configuration, without defaults of a table.
  bool has(std::string_view key) const { return options_.find(key) != options_.end(); }
  std::string get(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = options_.find(key);
    return found == options_.end() ? std::string(otherwise) : found->second;
  }
  // All options of the configuration, sorted by key, so that a backend without a table can reject unknown ones.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return options_; }

 private:
  void copy(const abi::ArrayView& options) {
    for (const abi::Option& option : range<abi::Option>(options)) options_.emplace(text(option.key), text(option.value));
  }

  std::vector<abi::OptionSpec> table_;
  std::map<std::string, std::string, std::less<>> options_;
  std::map<std::string, std::vector<OptionValue>, std::less<>> declared_;  // of the table
};

}  // namespace sluice::sdk
