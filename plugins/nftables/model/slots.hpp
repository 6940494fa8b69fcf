// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which endpoint has which slot. Slots are dense, so that a random number below the length of the list finds one, and a
// change of one endpoint moves at most one other. Pure.
#pragma once

#include <vector>

#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

// The new order: whoever is in both keeps its place where there is one, newcomers take free places from the front, and what
// is behind the end moves into what is left. `before` may have anything, such as what the kernel has told; `wanted` is
// sorted, without duplicates.
std::vector<EndpointAddress> assign_slots(const std::vector<EndpointAddress>& before,
                                          const std::vector<EndpointAddress>& wanted);

}  // namespace sluice::nftables
