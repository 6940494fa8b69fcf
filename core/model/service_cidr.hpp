// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A ServiceCIDR: ranges that cluster IPs are taken from (BEH 1.1).
#pragma once

#include <string>
#include <vector>

#include "lib/ip.hpp"

namespace sluice::model {

struct ServiceCidr {
  std::string name;
  std::vector<lib::IpPrefix> cidrs;  // spec.cidrs, in order, both families
  bool operator==(const ServiceCidr&) const = default;
};

}  // namespace sluice::model
