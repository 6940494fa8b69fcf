// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transaction for one address family: the changes (a delta), or everything (full). Immutable; built by the store
// thread and sent by the apply thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/store/service_port.hpp"
#include "lib/ip.hpp"

namespace sluice::snapshot {

enum class DetectorKind : std::uint8_t { none, cidr, bridge_interface, interface_prefix };

// The facts about the node that a backend receives, for one address family.
struct NodeFacts {
  std::string name;
  lib::IpAddress node_ip;
  std::uint32_t masquerade_mark = 0;
  bool masquerade_all = false;
  bool node_ports_match_all = true;
  bool node_ports_on_localhost = false;
  bool conntrack_tcp_liberal = false;
  DetectorKind detector = DetectorKind::none;
  lib::IpPrefix detector_cidr;
  std::string detector_interface;
  std::vector<lib::IpAddress> node_port_addresses;
  std::vector<lib::IpAddress> local_addresses;
  std::vector<lib::IpPrefix> service_cidrs;  // filled in by the store thread
  bool operator==(const NodeFacts&) const = default;
};

using ServicePortPtr = std::shared_ptr<const store::ServicePort>;

// Limits the memory of a transaction and of a failing sync loop, because tenants write the trigger annotations.
inline constexpr std::size_t kMostTriggerTimes = 65'536;

struct Transaction {
  bool full = false;
  bool partial = false;  // changes in deferred namespaces wait for a later transaction
  lib::Family family = lib::Family::ipv4;
  std::uint64_t base_generation = 0;  // of a delta
  std::uint64_t generation = 0;
  std::shared_ptr<const NodeFacts> node;
  std::uint64_t node_version = 0;
  std::vector<ServicePortPtr> service_ports;      // sorted by key
  std::vector<store::ServicePortKey> removed;     // delta only; sorted
  std::vector<std::chrono::system_clock::time_point> trigger_times;  // at most kMostTriggerTimes

  // A delta without changes; never sent to a backend.
  bool empty() const { return !full && base_generation == generation; }
};

}  // namespace sluice::snapshot
