// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One look at the kernel through iptables-save, and its comparison with what we know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plugins/common/netfilter/damage.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

struct Observed {
  netfilter::Ruleset rules;
  // Chains of ours that rules of somebody else point to: these cannot be removed.
  std::set<std::string, std::less<>> held;

  const netfilter::Chain* chain(Table table, std::string_view name) const {
    return rules.chain(netfilter::table_name(table), name);
  }
};

// Throws sdk::Failure when the tool fails or its output is cut off.
Observed observe(netfilter::KernelSession& session);

// What of `state` is not in the kernel any more.
netfilter::Damage find_damage(const State& state, const Observed& seen);

// The rules at the end of nat KUBE-SERVICES are exactly `tail`, in any order.
bool ends_with(const netfilter::Chain& chain, const std::vector<netfilter::Rule>& tail);

}  // namespace sluice::iptables
