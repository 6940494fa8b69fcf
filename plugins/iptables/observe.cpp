// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/observe.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/save_parser.hpp"

namespace sluice::iptables {
namespace {

using netfilter::in_table;

// Finds rules that reference own chains from outside of the expected jumps.
class ForeignReferences {
 public:
  ForeignReferences() {
    netfilter::Canonicaliser canonicaliser;
    for (const Jump& jump : plan_jumps()) {
      jumps_.insert(netfilter::fold(netfilter::hash_text(jump.from), canonicaliser.hash(jump.text)));
    }
  }

  void add_reference(std::string_view table, std::string_view chain, std::string_view target, std::uint64_t hash,
                     Observed& observed) const {
    if (!target.starts_with("KUBE-") || is_ours(table, chain) || !is_ours(table, target)) return;
    if (jumps_.contains(netfilter::fold(netfilter::hash_text(chain), hash))) return;
    observed.held.insert(std::string(table).append(" ").append(target));
  }

 private:
  std::unordered_set<std::uint64_t> jumps_;
};

void find_shared_drift(const State& state, const Observed& observed, netfilter::Drift& drift) {
  std::array<std::unordered_set<std::uint64_t>, kSharedChains.size()> shared;
  for (const SharedChain chain : kSharedChains) {
    const netfilter::Chain* found = observed.chain(table(chain), name(chain));
    if (found == nullptr) {
      drift.add([&] { return in_table(table(chain), name(chain)) + " is gone"; });
      continue;
    }
    for (const netfilter::Rule& rule : found->rules) shared[static_cast<std::size_t>(chain)].insert(rule.hash);
    if (chain == SharedChain::kNatServices && !ends_with(*found, state.tail)) {
      drift.add([] { return std::string("the node port rule at the end of nat KUBE-SERVICES is gone"); });
    }
  }
  for (const auto& [input, service] : state.services()) {
    for (const KnownRule& known : service.shared) {
      if (shared[static_cast<std::size_t>(known.chain)].contains(known.rule.hash)) continue;
      drift.add([&, &rule = known] {
        return "the rule \"" + rule.rule.text + "\" in " + in_table(table(rule.chain), name(rule.chain)) + " is gone";
      });
    }
  }
}

void find_chain_drift(const State& state, const Observed& observed, netfilter::Drift& drift) {
  for (const auto& [input, service] : state.services()) {
    for (const KnownChain& known : service.chains) {
      netfilter::expect_content(observed.rules, Table::kNat, name(known.id), known.content, drift);
    }
  }
}

}  // namespace

Observed observe(netfilter::KernelSession& session) {
  Observed observed;
  const ForeignReferences references;
  netfilter::SaveParser parser(
      observed.rules,
      [](std::string_view table, std::string_view chain, bool built_in) {
        return built_in || chain == kFirewall || parse_shared(table, chain);
      },
      [&](std::string_view table, std::string_view chain, std::string_view target, std::uint64_t hash) {
        references.add_reference(table, chain, target, hash, observed);
      },
      [](std::string_view table, std::string_view chain) {
        if (table != "nat") return false;
        const auto id = parse_chain(chain);
        return id && comments_are_optional(id->kind);
      });
  session.list(parser);
  return observed;
}

bool ends_with(const netfilter::Chain& chain, const std::vector<netfilter::Rule>& tail) {
  if (chain.rules.size() < tail.size()) return false;
  const auto last = chain.rules.end() - static_cast<std::ptrdiff_t>(tail.size());
  return std::is_permutation(last, chain.rules.end(), tail.begin(), tail.end(),
                             [](const auto& a, const auto& b) { return a.hash == b.hash; });
}

netfilter::Drift find_drift(const State& state, const Observed& observed) {
  netfilter::Drift drift;
  netfilter::Canonicaliser canonicaliser;
  for (const Jump& jump : state.fixed.jumps) {
    netfilter::expect_rule(observed.rules, jump.table, jump.from, jump.text, canonicaliser, drift);
  }
  for (const KnownFixedChain& chain : state.fixed_chains) {
    netfilter::expect_content(observed.rules, chain.table, chain.name, chain.content, drift);
  }
  if (!state.fixed.firewall_rule.empty()) {
    const netfilter::Chain* firewall = observed.chain(Table::kFilter, kFirewall);
    if (firewall == nullptr || !netfilter::contains(*firewall, canonicaliser.hash(state.fixed.firewall_rule))) {
      drift.add([] { return std::string("the rule in filter KUBE-FIREWALL is gone"); });
    }
  }
  find_shared_drift(state, observed, drift);
  find_chain_drift(state, observed, drift);
  return drift;
}

}  // namespace sluice::iptables
