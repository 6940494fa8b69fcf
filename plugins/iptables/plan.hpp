// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From service ports to rules. Pure: same input, same bytes; no kernel, no state.
// The text of the rules is that of kube-proxy, to the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/local_match.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {

// What the rules of a service port depend on besides the service port itself.
struct PlanFacts {
  abi::Family family = abi::Family::kIpv4;
  bool masquerade_all = false;
  netfilter::LocalMatch local;
  abi::Address node_ip{};

  bool operator==(const PlanFacts&) const = default;
};

// What the backend decides by itself.
struct PlanChoices {
  // Comments on the rules of single endpoints, which a big cluster does without.
  bool endpoint_comments = true;
  // Packets to node ports on 127.0.0.0/8 are counted by this counter; empty: they are not.
  std::string_view localhost_counter;
};
// Above this many endpoints of all service ports a cluster is big.
inline constexpr std::size_t kBigCluster = 1000;
// Throws sdk::Failure (kInvalid) for an interface name that could not be one.
PlanFacts plan_facts(abi::Family family, const abi::NodeFacts& node);

struct PlannedRule {
  static constexpr std::uint32_t kShared = ~std::uint32_t{0};
  std::uint32_t chain;  // index in ServicePlan::chains, or kShared
  SharedChain shared;   // for kShared
  std::string text;     // what follows the name of the chain
  bool before_next = false;  // its place is above the next one, not just anywhere
};

// Everything one service port needs, rules in the order in which they are written.
struct ServicePlan {
  std::vector<ChainId> chains;
  std::vector<PlannedRule> rules;
  std::uint32_t endpoints = 0;  // what the service port has, used or not
  // There are endpoints, but none on this node although policy Local wants one.
  bool no_local_internal = false;
  bool no_local_external = false;
};
// Throws sdk::Failure (kInvalid) when a name could not be written into a rule.
ServicePlan plan_service(const abi::ServicePort& port, const PlanFacts& facts, const PlanChoices& choices = {});

}  // namespace sluice::iptables
