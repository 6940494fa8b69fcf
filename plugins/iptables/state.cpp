// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/state.hpp"

#include <utility>

namespace sluice::iptables {

const KnownService* State::find(std::string_view key) const {
  const auto found = services_.find(key);
  return found == services_.end() ? nullptr : &found->second;
}

void State::put(const std::string& key, KnownService service) {
  take(key);
  count(service, true);
  services_.emplace(key, std::move(service));
}

std::optional<KnownService> State::take(std::string_view key) {
  const auto found = services_.find(key);
  if (found == services_.end()) return std::nullopt;
  KnownService service = std::move(found->second);
  services_.erase(found);
  count(service, false);
  return service;
}

void State::count(const KnownService& service, bool more) {
  const auto add = [more](std::size_t& total, std::size_t number) { total = more ? total + number : total - number; };
  add(of_services_.chains, service.chains.size());
  add(of_services_.nat_rules, service.chain_rules);
  add(of_services_.endpoints, service.endpoints);
  add(of_services_.internal_without_local_endpoints, service.internal_without_local_endpoints);
  add(of_services_.external_without_local_endpoints, service.external_without_local_endpoints);
  for (const KnownRule& known : service.shared) {
    add(table(known.chain) == Table::kNat ? of_services_.nat_rules : of_services_.filter_rules, 1);
  }
}

Totals State::totals() const {
  Totals totals = of_services_;
  totals.chains += kSharedChains.size() + fixed_chains.size();
  totals.nat_rules += tail.size();
  totals.filter_rules += fixed.firewall_rule.empty() ? 0 : 1;
  for (const Jump& jump : fixed.jumps) ++(jump.table == Table::kNat ? totals.nat_rules : totals.filter_rules);
  for (const netfilter::ExactChain& chain : fixed.chains) {
    (chain.table == Table::kNat ? totals.nat_rules : totals.filter_rules) += chain.rules.size();
  }
  return totals;
}

}  // namespace sluice::iptables
