// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/names.hpp"

#include <algorithm>

#include "sluice/sdk/service.hpp"

namespace sluice::iptables {

std::string_view prefix(ChainKind kind) noexcept {
  switch (kind) {
    case ChainKind::kFirewall: return names::kFirewallPrefix;
    case ChainKind::kExternal: return names::kExternalPrefix;
    case ChainKind::kCluster: return names::kClusterPrefix;
    case ChainKind::kLocal: return names::kLocalPrefix;
    case ChainKind::kEndpoint: return names::kEndpointPrefix;
  }
  return {};
}

bool comments_are_optional(ChainKind kind) noexcept {
  return kind == ChainKind::kCluster || kind == ChainKind::kLocal || kind == ChainKind::kEndpoint;
}

std::string name(const ChainId& chain) {
  return std::string(prefix(chain.kind)).append(chain.hash.data(), chain.hash.size());
}

std::optional<ChainId> parse_chain(std::string_view name) {
  for (const ChainKind kind : kChainKinds) {
    const std::string_view before = prefix(kind);
    if (!name.starts_with(before) || name.size() != before.size() + netfilter::ShortHash().size()) continue;
    ChainId chain{kind, {}};
    std::copy_n(name.data() + before.size(), chain.hash.size(), chain.hash.begin());
    return chain;
  }
  return std::nullopt;
}

std::string hash_input(std::string_view service_port_name, std::string_view protocol) {
  return std::string(service_port_name).append(protocol);
}

std::string hash_input(const abi::ServicePortKey& key) {
  return hash_input(sdk::service_port_name(key), sdk::protocol_name(key.protocol));
}

HashInput split_hash_input(std::string_view input) noexcept {
  for (const abi::Protocol protocol : {abi::Protocol::kSctp, abi::Protocol::kTcp, abi::Protocol::kUdp}) {
    const std::string_view word = sdk::protocol_name(protocol);
    if (input.ends_with(word)) return {input.substr(0, input.size() - word.size()), protocol};
  }
  return {input, {}};
}

Table table(SharedChain chain) noexcept {
  return chain == SharedChain::kNatServices || chain == SharedChain::kNatNodePorts ? Table::kNat : Table::kFilter;
}

std::string_view name(SharedChain chain) noexcept {
  switch (chain) {
    case SharedChain::kFilterServices: return names::kServices;
    case SharedChain::kFilterExternal: return names::kExternalServices;
    case SharedChain::kFilterNodePorts: return names::kNodePorts;
    case SharedChain::kFilterFirewall: return names::kProxyFirewall;
    case SharedChain::kNatServices: return names::kServices;
    case SharedChain::kNatNodePorts: return names::kNodePorts;
  }
  return {};
}

std::optional<SharedChain> parse_shared(std::string_view table_name, std::string_view chain_name) {
  for (const SharedChain chain : kSharedChains) {
    if (name(chain) == chain_name && netfilter::table_name(table(chain)) == table_name) return chain;
  }
  return std::nullopt;
}

bool is_ours(std::string_view table_name, std::string_view chain) {
  if (!chain.starts_with("KUBE-")) return false;
  if (table_name == "nat" && parse_chain(chain)) return true;
  return std::any_of(kOwnedChains.begin(), kOwnedChains.end(), [&](const names::Chain& owned) {
    return owned.name == chain && netfilter::table_name(owned.table) == table_name;
  });
}

}  // namespace sluice::iptables
