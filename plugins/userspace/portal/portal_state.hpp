// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is to be in the kernel, as the writer keeps it: text and hash of each rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plugins/common/netfilter/damage.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/submitter.hpp"
#include "plugins/userspace/portal/portal_look.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"

namespace sluice::userspace {

// Rules of one service port, by chain, in order.
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

// Which jumps are in place: there, and those that are appended behind those that are prepended.
struct JumpsInPlace {
  std::vector<bool> wanted;  // of WantedPortals::jumps
  std::vector<bool> needed;  // of PortalJumps::ours
};
JumpsInPlace compare_jumps(const std::vector<WantedJump>& wanted, const std::vector<PortalJump>& present);

// Reads the kernel once and writes what is missing or too much. False: something was refused (the submitter knows
// whose) and not everything has been put right; without those it has to be done again.
// Throws sdk::Failure, which leaves a state between.
bool reconcile_once(netfilter::KernelSession& session, netfilter::Submitter& submitter, const WantedPortals& wanted);

netfilter::Damage compare(const WantedPortals& wanted, const PortalLook& look);

}  // namespace sluice::userspace
