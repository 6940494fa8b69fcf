// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of kernel objects as ownership claims; abi::Backend::claims() defines the syntax.
#pragma once

#include <string>
#include <string_view>

#include "names/chains.hpp"
#include "names/objects.hpp"

namespace sluice::names {

inline constexpr std::string_view kChainKind = "iptables";
inline constexpr std::string_view kIpv6ChainKind = "ip6tables";
inline constexpr std::string_view kSetKind = "ipset";
inline constexpr std::string_view kLinkKind = "link";
inline constexpr std::string_view kNftKind = "nft";
inline constexpr std::string_view kServersKind = "ipvs";

// "ip6tables/nat/KUBE-SERVICES".
inline std::string chain_claim(bool ipv6, Table table, std::string_view chain) {
  return std::string(ipv6 ? kIpv6ChainKind : kChainKind)
      .append("/")
      .append(table_name(table))
      .append("/")
      .append(chain);
}
// "ipset/KUBE-CLUSTER-IP".
inline std::string set_claim(std::string_view set) { return std::string(kSetKind).append("/").append(set); }
// "nft/ip6/kube-proxy".
inline std::string nft_claim(bool ipv6) {
  return std::string(kNftKind).append("/").append(nft_family(ipv6)).append("/").append(kNftTable.name);
}
// "link/kube-ipvs0".
inline std::string link_claim() { return std::string(kLinkKind).append("/").append(kServiceLink.name); }
// All virtual servers as one claim: there may be tens of thousands.
inline std::string servers_claim() { return std::string(kServersKind).append("/").append(kVirtualServers.name); }

}  // namespace sluice::names
