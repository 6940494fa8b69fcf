// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One look at the kernel: what is in the chains of portals, and what leads there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"

namespace sluice::userspace {

// Index in kPortalChains; empty for any other chain.
std::optional<std::size_t> find_portal_chain(std::string_view table, std::string_view chain);

struct PortalLook {
  netfilter::Ruleset rules;  // texts of our chains and of the built-in ones
  // Chains of ours that rules in somebody else's chain point to, as indices in kPortalChains.
  std::set<std::size_t> held;

  // Null when there is none.
  const netfilter::Chain* chain(std::size_t index) const;
};
// Throws sdk::Failure when the tool fails or its output is cut off.
PortalLook look_at_portals(netfilter::KernelSession& session);

// What a rule in one of our chains says of itself.
struct PortalRuleText {
  std::string comment;
  std::string protocol;
  std::string target;
  std::uint16_t proxy_port = 0;  // of REDIRECT and DNAT
};
PortalRuleText read_portal_rule(std::string_view rule);

// A rule in a built-in chain by which this backend, or the original, leads packets into a chain of ours.
struct PortalJump {
  netfilter::Table table;
  std::string from;
  std::size_t position;  // in its chain
  std::size_t to;        // index in kPortalChains
  netfilter::Rule rule;
};
struct PortalJumps {
  std::vector<PortalJump> ours;
  std::set<std::size_t> foreign;  // chains that other rules of built-in chains lead to
};
PortalJumps find_jumps(const PortalLook& look);

}  // namespace sluice::userspace
