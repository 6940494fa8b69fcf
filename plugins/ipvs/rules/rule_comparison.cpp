// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_comparison.hpp"

#include <algorithm>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::RuleFields;
using netfilter::Table;

constexpr std::string_view kSetMatch = "--match-set ";

}  // namespace

RuleComparison::RuleComparison(const RuleListing& listing, const RuleFacts& facts,
                               const std::set<ServerKey>& wanted_closed)
    : family_(facts.family) {
  const RulePlan all = plan_rules(facts, ~std::uint32_t{0}, {});
  for (const RuleChain& chain : all.chains) {
    if (chain.name != kOutFilterChain) compare_chain(listing, chain);
  }
  netfilter::Canonicaliser canonicaliser;
  for (const RuleJump& jump : all.jumps) {
    if (netfilter::contains(listing.rules, jump.table, jump.from, jump.rule, canonicaliser)) continue;
    missing_jumps_.push_back({jump.table, std::string(jump.from), jump.rule});
  }
  rejects_ = !lacks_jump(Table::kFilter, "INPUT", names::kIpvsFilter) &&
             chains_without(Table::kFilter, SetId::kIpvsAddresses).empty();
  read_out_filter(listing, wanted_closed);
}

// Separates our rules from foreign ones; their order is not compared.
void RuleComparison::compare_chain(const RuleListing& listing, const RuleChain& chain) {
  netfilter::Canonicaliser canonicaliser;
  const RuleDifference changed = difference(rules_of(listing, chain), chain.rules, canonicaliser);
  for (const std::string* const rule : changed.to_add) missing_.push_back({chain.table, chain.name, *rule});
  for (const std::string* const rule : changed.to_remove) {
    foreign_.push_back(printed_rule(chain.table, chain.name, *rule));
  }
}

void RuleComparison::read_out_filter(const RuleListing& listing, const std::set<ServerKey>& wanted) {
  const netfilter::Chain* const chain = listing.chain(Table::kFilter, kOutFilterChain);
  if (chain == nullptr) return;
  netfilter::RuleReader reader(family_);
  for (const netfilter::Rule& one : chain->rules) {
    const RuleFields& rule = reader.read(one.text);
    const bool is_ours = rule.conditions() == (RuleFields::kSource | RuleFields::kVirtual) && rule.target == "DROP" &&
                         RuleFields::is_one_address(rule.source) && rule.virtual_address && rule.virtual_port &&
                         rule.virtual_protocol && rule.source->prefix.address == *rule.virtual_address;
    if (is_ours) {
      const ServerKey key{*rule.virtual_address, *rule.virtual_port, *rule.virtual_protocol};
      closed_.insert(key);
      if (wanted.contains(key)) continue;
    }
    foreign_.push_back(printed_rule(Table::kFilter, kOutFilterChain, one.text));
  }
}

std::set<std::string> RuleComparison::chains_without(Table table, SetId set) const {
  const std::string match = std::string(kSetMatch).append(set_name(set, family_)).append(" ");
  std::set<std::string> chains;
  for (const Missing& one : missing_) {
    if (one.table == table && one.rule.find(match) != std::string::npos) chains.insert(one.chain);
  }
  return chains;
}

bool RuleComparison::lacks_rule(Table table, std::string_view chain) const {
  return std::any_of(missing_.begin(), missing_.end(), [&](const Missing& one) {
    return one.table == table && one.chain == chain && one.rule.find(kSetMatch) == std::string::npos;
  });
}

bool RuleComparison::lacks_jump(Table table, std::string_view from, std::string_view to) const {
  return std::any_of(missing_jumps_.begin(), missing_jumps_.end(), [&](const Missing& one) {
    return one.table == table && one.chain == from && one.rule.ends_with(std::string(" -j ").append(to));
  });
}

}  // namespace sluice::ipvs
