// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The wanted state of the kernel as the writer stores it: text and hash of each rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/submitter.hpp"
#include "plugins/userspace/portal/portal_listing.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"

namespace sluice::userspace {

// The rules of one service port, by chain, in order.
using WantedPortal = std::array<std::vector<netfilter::Rule>, kPortalChains.size()>;
std::size_t count_rules(const WantedPortal& portal) noexcept;
std::vector<std::uint64_t> hashes_of(const std::vector<netfilter::Rule>& rules);

struct WantedJump {
  netfilter::Table table;
  std::string from;
  netfilter::Rule rule;
  bool first;
};

struct WantedPortals {
  std::vector<WantedJump> jumps;
  std::map<PortalId, WantedPortal> portals;
};

// Which jumps are in place: they exist, and appended jumps are behind prepended ones.
struct JumpsInPlace {
  std::vector<bool> wanted;  // by index in WantedPortals::jumps
  std::vector<bool> needed;  // by index in PortalJumps::ours
};
JumpsInPlace compare_jumps(const std::vector<WantedJump>& wanted, const std::vector<PortalJump>& present);

// Reads the kernel once, adds missing rules and removes unwanted ones. Returns false if the kernel refused rules (the
// submitter knows of which service ports): then it must be repeated without these.
// Throws sdk::Failure, which leaves an intermediate state.
bool reconcile_once(netfilter::KernelSession& session, netfilter::Submitter& submitter, const WantedPortals& wanted);

}  // namespace sluice::userspace
