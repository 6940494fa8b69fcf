// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The short fixed iptables part (BEH 6.8): chains, jumps, and rules that depend on which sets have
// entries. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/restore.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"
#include "plugins/ipvs/values.hpp"
#include "sluice/abi/node.hpp"

namespace sluice::ipvs {

// What the rules depend on.
struct RuleFacts {
  abi::Family family{};
  std::uint32_t mark = 0;
  bool masquerade_all = false;
  abi::LocalDetectorKind detector = abi::LocalDetectorKind::kNone;
  abi::Prefix detector_cidr{};
  std::string detector_interface;
  bool random_fully = false;
  bool operator==(const RuleFacts&) const = default;
};
// Throws sdk::Failure (kInvalid) for an interface name that could not be one.
RuleFacts rule_facts(abi::Family family, const abi::NodeFacts& node, bool random_fully);

struct RuleChain {
  netfilter::Table table;
  std::string name;
  std::vector<std::string> rules;  // exactly these, in this order
};
struct RuleJump {
  netfilter::Table table;
  std::string_view from;  // a built-in chain; inserted at the top
  std::string rule;
};
struct RulePlan {
  std::vector<RuleJump> jumps;   // in the order in which they are inserted at position 1
  std::vector<RuleChain> chains;
};

// `filled`: bit number SetId of sets with entries; rules of empty sets are left out where BEH 6.8 says so.
// `closed`: load balancer addresses the node itself may not use (KUBE-IPVS-OUT-FILTER), sorted.
RulePlan plan_rules(const RuleFacts& facts, std::uint32_t filled, const std::set<ServerKey>& closed);

// Every chain of ours, also those of the other table of the same name.
struct OwnedChain {
  netfilter::Table table;
  std::string_view name;
};
std::vector<OwnedChain> owned_chains();

}  // namespace sluice::ipvs
