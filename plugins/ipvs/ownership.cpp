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

SetEntry frontend_entry(const ServerKey& key) {
  SetEntry entry;
  entry.address = key.address;
  entry.port = key.port;
  entry.protocol = key.protocol;
  return entry;
}

SetEntry address_entry(const abi::Address& address) {
  SetEntry entry;
  entry.address = address;
  return entry;
}

bool is_service_address(const ServerKey& key, const SetWriter& sets) {
  return std::any_of(kServiceAddresses.begin(), kServiceAddresses.end(),
                     [&](SetId id) { return sets.held(id).contains(frontend_entry(key)); });
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
      return sets.held(SetId::kNodePortSctp).contains(frontend_entry(key));
  }
  return false;
}

// The node may have lost the address, but the set still has it.
bool is_for_node_ports(const abi::Address& address, const Ownership::Evidence& evidence) {
  return evidence.local.contains(address) ||
         evidence.sets.held(SetId::kNodePortAddresses).contains(address_entry(address));
}

}  // namespace

bool Ownership::is_ours(const ServerKey& key, const Evidence& evidence) const {
  if (foreign_.contains(key)) return false;
  if (servers_.contains(key) || is_service_address(key, evidence.sets)) return true;
  if (is_for_node_ports(key.address, evidence) && is_node_port(key, evidence.sets)) return true;
  return !is_excluded(key) && evidence.bound.contains(key.address) && is_ours(key.address, evidence);
}

bool Ownership::is_ours(const abi::Address& address, const Evidence& evidence) const {
  if (addresses_.contains(address)) return true;
  if (evidence.sets_unread) return evidence.bound.contains(address);
  if (evidence.sets.held(SetId::kIpvsAddresses).contains(address_entry(address))) return true;
  // Before 1.27 kube-proxy did not have this set.
  if (!evidence.sets.held(SetId::kIpvsAddresses).empty()) return false;
  return std::any_of(kServiceAddresses.begin(), kServiceAddresses.end(), [&](SetId id) {
    const SetContents& held = evidence.sets.held(id);
    return std::any_of(held.begin(), held.end(), [&](const SetEntry& one) { return one.address == address; });
  });
}

void Ownership::mark_foreign(const ServerKey& key) {
  servers_.erase(key);
  foreign_.insert(key);
}

void Ownership::keep_only(const std::vector<ServerKey>& servers, const std::set<abi::Address>& addresses) {
  const auto is_gone = [&](const ServerKey& key) { return !std::binary_search(servers.begin(), servers.end(), key); };
  std::erase_if(servers_, is_gone);
  std::erase_if(foreign_, is_gone);
  std::erase_if(addresses_, [&](const abi::Address& address) { return !addresses.contains(address); });
}

bool Ownership::is_excluded(const ServerKey& key) const {
  return std::any_of(excluded_.begin(), excluded_.end(),
                     [&](const abi::Prefix& range) { return netfilter::contains(range, key.address); });
}

}  // namespace sluice::ipvs
