// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/topology.hpp"

#include <algorithm>

namespace sluice::store {
namespace {

bool last_resort(const Candidate& c) { return c.serving && c.terminating; }

bool allowed(const Candidate& c, TopologyMode mode, const PolicyInput& policy) {
  switch (mode) {
    case TopologyMode::none: return true;
    case TopologyMode::same_zone: return model::packed_contains(c.zone_hints, policy.zone);
    case TopologyMode::same_node: return model::packed_contains(c.node_hints, policy.node_name);
  }
  return true;
}

}  // namespace

TopologyMode topology_mode(const std::vector<Candidate>& candidates, std::string_view node_name,
                           std::string_view zone) {
  bool any_ready = false;
  bool all_node_hinted = true;
  bool all_zone_hinted = true;
  bool our_node = false;
  bool our_zone = false;
  for (const Candidate& c : candidates) {
    if (!c.ready) continue;
    any_ready = true;
    if (c.node_hints.empty()) all_node_hinted = false;
    if (c.zone_hints.empty()) all_zone_hinted = false;
    our_node = our_node || (!node_name.empty() && model::packed_contains(c.node_hints, node_name));
    our_zone = our_zone || (!zone.empty() && model::packed_contains(c.zone_hints, zone));
  }
  if (!any_ready) return TopologyMode::none;
  if (all_node_hinted && our_node) return TopologyMode::same_node;
  if (all_zone_hinted && our_zone) return TopologyMode::same_zone;
  return TopologyMode::none;
}

bool select_endpoints(std::vector<Candidate>& candidates, const PolicyInput& policy) {
  const auto mark = [&](bool Candidate::* list, auto&& wanted) {
    bool any = false;
    for (Candidate& c : candidates) any = (c.*list = wanted(c)) || any;
    return any;
  };

  bool has_any = false;
  if (policy.uses_cluster) {
    const TopologyMode mode = topology_mode(candidates, policy.node_name, policy.zone);
    has_any = mark(&Candidate::in_cluster, [&](const Candidate& c) { return c.ready && allowed(c, mode, policy); }) ||
              mark(&Candidate::in_cluster, last_resort);
  }
  if (policy.uses_local) {
    mark(&Candidate::in_local, [](const Candidate& c) { return c.local && c.ready; }) ||
        mark(&Candidate::in_local, [](const Candidate& c) { return c.local && last_resort(c); });
    has_any = has_any || std::any_of(candidates.begin(), candidates.end(),
                                     [](const Candidate& c) { return c.ready || last_resort(c); });
  }
  return has_any;
}

}  // namespace sluice::store
