// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/service_writer.hpp"

#include <string>
#include <vector>

namespace sluice::iptables {

KnownService write_service(const ServicePlan& plan, Present& present, netfilter::Canonicaliser& canonicaliser,
                           netfilter::RestoreInput& input) {
  KnownService known;
  known.chains.reserve(plan.chains.size());
  for (const ChainId& chain : plan.chains) known.chains.push_back({chain, 0});
  for (const PlannedRule& rule : plan.rules) {
    const std::uint64_t hash = canonicaliser.hash(rule.text);
    if (rule.chain != PlannedRule::kShared) {
      KnownChain& chain = known.chains[rule.chain];
      chain.content = netfilter::fold(chain.content, hash);
      ++known.chain_rules;
      continue;
    }
    if (!present.take_rule(rule.shared, hash)) input.insert(table(rule.shared), name(rule.shared), rule.text);
    known.shared.push_back({rule.shared, {hash, rule.text}});
  }
  known.shared.shrink_to_fit();

  std::vector<std::string> written(plan.chains.size());  // empty: as it is
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
  input.declare(Table::kNat, chain_name);  // emptied: the kernel keeps a chain that has rules
  input.remove_chain(Table::kNat, chain_name);
}

}  // namespace sluice::iptables
