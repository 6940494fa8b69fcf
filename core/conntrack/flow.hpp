// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the reconciling of UDP flows speaks about: tracked flows, and the service ports
// they may belong to. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/ip.hpp"
#include "core/model/object_name.hpp"

namespace sluice::conntrack {

// One UDP entry of the kernel's table, in zone 0.
struct Flow {
  base::SocketAddress source;
  base::SocketAddress destination;   // what the client sent to
  base::SocketAddress reply_source;  // who answers: an endpoint, when a rule of ours was at work
  base::SocketAddress reply_destination;
  std::uint32_t id = 0;         // the kernel's number for the entry
  bool redirected = true;       // by a rule; otherwise, if translated, by IPVS, which tells tracking behind it
  std::uint32_t remaining = 0;  // seconds until it is forgotten when no packet comes
  std::uint64_t packets = 0;    // both ways; 0 where the kernel does not count them
  std::uint64_t replies = 0;    // of these packets, those in reply direction
  bool translated() const { return reply_source != destination; }
  // Began with an answer that IPVS led back, the entry of the flow having been deleted meanwhile: what the client sends
  // to `reply_destination` belongs to it, and passes no rule that would translate it.
  bool turned_round() const { return !translated() && reply_destination != source; }
  bool operator==(const Flow&) const = default;
};

// Which flows to look at. Everything that is not set fits; a table may show more.
struct FlowQuery {
  std::optional<base::IpAddress> destination;
  std::uint16_t destination_port = 0;  // 0: any
  std::optional<base::IpAddress> reply_source;
  std::uint16_t reply_source_port = 0;  // 0: any

  bool fits(const Flow& flow) const {
    return (!destination || *destination == flow.destination.address) &&
           (destination_port == 0 || destination_port == flow.destination.port) &&
           (!reply_source || *reply_source == flow.reply_source.address) &&
           (reply_source_port == 0 || reply_source_port == flow.reply_source.port);
  }
  bool everything() const { return *this == FlowQuery(); }
  bool operator==(const FlowQuery&) const = default;
};

struct UdpPortKey {
  model::ObjectName service;
  base::Symbol port_name;
  bool operator==(const UdpPortKey&) const = default;
};

// One UDP service port. Lists sorted, each entry once.
struct UdpPort {
  std::vector<base::SocketAddress> frontends;  // all but the node port
  std::uint16_t node_port = 0;                 // 0 = none
  std::vector<base::SocketAddress> serving;    // endpoints on any node, whatever policies say
  std::vector<std::uint16_t> relays;           // where the backend itself receives, at any address of this node
  bool served() const { return !serving.empty() || !relays.empty(); }
  bool operator==(const UdpPort&) const = default;
};
using UdpPortPtr = std::shared_ptr<const UdpPort>;

// The addresses of this node: those at which node ports are served, and all of them.
struct NodePortScope {
  std::vector<base::IpAddress> addresses;  // sorted
  bool loopback = false;                   // all of 127.0.0.0/8, too
  std::vector<base::IpAddress> local;      // sorted; without loopback ones
  bool operator==(const NodePortScope&) const = default;
};

// What a transaction means for UDP flows.
struct UdpChange {
  bool full = false;                                     // `ports` is everything there is
  std::vector<std::pair<UdpPortKey, UdpPortPtr>> ports;  // null: gone
  std::shared_ptr<const NodePortScope> node_ports;       // null: as before
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
struct std::hash<sluice::base::SocketAddress> {
  std::size_t operator()(const sluice::base::SocketAddress& a) const noexcept {
    return std::hash<sluice::base::IpAddress>()(a.address) * 31 + a.port;
  }
};
