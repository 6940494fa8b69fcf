// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Computes the rules of service ports. Pure. The text of the rules is byte for byte that of
// kube-proxy.
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

// The node facts that the rules of a service port depend on.
struct PlanFacts {
  abi::Family family = abi::Family::kIpv4;
  bool masquerade_all = false;
  netfilter::LocalMatch local;
  abi::Address node_ip{};

  bool operator==(const PlanFacts&) const = default;
};

// Decisions of the backend.
struct PlanChoices {
  // Write comments to the rules of single endpoints; off in a big cluster.
  bool endpoint_comments = true;
  // The nfacct counter of packets to node ports on 127.0.0.0/8; empty: none.
  std::string_view localhost_counter;
};
// A cluster with more endpoints, over all service ports, is big.
inline constexpr std::size_t kBigCluster = 1000;
// Throws sdk::Failure (kInvalid) for an invalid interface name.
PlanFacts plan_facts(abi::Family family, const abi::NodeFacts& node);

struct PlannedRule {
  static constexpr std::uint32_t kShared = ~std::uint32_t{0};
  std::uint32_t chain;  // index in ServicePlan::chains, or kShared
  SharedChain shared;   // for kShared
  std::string text;     // without the name of the chain
  bool before_next = false;  // must be above the next rule; otherwise any order works
};

// The chains and rules of one service port, rules in the order in which they are written.
struct ServicePlan {
  std::vector<ChainId> chains;
  std::vector<PlannedRule> rules;
  std::uint32_t endpoints = 0;  // used or not
  // Traffic policy Local, and there are endpoints but none on this node.
  bool internal_without_local_endpoints = false;
  bool external_without_local_endpoints = false;
};
// Throws sdk::Failure (kInvalid) for a name that cannot be written into a rule.
ServicePlan plan_service(const abi::ServicePort& port, const PlanFacts& facts, const PlanChoices& choices = {});

}  // namespace sluice::iptables
