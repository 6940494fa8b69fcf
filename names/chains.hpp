// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains of iptables. Scripts, dashboards and a kube-proxy that is started again rely on these names: they must never
// change.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "names/modes.hpp"

namespace sluice::names {

enum class Table : unsigned char { kFilter = 0, kNat = 1, kMangle = 2 };

constexpr std::string_view table_name(Table table) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"filter", "nat", "mangle"};
  return kNames[static_cast<std::size_t>(table)];
}

constexpr std::optional<Table> parse_table(std::string_view name) noexcept {
  for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) {
    if (table_name(table) == name) return table;
  }
  return std::nullopt;
}

inline constexpr std::string_view kServices = "KUBE-SERVICES";
inline constexpr std::string_view kNodePorts = "KUBE-NODEPORTS";
inline constexpr std::string_view kPostrouting = "KUBE-POSTROUTING";
inline constexpr std::string_view kMarkMasquerade = "KUBE-MARK-MASQ";
inline constexpr std::string_view kForward = "KUBE-FORWARD";
inline constexpr std::string_view kProxyFirewall = "KUBE-PROXY-FIREWALL";
inline constexpr std::string_view kExternalServices = "KUBE-EXTERNAL-SERVICES";
inline constexpr std::string_view kCanary = "KUBE-PROXY-CANARY";
inline constexpr std::string_view kNodePort = "KUBE-NODE-PORT";
inline constexpr std::string_view kLoadBalancerChain = "KUBE-LOAD-BALANCER";
inline constexpr std::string_view kHandover = "KUBE-IPVS-HANDOVER";
inline constexpr std::string_view kSourceRanges = "KUBE-SOURCE-RANGES-FIREWALL";
inline constexpr std::string_view kIpvsFilter = "KUBE-IPVS-FILTER";
inline constexpr std::string_view kIpvsOutFilter = "KUBE-IPVS-OUT-FILTER";
inline constexpr std::string_view kPortalsContainer = "KUBE-PORTALS-CONTAINER";
inline constexpr std::string_view kPortalsHost = "KUBE-PORTALS-HOST";
inline constexpr std::string_view kNodePortContainer = "KUBE-NODEPORT-CONTAINER";
inline constexpr std::string_view kNodePortHost = "KUBE-NODEPORT-HOST";
inline constexpr std::string_view kNodePortNonLocal = "KUBE-NODEPORT-NON-LOCAL";
inline constexpr std::string_view kPortalsFirewall = "KUBE-PORTALS-FIREWALL";

struct Chain {
  Table table;
  std::string_view name;
  Modes modes;
  Writer writer;
};
// The rows of a mode are in the order in which its backend declares the chains.
//
// Old kubelets made nat KUBE-POSTROUTING and KUBE-MARK-MASQ too. They create them again periodically, and kube-proxy
// --cleanup removes them as well.
inline constexpr std::array kChains = {
    Chain{Table::kNat, kServices, kIptables | kIpvs, Writer::kBoth},          // dispatch by address, or marking
    Chain{Table::kNat, kNodePorts, kIptables, Writer::kBoth},                 // dispatch by node port
    Chain{Table::kNat, kPostrouting, kIptables | kIpvs, Writer::kBoth},       // masquerades marked packets
    Chain{Table::kNat, kNodePort, kIpvs, Writer::kBoth},                      // marks packets to node ports
    Chain{Table::kNat, kLoadBalancerChain, kIpvs, Writer::kBoth},             // marks packets to load balancers
    Chain{Table::kNat, kMarkMasquerade, kIptables | kIpvs, Writer::kBoth},    // sets the mark
    Chain{Table::kNat, kHandover, kIpvs, Writer::kBackend},                   // masquerades for another backend
    Chain{Table::kNat, kPortalsContainer, kUserspace, Writer::kBoth},         // redirects packets that arrive
    Chain{Table::kNat, kPortalsHost, kUserspace, Writer::kBoth},              // redirects packets of this node
    Chain{Table::kNat, kNodePortContainer, kUserspace, Writer::kBoth},        // node ports: packets that arrive
    Chain{Table::kNat, kNodePortHost, kUserspace, Writer::kBoth},             // node ports: packets of this node
    Chain{Table::kNat, kCanary, kIptables, Writer::kBoth},                    // its absence shows a flushed table
    Chain{Table::kFilter, kServices, kIptables, Writer::kBoth},               // cluster addresses without endpoints
    Chain{Table::kFilter, kExternalServices, kIptables, Writer::kBoth},       // other addresses without endpoints
    Chain{Table::kFilter, kNodePorts, kIptables, Writer::kBoth},              // accepts health checks
    Chain{Table::kFilter, kForward, kIptables | kIpvs, Writer::kBoth},        // accepts forwarded packets
    Chain{Table::kFilter, kNodePort, kIpvs, Writer::kBoth},                   // accepts health checks
    Chain{Table::kFilter, kProxyFirewall, kIptables | kIpvs, Writer::kBoth},  // drops other sources
    Chain{Table::kFilter, kSourceRanges, kIpvs, Writer::kBoth},               // passes source ranges
    Chain{Table::kFilter, kIpvsFilter, kIpvs, Writer::kBoth},                 // rejects packets to no Service
    Chain{Table::kFilter, kIpvsOutFilter, kIpvs, Writer::kBoth},              // drops packets of this node
    Chain{Table::kFilter, kNodePortNonLocal, kUserspace, Writer::kBoth},      // accepts proxy ports
    Chain{Table::kFilter, kPortalsFirewall, kUserspace, Writer::kBackend},    // drops other sources
    Chain{Table::kFilter, kCanary, kIptables, Writer::kBoth},                 // its absence shows a flushed table
    Chain{Table::kMangle, kCanary, kIptables, Writer::kBoth},                 // its absence shows a flushed table
};

