// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/ownership.hpp"

#include <algorithm>
#include <initializer_list>

#include "plugins/common/netfilter/rule_text.hpp"

namespace sluice::ipvs {
namespace {

constexpr std::initializer_list<SetId> kServiceAddresses = {SetId::kClusterIp, SetId::kExternalIp,
                                                            SetId::kExternalIpLocal, SetId::kLoadBalancer};

SetEntry front(const ServerKey& key) {
  SetEntry entry;
  entry.address = key.address;
  entry.port = key.port;
  entry.protocol = key.protocol;
  return entry;
}

SetEntry alone(const abi::Address& address) {
  SetEntry entry;
  entry.address = address;
  return entry;
}

bool is_service_address(const ServerKey& key, const SetWriter& sets) {
  return std::any_of(kServiceAddresses.begin(), kServiceAddresses.end(),
                     [&](SetId id) { return sets.held(id).contains(front(key)); });
}

bool is_node_port(const ServerKey& key, const SetWriter& sets) {
  SetEntry port;
  port.port = key.port;
  switch (key.protocol) {
    case abi::Protocol::kTcp:
      return sets.held(SetId::kNodePortTcp).contains(port);
    case abi::Protocol::kUdp:
      return sets.held(SetId::kNodePortUdp).contains(port);
    case abi::Protocol::kSctp:
      return sets.held(SetId::kNodePortSctp).contains(front(key));
  }
  return false;
}

// The node may have lost the address, but not the set.
bool is_for_node_ports(const abi::Address& address, const Ownership::Shown& shown) {
  return shown.local.contains(address) || shown.sets.held(SetId::kNodePortAddresses).contains(alone(address));
}

}  // namespace

bool Ownership::is_ours(const ServerKey& key, const Shown& shown) const {
  if (left_alone_.contains(key)) return false;
  if (servers_.contains(key) || is_service_address(key, shown.sets)) return true;
  if (is_for_node_ports(key.address, shown) && is_node_port(key, shown.sets)) return true;
  return !is_excluded(key) && shown.bound.contains(key.address) && is_ours(key.address, shown);
}

bool Ownership::is_ours(const abi::Address& address, const Shown& shown) const {
  if (addresses_.contains(address)) return true;
  if (shown.sets_unread) return shown.bound.contains(address);
  if (shown.sets.held(SetId::kIpvsAddresses).contains(alone(address))) return true;
  // Before 1.27 kube-proxy had no set of them.
  if (!shown.sets.held(SetId::kIpvsAddresses).empty()) return false;
  return std::any_of(kServiceAddresses.begin(), kServiceAddresses.end(), [&](SetId id) {
    const SetContents& held = shown.sets.held(id);
    return std::any_of(held.begin(), held.end(), [&](const SetEntry& one) { return one.address == address; });
  });
}

void Ownership::leave_alone(const ServerKey& key) {
  servers_.erase(key);
  left_alone_.insert(key);
}

void Ownership::keep_only(const std::vector<ServerKey>& servers, const std::set<abi::Address>& addresses) {
  const auto is_gone = [&](const ServerKey& key) { return !std::binary_search(servers.begin(), servers.end(), key); };
  std::erase_if(servers_, is_gone);
  std::erase_if(left_alone_, is_gone);
  std::erase_if(addresses_, [&](const abi::Address& address) { return !addresses.contains(address); });
}

bool Ownership::is_excluded(const ServerKey& key) const {
  return std::any_of(excluded_.begin(), excluded_.end(),
                     [&](const abi::Prefix& range) { return netfilter::contains(range, key.address); });
}

}  // namespace sluice::ipvs
