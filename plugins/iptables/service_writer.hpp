// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes the changed chains and rules of one service port.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

// The chains and rules in the kernel. Each can be taken once; the caller removes those that are not taken.
class Present {
 public:
  virtual ~Present() = default;
  // The content of a chain; empty if there is no such chain.
  virtual std::optional<std::uint64_t> take_chain(const ChainId& chain) = 0;
  virtual bool take_rule(SharedChain chain, std::uint64_t hash) = 0;
};

// Rules in shared chains: kInsert writes them one by one; kLeave only takes them from `present`, and the caller writes
// them.
enum class SharedRules { kInsert, kLeave };

// Adds the chains and rules of `plan` that are missing in `present` to `input`, and takes all of
// them from `present`. Returns the resulting state of the service port.
KnownService write_service(const ServicePlan& plan, Present& present, netfilter::Canonicaliser& canonicaliser,
                           netfilter::RestoreInput& input, SharedRules shared = SharedRules::kInsert);

// Removes a chain that is unreferenced, at the latest after this input.
void remove_chain(const ChainId& chain, netfilter::RestoreInput& input);

}  // namespace sluice::iptables
