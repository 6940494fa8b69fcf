// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits a rule into words as iptables-restore does. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::netfilter {

struct RuleWord {
  std::string_view text;
  bool quoted;  // a value even if it begins with a dash
};

// Blanks separate words, double quotes group them, and a backslash inside quotes escapes the next character. Replaces
// the content of `words`, which points into `rule` and `unquoted`.
void split_rule(std::string_view rule, std::vector<RuleWord>& words, std::string& unquoted);

// "--destination" and "--dst" become "-d", and so on; other names are unchanged.
std::string_view canonical_option(std::string_view name) noexcept;
// "6" becomes "tcp", and so on; other names are unchanged.
std::string_view canonical_protocol(std::string_view name) noexcept;

}  // namespace sluice::netfilter
