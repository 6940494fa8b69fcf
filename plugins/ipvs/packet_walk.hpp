// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows a packet through our chains as the kernel does. Only rules in our chains are evaluated: those of other
// programs, and conditions that this backend does not write, never match. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/ipvs/inspection.hpp"
#include "plugins/ipvs/rules/rule_comparison.hpp"

namespace sluice::ipvs {

struct TracedPacket {
  abi::Address source{};
  abi::Address destination{};
  std::uint16_t port = 0;
  abi::Protocol protocol{};
  bool of_pod = false;                // arrives at the interface of a pod of this node
  bool marked = false;                // for masquerading
  std::optional<ServerKey> server{};  // that has chosen the destination
};

// A rule that a packet has matched.
struct RuleHit {
  netfilter::Table table{};
  std::string chain;
  std::string rule;
  std::string target;
  bool marks = false;  // leads to the mark for masquerading
};

class PacketWalk {
 public:
  enum class Fate : std::uint8_t { kPasses, kAccepted, kDropped, kRejected, kMasqueraded };

  // `local`: addresses of this node. All outlive this.
  PacketWalk(const KernelState& kernel, const std::set<abi::Address>& local, abi::Family family)
      : kernel_(kernel), local_(local), family_(family), reader_(family) {}

  bool is_local(const abi::Address& address) const;
  // Walks one of our jumps after the other from a built-in chain. Adds the rules that decide something.
  Fate walk(netfilter::Table table, std::string_view chain, TracedPacket& packet, std::vector<RuleHit>& hits);
  // Of the chains walked so far, the rules and jumps of `comparison` whose absence has changed the path. Sorted.
  std::vector<std::string> missing_rules(const RuleComparison& comparison);

 private:
  // A chain, when the packet entered it.
  struct Visit {
    TracedPacket packet;
    bool ended;  // by a rule of the chain
  };

  Fate walk_ours(netfilter::Table table, const std::string& chain, TracedPacket& packet, std::vector<RuleHit>& hits);
  Fate follow(const RuleHit& rule, TracedPacket& packet, std::vector<RuleHit>& hits);
  bool matches(const netfilter::RuleFields& rule, const TracedPacket& packet) const;
  bool in_set(const netfilter::RuleFields& rule, const TracedPacket& packet) const;
  bool matters(const RuleComparison::Missing& jump, TracedPacket packet);

  const KernelState& kernel_;
  const std::set<abi::Address>& local_;
  const abi::Family family_;
  netfilter::RuleReader reader_;
  std::map<std::pair<netfilter::Table, std::string>, Visit> visits_;
};

}  // namespace sluice::ipvs
