// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// In which order Services are loaded, all ports of one together: name resolution first, then the API server, as everything else waits for
// them. Pure.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// "ns/name" of "ns/name:port".
std::string_view service_of(std::string_view printed);

class Urgency {
 public:
  void clear() { resolvers_.clear(); }
  // What `id` asks for.
  void put(const PortId& id, const ServicePlan& plan);
  void remove(const PortId& id) { resolvers_.erase(id); }
  // `ids` in order; otherwise as it was.
  std::vector<PortId> in_order(std::vector<PortId> ids) const;

 private:
  int rank(const PortId& id) const;

  std::set<PortId> resolvers_;  // those that answer on port 53
};

}  // namespace sluice::nftables