// Chains of one service port, all in table nat: prefix and 16 characters of base32.
inline constexpr std::string_view kFirewallPrefix = "KUBE-FW-";
inline constexpr std::string_view kExternalPrefix = "KUBE-EXT-";
inline constexpr std::string_view kClusterPrefix = "KUBE-SVC-";
inline constexpr std::string_view kLocalPrefix = "KUBE-SVL-";
inline constexpr std::string_view kEndpointPrefix = "KUBE-SEP-";
inline constexpr std::size_t kChainHashLength = 16;

struct ServiceChains {
  std::string_view prefix;
  Modes modes;
  Writer writer;
};
inline constexpr std::array kServiceChains = {
    ServiceChains{kFirewallPrefix, kIptables, Writer::kBoth},   // source ranges of a load balancer address
    ServiceChains{kExternalPrefix, kIptables, Writer::kBoth},   // entry of traffic from outside the cluster
    ServiceChains{kClusterPrefix, kIptables, Writer::kBoth},    // balances over all endpoints
    ServiceChains{kLocalPrefix, kIptables, Writer::kBoth},      // balances over the endpoints of this node
    ServiceChains{kEndpointPrefix, kIptables, Writer::kBoth},   // one endpoint
    ServiceChains{"KUBE-XLB-", kIptables, Writer::kKubeProxy},  // EXT and SVL before 1.25
};

// Chains that kubelet makes or shares: these stay, even if a backend claims them. The iptables backend adds a rule to
// the first one.
inline constexpr std::string_view kKubeletFirewall = "KUBE-FIREWALL";
inline constexpr std::string_view kKubeletCanary = "KUBE-KUBELET-CANARY";
inline constexpr std::string_view kKubeletHint = "KUBE-IPTABLES-HINT";
inline constexpr std::array<std::string_view, 4> kKubeletChains = {kKubeletFirewall, "KUBE-MARK-DROP", kKubeletCanary,
                                                                   kKubeletHint};

// The modes that make this chain; 0 if none does.
constexpr Modes makers_of_chain(std::string_view table, std::string_view chain) noexcept {
  for (const Chain& known : kChains) {
    if (known.name == chain && table_name(known.table) == table) return known.modes;
  }
  if (table != table_name(Table::kNat)) return 0;
  const auto is_base32 = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7'); };
  for (const ServiceChains& known : kServiceChains) {
    if (!chain.starts_with(known.prefix) || chain.size() != known.prefix.size() + kChainHashLength) continue;
    const std::string_view hash = chain.substr(known.prefix.size());
    if (std::all_of(hash.begin(), hash.end(), is_base32)) return known.modes;
  }
  return 0;
}

constexpr bool is_kubelet_chain(std::string_view chain) noexcept {
  return std::find(kKubeletChains.begin(), kKubeletChains.end(), chain) != kKubeletChains.end();
}

}  // namespace sluice::names
