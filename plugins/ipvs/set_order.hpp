// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Entries in the order in which packets may meet them: what makes an exception for an address is there
// before the address is, and goes after it. Otherwise a client in a source range would be refused for a moment,
// or one whose address is to be kept be masqueraded. Pure.
#pragma once

#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::ipvs {

struct OrderedItems {
  std::vector<SetItem> exceptions;
  std::vector<SetItem> others;
};
OrderedItems in_order(const std::vector<SetItem>& items);

}  // namespace sluice::ipvs
