// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_comparison.hpp"

#include <algorithm>
#include <unordered_map>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::RuleFields;
using netfilter::Table;

constexpr std::string_view kSetMatch = "--match-set ";

std::string printed(Table table, std::string_view chain, std::string_view rule) {
  return std::string(netfilter::table_name(table)).append(" -A ").append(chain).append(" ").append(rule);
}

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
  std::unordered_multimap<std::uint64_t, const std::string*> left;
  if (const netfilter::Chain* const found = listing.chain(chain.table, chain.name)) {
    for (const netfilter::Rule& rule : found->rules) left.emplace(rule.hash, &rule.text);
  }
  for (const std::string& rule : chain.rules) {
    const auto same = left.find(canonicaliser.hash(rule));
    if (same == left.end()) {
      missing_.push_back({chain.table, chain.name, rule});
    } else {
      left.erase(same);
    }
  }
  std::vector<std::string> foreign;
  for (const auto& [hash, text] : left) foreign.push_back(printed(chain.table, chain.name, *text));
  std::sort(foreign.begin(), foreign.end());
  foreign_.insert(foreign_.end(), foreign.begin(), foreign.end());
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
    foreign_.push_back(printed(Table::kFilter, kOutFilterChain, one.text));
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
