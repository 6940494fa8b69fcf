// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One Service and its endpoints → its resolved service ports in one family. Pure; the
// only place that interprets traffic policies.
#pragma once

#include <string_view>
#include <vector>

#include "core/store/service_port.hpp"
#include "core/store/slice_cache.hpp"

namespace sluice::store {

struct NodeView {
  std::string_view name;
  std::string_view zone;
  bool external_ips = true;  // false: spec.externalIPs are not served (BEH 1.2)
};

// Empty when the Service has nothing in this family. Sorted by key.
std::vector<ServicePort> resolve(const model::Service& service, base::Family family, const SliceCache& slices,
                                 const NodeView& node);

}  // namespace sluice::store
