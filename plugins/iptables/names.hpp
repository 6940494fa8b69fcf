// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The chains of this backend by what it writes into them; names/chains.hpp has their names.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "names/chains.hpp"
#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/common/netfilter/masquerade_rules.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::iptables {

using netfilter::Table;

// Chains of one service port, all in table nat, in the order in which they may be removed: a
// chain is referenced only by earlier kinds.
enum class ChainKind : std::uint8_t {
  kFirewall = 0,  // KUBE-FW-: source ranges of a load balancer address
  kExternal = 1,  // KUBE-EXT-: entry of traffic from outside the cluster
  kCluster = 2,   // KUBE-SVC-: balances over the cluster list
  kLocal = 3,     // KUBE-SVL-: balances over the local list
  kEndpoint = 4,  // KUBE-SEP-: one endpoint
};
inline constexpr std::array kChainKinds = {ChainKind::kFirewall, ChainKind::kExternal, ChainKind::kCluster,
                                           ChainKind::kLocal, ChainKind::kEndpoint};
std::string_view prefix(ChainKind kind) noexcept;

// Whether rules of these chains may have no comments: kube-proxy omits them in big clusters.
bool comments_are_optional(ChainKind kind) noexcept;

struct ChainId {
  ChainKind kind;
  netfilter::ShortHash hash;
  auto operator<=>(const ChainId&) const = default;
};
std::string name(const ChainId& chain);
// Empty for the names of other chains.
std::optional<ChainId> parse_chain(std::string_view name);

// The input of the hashes: the printed name of the service port and its protocol.
std::string hash_input(std::string_view service_port_name, std::string_view protocol);
std::string hash_input(const abi::ServicePortKey& key);
// The inverse.
struct HashInput {
  std::string_view service_port_name;  // part of the input
  abi::Protocol protocol;
};
HashInput split_hash_input(std::string_view input) noexcept;

// Chains that hold rules of all service ports.
enum class SharedChain : std::uint8_t {
  kFilterServices = 0,   // KUBE-SERVICES: cluster addresses without endpoints
  kFilterExternal = 1,   // KUBE-EXTERNAL-SERVICES: external addresses without endpoints
  kFilterNodePorts = 2,  // KUBE-NODEPORTS: health check ports
  kFilterFirewall = 3,   // KUBE-PROXY-FIREWALL: what a KUBE-FW- chain did not accept
  kNatServices = 4,      // KUBE-SERVICES: dispatch by address
  kNatNodePorts = 5,     // KUBE-NODEPORTS: dispatch by node port
};
inline constexpr std::array kSharedChains = {SharedChain::kFilterServices,  SharedChain::kFilterExternal,
                                             SharedChain::kFilterNodePorts, SharedChain::kFilterFirewall,
                                             SharedChain::kNatServices,     SharedChain::kNatNodePorts};
Table table(SharedChain chain) noexcept;
std::string_view name(SharedChain chain) noexcept;
std::optional<SharedChain> parse_shared(std::string_view table, std::string_view name);

// Chains with fixed content.
using names::kCanary;
using names::kForward;
using names::kMarkMasquerade;
using names::kPostrouting;
// Shared with kubelet: one rule is added to it, and the chain is never removed.
inline constexpr std::string_view kFirewall = names::kKubeletFirewall;

// All chains of this backend but those of single service ports.
inline constexpr auto kOwnedChains = names::written_by<names::kIptables, names::kChains>();

// Whether only this backend, or a kube-proxy, writes to the chain.
bool is_ours(std::string_view table, std::string_view chain);

}  // namespace sluice::iptables
