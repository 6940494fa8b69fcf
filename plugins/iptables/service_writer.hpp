// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The difference of one service port, as lines of a restore.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

// What is in the kernel now; each part can be taken once.
class Present {
 public:
  virtual ~Present() = default;
  // The content of a chain; empty when there is no such chain.
  virtual std::optional<std::uint64_t> take_chain(const ChainId& chain) = 0;
  virtual bool take_rule(SharedChain chain, std::uint64_t hash) = 0;
};

// Rules in chains that are shared: written one by one, or by the caller, who only wants them taken from `present`.
enum class SharedRules { kInsert, kLeave };

// Adds to `input` what `plan` has and `present` has not; returns what is then known of
// the service port. What nobody took from `present` is for the caller to remove.
KnownService write_service(const ServicePlan& plan, Present& present, netfilter::Canonicaliser& canonicaliser,
                           netfilter::RestoreInput& input, SharedRules shared = SharedRules::kInsert);

// Removes a chain that nothing refers to any more, or not after this input.
void remove_chain(const ChainId& chain, netfilter::RestoreInput& input);

}  // namespace sluice::iptables
