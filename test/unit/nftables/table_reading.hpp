// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares a listed table with service ports: its meaning must be what they require, its rules those of the layout,
// and there must be nothing else.
#pragma once

#include <string>
#include <vector>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::test {

// Faults, one sentence each. `ports`: all service ports; a contested frontend may belong to any of them.
std::vector<std::string> read_against(abi::Family family, const nftables::Listing& listing,
                                      const std::vector<abi::ServicePort>& ports, const abi::NodeFacts& node,
                                      bool counters);

// Differences in the numbers of elements and chains of two listings; class numbers and ids may differ.
std::vector<std::string> differ_in_size(const nftables::Listing& a, const nftables::Listing& b);

// Differences between two listings for people, one per line.
std::string what_differs(abi::Family family, const nftables::Listing& before, const nftables::Listing& after);

}  // namespace sluice::test
