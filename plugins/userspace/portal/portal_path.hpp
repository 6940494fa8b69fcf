// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The way of a packet through portal rules. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/userspace/portal/portal_listing.hpp"

namespace sluice::userspace {

// A rule that matches the packet.
struct PathStep {
  netfilter::Table table;
  std::string_view chain;
  const netfilter::Rule* rule;
  std::string target;
  std::string comment;
};
// "nat -A KUBE-PORTALS-HOST …".
std::string text_of(const PathStep& step);

// Views point into the listing.
struct PortalPath {
  // In the order in which the packet reaches them. A jump is listed only if a rule behind it matches.
  std::vector<PathStep> steps;
  enum class End : std::uint8_t { kPassed, kDropped, kRejected };
  End end = End::kPassed;
  bool to_this_node = false;         // it ends at a socket of this node
  std::uint16_t proxy_port = 0;      // of the rule that redirects it; 0: none does
  std::vector<std::string> unknown;  // rules that cannot be evaluated; they count as not matching
};

using IsLocalAddress = std::function<bool(const abi::Address&)>;
// `is_local`: whether an address is of this node. Rules of other programs in built-in chains are ignored.
PortalPath follow(const PortalListing& listing, const inspection::Packet& packet, const IsLocalAddress& is_local);

}  // namespace sluice::userspace
