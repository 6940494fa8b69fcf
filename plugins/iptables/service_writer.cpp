// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/service_writer.hpp"

#include <string>
#include <vector>

namespace sluice::iptables {
namespace {

// Inserts rules at the top in reverse order, so that they end up in the order of the plan.
void insert_shared_rules(const ServicePlan& plan, const KnownService& known, Present& present,
                         netfilter::RestoreInput& input) {
  bool next_is_new = false;
  auto of_plan = plan.rules.rbegin();
  for (auto rule = known.shared.rbegin(); rule != known.shared.rend(); ++rule) {
    while (of_plan->chain != PlannedRule::kShared) ++of_plan;
    const bool above_new = of_plan++->before_next && next_is_new;
    const bool is_there = present.take_rule(rule->chain, rule->rule.hash);
    next_is_new = !is_there || above_new;
    if (!next_is_new) continue;
    if (is_there) input.remove(table(rule->chain), name(rule->chain), rule->rule.text);
    input.insert(table(rule->chain), name(rule->chain), rule->rule.text);
  }
}

}  // namespace

KnownService write_service(const ServicePlan& plan, Present& present, netfilter::Canonicaliser& canonicaliser,
                           netfilter::RestoreInput& input, SharedRules shared) {
  KnownService known;
  known.chains.reserve(plan.chains.size());
  for (const ChainId& chain : plan.chains) known.chains.push_back({chain, 0, 0});
  known.endpoints = plan.endpoints & 0x3fffffffu;
  known.internal_without_local_endpoints = plan.internal_without_local_endpoints;
  known.external_without_local_endpoints = plan.external_without_local_endpoints;
  for (const PlannedRule& rule : plan.rules) {
    if (rule.chain != PlannedRule::kShared) {
      KnownChain& chain = known.chains[rule.chain];
      chain.content = netfilter::fold(chain.content, comments_are_optional(chain.id.kind)
                                                         ? canonicaliser.hash_without_comments(rule.text)
                                                         : canonicaliser.hash(rule.text));
      ++chain.rules;
      ++known.chain_rules;
      continue;
    }
    known.shared.push_back({rule.shared, {canonicaliser.hash(rule.text), rule.text}});
  }
  known.shared.shrink_to_fit();
  if (shared == SharedRules::kInsert) {
    insert_shared_rules(plan, known, present, input);
  } else {
    for (const KnownRule& rule : known.shared) present.take_rule(rule.chain, rule.rule.hash);
  }

  std::vector<std::string> written(plan.chains.size());  // empty: unchanged
  for (std::size_t i = 0; i < known.chains.size(); ++i) {
    if (present.take_chain(known.chains[i].id) == known.chains[i].content) continue;
    written[i] = name(known.chains[i].id);
    input.declare(Table::kNat, written[i]);
  }
  for (const PlannedRule& rule : plan.rules) {
    if (rule.chain == PlannedRule::kShared || written[rule.chain].empty()) continue;
    input.append(Table::kNat, written[rule.chain], rule.text);
  }
  return known;
}

void remove_chain(const ChainId& chain, netfilter::RestoreInput& input) {
  const std::string chain_name = name(chain);
  input.declare(Table::kNat, chain_name);  // empties it, since a chain with rules cannot be deleted
  input.remove_chain(Table::kNat, chain_name);
}

}  // namespace sluice::iptables
