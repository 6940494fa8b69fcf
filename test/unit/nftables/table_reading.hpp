// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Holds a table that was listed from a kernel against service ports: whether it means what they ask for, its rules are
// those of the layout, and nothing else is in it.
#pragma once

#include <string>
#include <vector>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::test {

// What is wrong, a sentence each. `ports`: those that are to be in place; where several want the same frontend, any of
// them may have it.
std::vector<std::string> read_against(abi::Family family, const nftables::Listing& listing,
                                      const std::vector<abi::ServicePort>& ports, const abi::NodeFacts& node,
                                      bool counters);

// Where the two have different numbers of elements or chains. They need not have the same numbers in them.
std::vector<std::string> differ_in_size(const nftables::Listing& a, const nftables::Listing& b);

// For people: what one has and the other has not, a line each.
std::string what_differs(abi::Family family, const nftables::Listing& before, const nftables::Listing& after);

}  // namespace sluice::test
