// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the kernel's rules with iptables-save and compares them with the written state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plugins/common/netfilter/drift.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

struct Observed {
  netfilter::Ruleset rules;
  // Own chains that foreign rules reference, so that they cannot be removed.
  std::set<std::string, std::less<>> held;

  const netfilter::Chain* chain(Table table, std::string_view name) const {
    return rules.chain(netfilter::table_name(table), name);
  }
};

// Throws sdk::Failure if the tool fails or its output is truncated.
Observed observe(netfilter::KernelSession& session);

// The chains and rules of `state` that are missing or changed in the kernel.
netfilter::Drift find_drift(const State& state, const Observed& observed);

// Whether the last rules of `chain` are exactly `tail`, in any order.
bool ends_with(const netfilter::Chain& chain, const std::vector<netfilter::Rule>& tail);

}  // namespace sluice::iptables
