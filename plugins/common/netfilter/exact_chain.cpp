// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/exact_chain.hpp"

#include <algorithm>

namespace sluice::netfilter {

std::string in_table(Table table, std::string_view chain) {
  return std::string(table_name(table)).append(" ").append(chain);
}

std::uint64_t content_of(const std::vector<std::string>& rules, Canonicaliser& canonicaliser) {
  std::uint64_t content = 0;
  for (const std::string& rule : rules) content = fold(content, canonicaliser.hash(rule));
  return content;
}

void write(const ExactChain& chain, RestoreInput& input) {
  input.declare(chain.table, chain.name);
  for (const std::string& rule : chain.rules) input.append(chain.table, chain.name, rule);
}

bool holds(const Ruleset& kernel_rules, Table table, std::string_view chain, std::uint64_t content) {
  const Chain* found = kernel_rules.chain(table_name(table), chain);
  return found != nullptr && found->content == content;
}

bool contains(const Chain& chain, std::uint64_t hash) {
  return std::any_of(chain.rules.begin(), chain.rules.end(), [&](const auto& rule) { return rule.hash == hash; });
}

bool contains(const Ruleset& kernel_rules, Table table, std::string_view chain, std::string_view rule,
              Canonicaliser& canonicaliser) {
  const Chain* found = kernel_rules.chain(table_name(table), chain);
  return found != nullptr && contains(*found, canonicaliser.hash(rule));
}

void expect_content(const Ruleset& kernel_rules, Table table, std::string_view chain, std::uint64_t content,
                    Drift& drift) {
  if (holds(kernel_rules, table, chain, content)) return;
  const bool gone = kernel_rules.chain(table_name(table), chain) == nullptr;
  drift.add([&] { return in_table(table, chain) + (gone ? " is gone" : " was changed"); });
}

void expect_rule(const Ruleset& kernel_rules, Table table, std::string_view chain, std::string_view rule,
                 Canonicaliser& canonicaliser, Drift& drift) {
  if (contains(kernel_rules, table, chain, rule, canonicaliser)) return;
  drift.add([&] { return "the rule \"" + std::string(rule) + "\" in " + in_table(table, chain) + " is gone"; });
}

}  // namespace sluice::netfilter
