// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The chains and rules: the fixed ones of a node, and those that Services share. Pure; any thread. The design:
// docs/decisions/0021-nftables.md.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/layout/rule.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Node facts that rules depend on. A change requires a full comparison.
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
  bool offload = false;
  // Whether sets list all frontends: of `counters`, or the chain of `offload`.
  bool lists_frontends() const noexcept { return counters || offload; }
  friend bool operator==(const LayoutFacts& a, const LayoutFacts& b);
};
LayoutFacts layout_facts(abi::Family family, const abi::NodeFacts& node, bool counters, bool offload = false);

// The flowtable, and the chain that adds flows to it. Both exist only with `offload`.
inline constexpr char kFlowtableName[] = "service-flows";
inline constexpr char kOffloadChain[] = "offload-flows";  // "offload" is a word of nft
inline constexpr char kClusterIpsCheck[] = "cluster-ips-check";

// How connections to a frontend are handled. All frontends of one class share a chain, whatever their Service.
struct ServiceClass {
  enum class Kind : std::uint8_t {
    kCluster,        // to an endpoint of the cluster list
    kLocal,          // to an endpoint of the local list
    kExternal,       // as kCluster, masqueraded
    kExternalLocal,  // clients on this node: to the cluster list, other clients: to the local list
  };
  Kind kind = Kind::kCluster;
  bool node_port = false;
  std::uint32_t cluster = 0;  // length of the list; 0 if it is empty or the kind does not use it
  std::uint32_t local = 0;
  std::uint32_t affinity_seconds = 0;  // 0: none
  friend auto operator<=>(const ServiceClass&, const ServiceClass&) = default;
};

// "endpoints-3", "nodeport-external-local-3-1", "sticky-10800-external-3". Never the name of a fixed chain.
std::string chain_name(const ServiceClass& service_class);
// Whether the name is that of a shared chain, of a service class or a firewall.
bool is_shared_chain(std::string_view name);
ChainSpec class_chain(const LayoutFacts& facts, const ServiceClass& service_class);
// Service classes whose chains the chain of `service_class` refers to: they must exist before it.
std::vector<ServiceClass> depends_on(const ServiceClass& service_class);

// Drops clients outside of `allowed` (sorted and unique). The name is a hash of the list.
std::string firewall_chain_name(const std::vector<abi::Prefix>& allowed);
ChainSpec firewall_chain(const LayoutFacts& facts, const std::vector<abi::Prefix>& allowed);

// All fixed chains; each refers to earlier ones only, and base chains are last.
std::vector<ChainSpec> fixed_chains(const LayoutFacts& facts);

}  // namespace sluice::nftables
