// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows a packet through a listing of the table. Pure.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/nftables/difference.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// Adds the steps of the packet of `steps`. `facts` and `model` say what the rules and elements in `listing` mean, and
// what should be there. `to_this_node`: the destination is an address of this node.
void explain(const Listing& listing, const TableFacts& facts, const Model& model, bool to_this_node,
             inspection::Explanation& steps);

}  // namespace sluice::nftables
