// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which chains and rules there are: the fixed ones of a node, and those that many Services share. Pure; any thread.
// The shape and why: docs/decisions/0021-nftables.md.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/layout/rule.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Facts of the node that rules depend on. When they change, everything is compared anew.
struct LayoutFacts {
  abi::Family family = abi::Family::kIpv4;
  std::uint32_t masquerade_mark = 0;
  bool masquerade_all = false;
  bool node_ports_match_all = false;
  abi::LocalDetectorKind detector = abi::LocalDetectorKind::kNone;
  abi::Prefix detector_cidr{};
  std::string detector_interface;
  std::vector<abi::Prefix> service_cidrs;  // sorted; of this family
  bool counters = false;
  friend bool operator==(const LayoutFacts& a, const LayoutFacts& b);
};
LayoutFacts layout_facts(abi::Family family, const abi::NodeFacts& node, bool counters);

// What becomes of a connection to a frontend. Frontends with equal treatments share one chain, whatever their Service.
struct Treatment {
  enum class Kind : std::uint8_t {
    kCluster,        // one of the cluster list
    kLocal,          // one of the local list
    kExternal,       // the same as kCluster, masqueraded
    kExternalLocal,  // from pods of this node and the node itself one of the cluster list, from elsewhere of the local
                     // list
  };
  Kind kind = Kind::kCluster;
  bool node_port = false;
  std::uint32_t cluster = 0;  // length of the list; 0 where the kind does not use it, or there is none
  std::uint32_t local = 0;
  std::uint32_t affinity_seconds = 0;  // 0: none
  friend auto operator<=>(const Treatment&, const Treatment&) = default;
};

// "endpoints-3", "nodeport-external-local-3-1", "sticky-10800-external-3". No name is that of a fixed chain.
std::string chain_name(const Treatment& treatment);
// Whether a chain of this name may be one of ours that Services share, of treatments or of firewalls.
bool is_shared_chain(std::string_view name);
ChainSpec treatment_chain(const LayoutFacts& facts, const Treatment& treatment);
// Treatments whose chains the one of `treatment` goes to: they have to be there first.
std::vector<Treatment> depends_on(const Treatment& treatment);

// Clients outside of `allowed` (sorted, without duplicates) are dropped. The name stems from the list.
std::string firewall_chain_name(const std::vector<abi::Prefix>& allowed);
ChainSpec firewall_chain(const LayoutFacts& facts, const std::vector<abi::Prefix>& allowed);

// All fixed chains, in an order in which each may refer to those before it. Base chains are last.
std::vector<ChainSpec> fixed_chains(const LayoutFacts& facts);

}  // namespace sluice::nftables
