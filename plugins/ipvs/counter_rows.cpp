// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/counter_rows.hpp"

#include <map>
#include <utility>

namespace sluice::ipvs {
namespace {

constexpr std::uint32_t kKnownTraffic = abi::kKnownConnections | abi::kKnownPackets | abi::kKnownBytes |
                                        abi::kKnownReplyPackets | abi::kKnownReplyBytes;

// Counters of several objects together.
class Total {
 public:
  void add(const IpvsCounters& counters) {
    known_ = known_ && counters.known;
    sum_.connections += counters.connections;
    sum_.packets += counters.packets;
    sum_.bytes += counters.bytes;
    sum_.reply_packets += counters.reply_packets;
    sum_.reply_bytes += counters.reply_bytes;
  }
  void add_active(std::uint64_t connections) { active_ += connections; }

  // For UDP, IPVS counts no connection as active.
  abi::InspectedCounters row(abi::Protocol protocol, std::uint32_t flags) const {
    abi::InspectedCounters row{};
    row.key.protocol = protocol;
    row.flags = flags;
    if (protocol != abi::Protocol::kUdp) {
      row.flags |= abi::kKnownActive;
      row.active_connections = active_;
    }
    if (!known_) return row;
    row.flags |= kKnownTraffic;
    row.connections = sum_.connections;
    row.packets = sum_.packets;
    row.bytes = sum_.bytes;
    row.reply_packets = sum_.reply_packets;
    row.reply_bytes = sum_.reply_bytes;
    return row;
  }

 private:
  bool known_ = true;
  IpvsCounters sum_;
  std::uint64_t active_ = 0;
};

struct PortTotals {
  Total all;
  std::map<inspection::Place, Total> frontends;
  std::map<RealServer, Total> endpoints;
};

}  // namespace

void count(const std::vector<VirtualServerState>& servers,
           const std::function<std::vector<RealServerState>(const ServerKey&)>& real_servers, const Wanted& wanted,
           inspection::CounterRows& rows) {
  std::map<PortId, PortTotals> ports;
  for (const VirtualServerState& server : servers) {
    const PortId* const owner = wanted.owner(server.key);
    if (owner == nullptr || !rows.wants(owner->first)) continue;
    PortTotals& port = ports[*owner];
    const bool node_port = wanted.is_node_port(server.key);
    Total& frontend = port.frontends[{node_port, node_port ? abi::Address{} : server.key.address, server.key.port,
                                      server.key.protocol}];
    for (Total* const total : {&port.all, &frontend}) total->add(server.counters);
    for (const RealServerState& real : real_servers(server.key)) {
      Total& endpoint = port.endpoints[real.server];
      endpoint.add(real.counters);
      for (Total* const total : {&port.all, &frontend, &endpoint}) total->add_active(real.active);
    }
  }
  for (const auto& [id, port] : ports) {
    rows.add(id.first, port.all.row(id.second, 0));
    for (const auto& [place, total] : port.frontends) {
      abi::InspectedCounters row =
          total.row(id.second, abi::kCountedFrontend | (place.node_port ? abi::kCountedNodePort : 0u));
      row.address = place.address;
      row.port = place.port;
      rows.add(id.first, row);
    }
    for (const auto& [server, total] : port.endpoints) {
      abi::InspectedCounters row = total.row(id.second, abi::kCountedTarget);
      row.target = server.address;
      row.target_port = server.port;
      rows.add(id.first, row);
    }
  }
}

}  // namespace sluice::ipvs
