// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The parsed output of iptables-save: tables, chains, rules. Chains that are only compared
// store the number of rules and one hash over all of them, so that a hundred thousand chains
// take a few megabytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::netfilter {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

// A rule as text and as the hash of its canonical form.
struct Rule {
  std::uint64_t hash = 0;
  std::string text;  // without the name of the chain
};

struct Chain {
  bool built_in = false;
  std::uint32_t rule_count = 0;
  std::uint64_t content = 0;  // fold() of the hashes of its rules, in order
  std::vector<Rule> rules;    // only for chains whose text is stored
};

class Ruleset {
 public:
  using Chains = std::unordered_map<std::string, Chain, TextHash, std::equal_to<>>;

  // Null if there is none.
  const Chains* table(std::string_view name) const;
  const Chain* chain(std::string_view table, std::string_view name) const;

  Chains& make_table(std::string_view name);

 private:
  std::map<std::string, Chains, std::less<>> tables_;
};

}  // namespace sluice::netfilter
