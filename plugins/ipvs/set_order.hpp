// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Orders set entries: exceptions for an address are added before the address and removed after it. Otherwise a client
// in a source range would be rejected for a short time, or one with policy Local masqueraded. Pure.
#pragma once

#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::ipvs {

struct OrderedItems {
  std::vector<SetItem> exceptions;
  std::vector<SetItem> regular;
};
OrderedItems in_order(const std::vector<SetItem>& items);

}  // namespace sluice::ipvs
