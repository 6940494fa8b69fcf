// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tracked UDP flows and the service ports that they may belong to. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/object_name.hpp"
#include "lib/ip.hpp"

namespace sluice::conntrack {

// A UDP entry of the conntrack table, in zone 0.
struct Flow {
  lib::SocketAddress source;
  lib::SocketAddress destination;   // as the client sent it
  lib::SocketAddress reply_source;  // of replies: an endpoint, if a rule translated the flow
  lib::SocketAddress reply_destination;
  std::uint32_t id = 0;         // CTA_ID
  bool redirected = true;       // DNAT by a rule; a translated flow without it was translated by IPVS
  std::uint32_t remaining = 0;  // seconds until the entry times out
  std::uint64_t packets = 0;    // in both directions; 0 if the kernel does not count them
  std::uint64_t replies = 0;    // packets in the reply direction
  bool translated() const { return reply_source != destination; }
  // The entry of the flow was deleted, then a reply that IPVS translated created this entry in the opposite direction.
  // Packets of the client to `reply_destination` match it and bypass the NAT rules.
  bool is_reversed() const { return !translated() && reply_destination != source; }
  bool operator==(const Flow&) const = default;
};

// A filter of flows. Unset fields match every flow; a table may return more flows than match.
struct FlowQuery {
  std::optional<lib::IpAddress> destination;
  std::uint16_t destination_port = 0;  // 0: any
  std::optional<lib::IpAddress> reply_source;
  std::uint16_t reply_source_port = 0;  // 0: any

  bool fits(const Flow& flow) const {
    return (!destination || *destination == flow.destination.address) &&
           (destination_port == 0 || destination_port == flow.destination.port) &&
           (!reply_source || *reply_source == flow.reply_source.address) &&
           (reply_source_port == 0 || reply_source_port == flow.reply_source.port);
  }
  bool all_flows() const { return *this == FlowQuery(); }
  bool operator==(const FlowQuery&) const = default;
};

struct UdpPortKey {
  model::ObjectName service;
  base::Symbol port_name;
  bool operator==(const UdpPortKey&) const = default;
};

// One UDP service port. Lists sorted, each entry once.
struct UdpPort {
  std::vector<lib::SocketAddress> frontends;  // without the node port
  std::uint16_t node_port = 0;                 // 0 = none
  std::vector<lib::SocketAddress> serving;    // endpoints on all nodes, regardless of traffic policies
  std::vector<std::uint16_t> relays;           // ports of this node at which the backend relays
  bool served() const { return !serving.empty() || !relays.empty(); }
  bool operator==(const UdpPort&) const = default;
};
using UdpPortPtr = std::shared_ptr<const UdpPort>;

// The addresses of this node.
struct NodePortScope {
  std::vector<lib::IpAddress> addresses;  // that serve node ports; sorted
  bool loopback = false;                   // 127.0.0.0/8 serves node ports, too
  std::vector<lib::IpAddress> local;      // all addresses but loopback ones; sorted
  bool operator==(const NodePortScope&) const = default;
};

// The UDP service ports that a transaction changed.
struct UdpChange {
  bool full = false;                                     // `ports` are all UDP service ports
  std::vector<std::pair<UdpPortKey, UdpPortPtr>> ports;  // null: removed
  std::shared_ptr<const NodePortScope> node_ports;       // null: unchanged
  bool empty() const { return !full && ports.empty() && !node_ports; }
};

}  // namespace sluice::conntrack

template <>
struct std::hash<sluice::conntrack::UdpPortKey> {
  std::size_t operator()(const sluice::conntrack::UdpPortKey& k) const noexcept {
    return std::hash<sluice::model::ObjectName>()(k.service) * 31 + k.port_name.id();
  }
};

template <>
struct std::hash<sluice::lib::SocketAddress> {
  std::size_t operator()(const sluice::lib::SocketAddress& a) const noexcept {
    return std::hash<sluice::lib::IpAddress>()(a.address) * 31 + a.port;
  }
};
