// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/counter_rows.hpp"

#include <map>
#include <string>
#include <utility>

#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

using inspection::CounterRows;

constexpr std::uint32_t kKnownOfAll =
    std::uint32_t{abi::kKnownConnections} | abi::kKnownBytes | abi::kKnownReplyBytes | abi::kKnownActive;
constexpr std::uint32_t kKnownOfUdp = std::uint32_t{abi::kKnownPackets} | abi::kKnownReplyPackets;

// A service port and its endpoints. Its two listeners may have the same endpoint.
struct CountedPort {
  abi::InspectedCounters all{};
  std::map<std::pair<abi::Address, std::uint16_t>, abi::InspectedCounters> endpoints{};
};

void add_traffic(const Traffic& from, abi::InspectedCounters& to) {
  to.connections += Traffic::get(from.connections);
  to.packets += Traffic::get(from.packets);
  to.bytes += Traffic::get(from.bytes);
  to.reply_packets += Traffic::get(from.reply_packets);
  to.reply_bytes += Traffic::get(from.reply_bytes);
  to.active_connections += Traffic::get(from.active);
  to.refused += Traffic::get(from.refused);
}

}  // namespace

void add_counters(const ServiceTable& table, CounterRows& rows) {
  std::map<PortalId, CountedPort> ports;
  for (const ServiceTable::BoundListener& at : table.bound_listeners()) {
    Listener& listener = *at.listener;
    if (!rows.wants(listener.name())) continue;
    CountedPort& port = ports[{listener.name(), listener.protocol()}];
    add_traffic(listener.traffic(), port.all);
    for (const EndpointPtr& endpoint : listener.balancer().members()) {
      const SocketAddress& target = endpoint->target();
      add_traffic(endpoint->traffic(), port.endpoints[{target.address(), target.port()}]);
    }
  }
  for (auto& [id, port] : ports) {
    const std::uint32_t known = kKnownOfAll | (id.second == abi::Protocol::kUdp ? kKnownOfUdp : 0);
    const auto add = [&, &name = id.first, protocol = id.second](abi::InspectedCounters& row, std::uint32_t flags) {
      row.key.protocol = protocol;
      row.flags = known | flags;
      rows.add(name, row);
    };
    add(port.all, abi::kKnownRefused);
    for (auto& [target, row] : port.endpoints) {
      row.target = target.first;
      row.target_port = target.second;
      add(row, abi::kCountedTarget);
    }
  }
}

}  // namespace sluice::userspace
