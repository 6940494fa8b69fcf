// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rules that do not depend on any service port: how packets get to our chains, what
// marks mean, what may be forwarded, which addresses serve node ports. Pure.
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
  bool removable;  // false: shared with kubelet, stays when we go
};

struct StaticPlan {
  // In the order in which they are inserted at position 1, so the last one of a chain
  // ends up first.
  std::vector<Jump> jumps;
  // Chains whose content is exactly this.
  std::vector<netfilter::ExactChain> chains;
  // The end of nat KUBE-SERVICES: service addresses win over node ports.
  std::vector<std::string> tail;
  // One rule for filter KUBE-FIREWALL, which is not ours alone; empty when not needed.
  std::string firewall_rule;
};

std::vector<Jump> plan_jumps();
std::vector<std::string> plan_tail(abi::Family family, const abi::NodeFacts& node);
// Node port addresses that cannot work: loopback where the kernel does not route it.
std::vector<std::string> unusable_node_port_addresses(abi::Family family, const abi::NodeFacts& node);
// `invalid_counter` counts INVALID packets that are dropped; empty: they are not counted.
StaticPlan plan_static(abi::Family family, const abi::NodeFacts& node, bool random_fully,
                       std::string_view invalid_counter = {});

// Node ports answer on 127.0.0.0/8, which takes the sysctl route_localnet.
bool serves_localhost(abi::Family family, const abi::NodeFacts& node) noexcept;

}  // namespace sluice::iptables
