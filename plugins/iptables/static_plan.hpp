// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rules that do not depend on service ports: jumps from the built-in chains, masquerading,
// forwarding, and the addresses of node ports. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/exact_chain.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/abi/node.hpp"

namespace sluice::iptables {

struct Jump {
  Table table;
  std::string_view from;  // a built-in chain
  std::string text;
  bool removable;  // false: shared with kubelet, never removed
};

struct StaticPlan {
  // In the order of insertion at position 1, so the last one of a chain ends up first.
  std::vector<Jump> jumps;
  // Chains with fixed content.
  std::vector<netfilter::ExactChain> chains;
  // The last rules of nat KUBE-SERVICES, so that service addresses win over node ports.
  std::vector<std::string> tail;
  // One rule for filter KUBE-FIREWALL, which kubelet shares; empty if not needed.
  std::string firewall_rule;
};

std::vector<Jump> plan_jumps();
std::vector<std::string> plan_tail(abi::Family family, const abi::NodeFacts& node);
// Node port addresses that cannot work: loopback addresses that the kernel does not route.
std::vector<std::string> unusable_node_port_addresses(abi::Family family, const abi::NodeFacts& node);
// `invalid_counter`: the nfacct counter of dropped INVALID packets; empty: none.
StaticPlan plan_static(abi::Family family, const abi::NodeFacts& node, bool random_fully,
                       std::string_view invalid_counter = {});

// Whether node ports are served on 127.0.0.0/8, which requires the sysctl route_localnet.
bool serves_localhost(abi::Family family, const abi::NodeFacts& node) noexcept;

}  // namespace sluice::iptables
