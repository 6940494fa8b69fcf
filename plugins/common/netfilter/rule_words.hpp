// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The words of a rule, as iptables-restore splits them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::netfilter {

struct RuleWord {
  std::string_view text;
  bool quoted;  // so that it is a value, whatever it begins with
};

// Blanks separate words, double quotes hold them together, and a backslash inside quotes takes the next character as it
// is. The words replace those in `words`; they show `rule` and `unquoted`.
void split_rule(std::string_view rule, std::vector<RuleWord>& words, std::string& unquoted);

// "--destination" and "--dst" are "-d", and so on; other names stay.
std::string_view canonical_option(std::string_view name) noexcept;
// "6" is "tcp", and so on; other names stay.
std::string_view canonical_protocol(std::string_view name) noexcept;

}  // namespace sluice::netfilter
