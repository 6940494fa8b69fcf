// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The short fixed iptables part (BEH 6.8): chains, jumps, and rules that depend on which sets have entries. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "names/jumps.hpp"
#include "plugins/common/netfilter/exact_chain.hpp"
#include "plugins/common/netfilter/local_match.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/ipvs/server_types.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"
#include "sluice/abi/node.hpp"

namespace sluice::ipvs {

// The inputs of the rules.
struct RuleFacts {
  abi::Family family{};
  std::uint32_t mark = 0;
  bool masquerade_all = false;
  netfilter::LocalMatch local;  // pods of this node
  bool random_fully = false;
  bool operator==(const RuleFacts&) const = default;
};
// Throws sdk::Failure (kInvalid) for an invalid interface name.
RuleFacts rule_facts(abi::Family family, const abi::NodeFacts& node, bool random_fully);

using RuleChain = netfilter::ExactChain;
struct RuleJump {
  netfilter::Table table;
  std::string_view from;  // a built-in chain; inserted at the top
  std::string rule;
};
struct RulePlan {
  std::vector<RuleJump> jumps;  // in the order in which they are inserted at position 1
  std::vector<RuleChain> chains;
};
// The same for every configuration.
std::vector<RuleJump> plan_jumps();
RuleJump rule_jump(const names::Jump& jump);

// `filled`: bit SetId of each set with entries; BEH 6.8 omits rules of empty sets. `closed`: load balancer addresses
// that the node itself must not use (KUBE-IPVS-OUT-FILTER), sorted.
RulePlan plan_rules(const RuleFacts& facts, std::uint32_t filled, const std::set<ServerKey>& closed);

// The only chain that grows with the cluster.
inline constexpr std::string_view kOutFilterChain = names::kIpvsOutFilter;
std::string out_filter_rule(const ServerKey& closed, abi::Family family);

// In table nat. Must exist while addresses are bound, whichever backend serves them.
inline constexpr std::string_view kHandoverChain = names::kHandover;

// Every chain of ours. Iptables mode has chains of the same name with other rules.
inline constexpr auto kOwnedChains = names::written_by<names::kIpvs, names::kChains>();
bool is_owned(netfilter::Table table, std::string_view chain);

}  // namespace sluice::ipvs
