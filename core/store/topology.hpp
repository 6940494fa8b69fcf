// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Selects the endpoints of a service port that this node may use: traffic policies, topology hints, terminating
// endpoints (BEH 3). The only place that reads hints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/symbol.hpp"
#include "core/model/endpoint_slice.hpp"

namespace sluice::store {

// One endpoint of a service port, merged from its slices.
struct Candidate {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  bool local = false;
  bool ready = false;
  bool serving = false;
  bool terminating = false;
  // Results of select_endpoints.
  bool in_cluster = false;
  bool in_local = false;
  base::Symbol zone_hints;
  base::Symbol node_hints;
  const model::SliceEndpoint* record = nullptr;  // in the slice cache, valid until it changes; null: no such record
  const model::EndpointDetails* details = nullptr;  // of the record; null: not kept
};

struct PolicyInput {
  bool uses_cluster = true;
  bool uses_local = false;
  std::string_view node_name;  // empty: no node hint matches
  std::string_view zone;       // empty: no zone hint matches
};

enum class TopologyMode { none, same_zone, same_node };

// BEH 3.1. Considers ready candidates only.
TopologyMode topology_mode(const std::vector<Candidate>& candidates, std::string_view node_name, std::string_view zone);

// Sets in_cluster and in_local (BEH 3.2). Returns whether traffic without a usable endpoint is dropped (endpoints exist
// elsewhere) rather than rejected (none exist).
bool select_endpoints(std::vector<Candidate>& candidates, const PolicyInput& policy);

}  // namespace sluice::store
