// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command line of netecho: positional words plus `--name value` and `--name` options.
// Every sub-command states what it accepts; anything else is a UsageError.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace netecho {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Accepted {
  std::set<std::string, std::less<>> with_value;
  std::set<std::string, std::less<>> alone;
  std::size_t positional = 0;
};

class Options {
 public:
  Options(const std::vector<std::string>& words, const Accepted& accepted);

  [[nodiscard]] const std::string& positional(std::size_t index) const { return positional_.at(index); }
  [[nodiscard]] bool has(std::string_view name) const { return option_values_.find(name) != option_values_.end(); }
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] unsigned number(std::string_view name, unsigned otherwise) const;
  [[nodiscard]] std::chrono::milliseconds milliseconds(std::string_view name, unsigned otherwise) const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>, std::less<>> option_values_;
};

[[nodiscard]] unsigned parse_number(std::string_view text, std::string_view what);
[[nodiscard]] std::uint16_t parse_port(std::string_view text);

}  // namespace netecho
