// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Assigns endpoints to slots. Slots are dense, so that a random number below the length selects one, and a change of
// one endpoint moves at most one other. Pure.
#pragma once

#include <vector>

#include "plugins/nftables/elements.hpp"

namespace sluice::nftables {

// Returns the new order. Endpoints in both lists keep their slots if possible, new ones fill free slots from the
// front, and those behind the new end move into the remaining slots. `before` may have any content, such as a
// listing; `wanted` must be sorted and unique.
std::vector<EndpointAddress> assign_slots(const std::vector<EndpointAddress>& before,
                                          const std::vector<EndpointAddress>& wanted);

}  // namespace sluice::nftables
