// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A listing of the portal chains in the kernel, and of the rules that jump to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/common/netfilter/save_reader.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"

namespace sluice::userspace {

// Index in kPortalChains; empty for any other chain.
std::optional<std::size_t> find_portal_chain(std::string_view table, std::string_view chain);

// "34567", "10.0.0.1:34567", "[fd00::1]:34567"; 0 if there is none.
std::uint16_t proxy_port_of(std::string_view text);

struct PortalListing {
  netfilter::Ruleset rules;  // of the portal chains and the built-in chains
  // Portal chains that rules in foreign chains jump to, as indices in kPortalChains.
  std::set<std::size_t> foreign_references;
  // By chain, "nat PREROUTING": what its rules have matched, in their order. Only if the listing has counters.
  std::map<std::string, std::vector<netfilter::Counts>, std::less<>> counts;

  // Null when there is none.
  const netfilter::Chain* chain(std::size_t index) const;
};
// Throw sdk::Failure when the tool fails or its output is cut off.
PortalListing list_portals(netfilter::KernelSession& session);
// With counters, and without recording; see KernelSession::read().
PortalListing read_portals(netfilter::KernelSession& session);
// Of a rule of that chain; empty if they are unknown.
std::optional<netfilter::Counts> counts_of(const PortalListing& listing, netfilter::Table table, std::string_view chain,
                                           const netfilter::Rule& rule);

// The parts of a rule in a portal chain that identify it.
struct PortalRuleText {
  std::string comment;
  std::string protocol;
  std::string target;
  std::uint16_t proxy_port = 0;  // of REDIRECT and DNAT
};
PortalRuleText read_portal_rule(std::string_view rule);

// A jump from a built-in chain to a portal chain.
struct PortalJump {
  netfilter::Table table;
  std::string from;
  std::size_t position;  // in its chain
  std::size_t to;        // index in kPortalChains
  netfilter::Rule rule;
};
struct PortalJumps {
  std::vector<PortalJump> ours;     // written by this backend or by kube-proxy
  std::vector<PortalJump> foreign;  // of other programs
};
PortalJumps find_jumps(const PortalListing& listing);

}  // namespace sluice::userspace
