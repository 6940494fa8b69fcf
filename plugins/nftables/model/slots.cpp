// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/slots.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::nftables {

std::vector<EndpointAddress> assign_slots(const std::vector<EndpointAddress>& before,
                                          const std::vector<EndpointAddress>& wanted) {
  std::vector<EndpointAddress> slots(wanted.size());
  std::vector<bool> filled(wanted.size());
  std::vector<bool> placed(wanted.size());  // by position in `wanted`
  std::vector<std::size_t> moving;          // positions of endpoints behind the new end
  for (std::size_t slot = 0; slot < before.size(); ++slot) {
    const auto found = std::lower_bound(wanted.begin(), wanted.end(), before[slot]);
    if (found == wanted.end() || *found != before[slot]) continue;
    const auto place = static_cast<std::size_t>(found - wanted.begin());
    if (placed[place]) continue;
    placed[place] = true;
    if (slot < slots.size()) {
      slots[slot] = before[slot];
      filled[slot] = true;
    } else {
      moving.push_back(place);
    }
  }
  std::size_t free = 0;
  const auto fill = [&](const EndpointAddress& endpoint) {
    while (filled[free]) ++free;
    slots[free++] = endpoint;
  };
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    if (!placed[place]) fill(wanted[place]);
  }
  for (const std::size_t place : moving) fill(wanted[place]);
  return slots;
}

}  // namespace sluice::nftables
