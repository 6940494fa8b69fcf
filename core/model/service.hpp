// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A Service, reduced to the fields that affect traffic (BEH 1.2) and to the details that a backend asks for. Objects that
// differ only in other fields (labels, resourceVersion, managedFields) are equal, and such an update is dropped by the
// store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/details.hpp"
#include "core/model/object_name.hpp"
#include "lib/ip.hpp"

namespace sluice::model {

enum class Protocol : std::uint8_t { tcp = 6, udp = 17, sctp = 132 };

enum class ServiceType : std::uint8_t { cluster_ip, node_port, load_balancer, external_name };

struct ServicePortSpec {
  base::Symbol name;  // empty for an unnamed port
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;
  std::uint16_t node_port = 0;  // 0 = none
  bool operator==(const ServicePortSpec&) const = default;
};

struct Service {
  ObjectName name;
  ServiceType type = ServiceType::cluster_ip;
  bool headless = false;                      // clusterIP: None
  std::vector<lib::IpAddress> cluster_ips;   // at most one per address family
  std::vector<ServicePortSpec> ports;
  std::uint32_t affinity_seconds = 0;         // 0 = sessionAffinity None
  std::vector<lib::IpAddress> external_ips;
  std::vector<lib::IpPrefix> source_ranges;  // as given, both families, /0 kept
  std::vector<lib::IpAddress> load_balancer_ips;  // ingress with an IP and ipMode VIP
  bool internal_local = false;                // internalTrafficPolicy: Local
  bool external_local = false;                // externalTrafficPolicy: Local, as written
  std::uint16_t health_check_node_port = 0;
  std::int64_t created = 0;  // creationTimestamp in seconds since 1970; 0: not known
  Shared<ServiceDetails> details;
  bool operator==(const Service&) const = default;
};

}  // namespace sluice::model
