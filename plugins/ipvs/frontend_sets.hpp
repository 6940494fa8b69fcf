// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The set entries of one frontend. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "plugins/ipvs/server_types.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::ipvs {

// Sets with the address and port of a frontend; KUBE-IPVS-FILTER accepts packets to them.
inline constexpr std::array kAddressSets{SetId::kClusterIp, SetId::kExternalIp, SetId::kExternalIpLocal,
                                         SetId::kLoadBalancer};
// The same entries, for external traffic.
inline constexpr std::array kBalancerSets{SetId::kLoadBalancerLocal, SetId::kLoadBalancerFirewall};

struct PortSets {
  abi::Protocol protocol;
  SetId all;
  SetId local;
  bool has_address;  // false: a bitmap of ports
};
inline constexpr std::array kPortSets{
    PortSets{abi::Protocol::kTcp, SetId::kNodePortTcp, SetId::kNodePortLocalTcp, false},
    PortSets{abi::Protocol::kUdp, SetId::kNodePortUdp, SetId::kNodePortLocalUdp, false},
    PortSets{abi::Protocol::kSctp, SetId::kNodePortSctp, SetId::kNodePortLocalSctp, true}};

inline const PortSets& port_sets(abi::Protocol protocol) {
  return *std::find_if(kPortSets.begin(), kPortSets.end(),
                       [&](const PortSets& sets) { return sets.protocol == protocol; });
}

inline SetEntry entry_of(const ServerKey& key) {
  SetEntry entry;
  entry.address = key.address;
  entry.port = key.port;
  entry.protocol = key.protocol;
  return entry;
}

inline SetEntry entry_of(const abi::Address& address) {
  SetEntry entry;
  entry.address = address;
  return entry;
}

inline SetEntry node_port_entry(const PortSets& sets, const ServerKey& key) {
  if (sets.has_address) return entry_of(key);
  SetEntry entry;
  entry.port = key.port;
  return entry;
}

// All entries that a frontend may have, without source ranges.
inline std::vector<SetItem> items_of(const ServerKey& key, bool node_port) {
  if (node_port) {
    const PortSets& sets = port_sets(key.protocol);
    return {{sets.all, node_port_entry(sets, key)}, {sets.local, node_port_entry(sets, key)}};
  }
  std::vector<SetItem> items;
  for (const SetId id : kAddressSets) items.push_back({id, entry_of(key)});
  for (const SetId id : kBalancerSets) items.push_back({id, entry_of(key)});
  items.push_back({SetId::kIpvsAddresses, entry_of(key.address)});
  return items;
}

}  // namespace sluice::ipvs
