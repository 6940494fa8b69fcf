// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A Node, reduced to the fields that affect traffic and health checks (BEH 1.4).
#pragma once

#include <string>
#include <vector>

#include "lib/ip.hpp"

namespace sluice::model {

struct Node {
  std::string name;
  std::string zone;                             // label topology.kubernetes.io/zone; empty = none
  std::vector<lib::IpAddress> internal_ips;    // status.addresses of type InternalIP, in order
  std::vector<lib::IpAddress> external_ips;    // of type ExternalIP
  std::vector<lib::IpPrefix> pod_cidrs;        // spec.podCIDRs
  bool leaving = false;                         // deletionTimestamp, or taint ToBeDeletedByClusterAutoscaler
  bool operator==(const Node&) const = default;
};

}  // namespace sluice::model
