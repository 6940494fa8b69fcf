// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the rules in the kernel with those written last. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/userspace/portal/portal_listing.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::userspace {

struct WantedPortals;

enum class DifferentObject : std::uint8_t { kChain, kJump, kRule };

struct PortalDifference {
  abi::DriftKind kind;
  DifferentObject object;
  netfilter::Table table;
  std::string_view chain;  // of a jump or rule: the chain that contains it
  // Null: there is none. Equal rules: it is above a rule that must precede it.
  const netfilter::Rule* wanted = nullptr;
  const netfilter::Rule* found = nullptr;
  const PortalId* of = nullptr;  // the service port that needs the rule, or whose rule was replaced; null: none
  bool implied = false;          // the whole chain is missing
};
// Whether a full transaction is needed to repair it.
bool needs_repair(const PortalDifference& difference) noexcept;
using VisitDifference = std::function<void(const PortalDifference&)>;

void each_difference(const WantedPortals& wanted, const PortalListing& listing, const VisitDifference& visit);

// A phrase; empty if nothing needs repair.
std::optional<std::string> describe_drift(const WantedPortals& wanted, const PortalListing& listing);

}  // namespace sluice::userspace
