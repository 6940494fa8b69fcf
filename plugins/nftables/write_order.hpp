// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The order in which Services are written, with all ports of a Service together: DNS first, then the API server, as
// all others depend on them. Pure.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// "ns/name" of "ns/name:port".
std::string_view service_of(std::string_view printed);

class WriteOrder {
 public:
  void clear() { dns_ports_.clear(); }
  // Records the plan of `id`.
  void put(const PortId& id, const ServicePlan& plan);
  void remove(const PortId& id) { dns_ports_.erase(id); }
  // Returns `ids` in write order; equal ranks keep their order.
  std::vector<PortId> in_order(std::vector<PortId> ids) const;

 private:
  int rank(const PortId& id) const;

  std::set<PortId> dns_ports_;  // service ports on port 53
};

}  // namespace sluice::nftables
