// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Selects the iptables variant. A node may have two: iptables-nft, and legacy iptables with
// tables of its own. Packets pass both, so the variant in use is selected: first the one with
// kubelet's hint chain in table mangle, then the one with more rules, then the one that the
// distribution installs as "iptables".
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/program.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

enum class Variant { kNft, kLegacy };

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  auto operator<=>(const Version&) const = default;
};

// What iptables-restore does if another process holds the lock.
enum class RestoreWait {
  kSeconds,  // from 1.6.2: waits up to a given time
  kForever,  // in between: waits without a limit
  kNot,      // older: no locking, so the caller must hold the lock
};

struct Tools {
  std::string restore;  // absolute paths
  std::string save;
  std::string program;
  Variant variant = Variant::kNft;
  Version version;
  RestoreWait wait = RestoreWait::kSeconds;
  std::string why;      // reason for the selection, for the log
  std::string warning;  // empty: none

  bool has_random_fully() const noexcept { return version >= Version{1, 6, 2}; }
};

struct VersionLine {
  Version version;
  Variant variant;
};

// "iptables v1.8.9 (nf_tables)"; without parentheses it is the legacy variant.
std::optional<VersionLine> parse_version(std::string_view text);

// The node as far as the selection depends on it; replaced in tests.
struct NodePrograms {
  std::function<std::string(std::string_view)> find_program;
  std::function<lib::Result<lib::ProgramResult>(const lib::Program&)> run;
  // Names of the legacy tables in the kernel, one per line. Running the legacy tools would load
  // their kernel modules.
  std::function<std::string(abi::Family)> legacy_tables;

  static NodePrograms of_this_node();
};

// Throws sdk::Failure (kUnsupported) that names the package to install.
Tools find_tools(abi::Family family, const NodePrograms& node);

// The tools of each variant that may have rules on this node, for cleanup. The result may be
// empty. Legacy tools are included only if their tables exist, since running them would
// create these.
std::vector<Tools> find_all_tools(abi::Family family, const NodePrograms& node);

// "iptables 1.8.9 (nf_tables), /usr/sbin/iptables-nft-restore, because …": for the log.
std::string describe(const Tools& tools);

}  // namespace sluice::netfilter
