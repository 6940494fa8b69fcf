// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which iptables to call. A node may have two of them: one that speaks to nf_tables and
// the old one with tables of its own. Rules in both are a mess, so we follow whoever
// was there first: kubelet, which leaves a chain as a hint in table mangle; then whoever
// has written more rules; then the distribution, which says what plain "iptables" is.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/process/command.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

enum class Variant { kNft, kLegacy };

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  auto operator<=>(const Version&) const = default;
};

// What iptables-restore does about a lock that somebody else holds.
enum class RestoreWait {
  kSeconds,  // from 1.6.2: waits as long as it is told
  kForever,  // between: waits for it
  kNot,      // older: knows no lock, so whoever calls it holds the lock
};

struct Tools {
  std::string restore;  // absolute paths
  std::string save;
  std::string program;
  Variant variant = Variant::kNft;
  Version version;
  RestoreWait wait = RestoreWait::kSeconds;
  std::string why;      // these were chosen: "kubelet uses them"
  std::string warning;  // empty when all is well

  bool has_random_fully() const noexcept { return version >= Version{1, 6, 2}; }
};

struct VersionLine {
  Version version;
  Variant variant;
};

// "iptables v1.8.9 (nf_tables)"; without parentheses it is the old one.
std::optional<VersionLine> parse_version(std::string_view text);

// What the choice depends on; replaced in tests.
struct Surroundings {
  std::function<std::string(std::string_view)> find_program;
  std::function<process::Outcome(const process::Command&)> run;
  // Names of the tables the old iptables holds, one per line; asking the old tools
  // themselves would load their kernel modules.
  std::function<std::string(abi::Family)> legacy_tables;

  static Surroundings of_this_node();
};

// Throws sdk::Failure (kUnsupported) that names what to install.
Tools find_tools(abi::Family family, const Surroundings& node);

// The tools of each variant that may have rules here, for taking rules away wherever they
// are. None at all is no failure. The old one counts only where its tables are: asking it
// would load them.
std::vector<Tools> find_all_tools(abi::Family family, const Surroundings& node);

// "iptables 1.8.9 (nf_tables), /usr/sbin/iptables-nft-restore, because …": for the log.
std::string describe(const Tools& tools);

}  // namespace sluice::netfilter
