// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a listing of the table has otherwise than the last successful apply() wrote it: all that the next full
// transaction would change. Pure.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/nftables/difference.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/offload.hpp"

namespace sluice::nftables {

// Adds a row for each set, chain, rule and element that differs. If a set or the table does not exist, its elements
// have rows only in an answer about one Service. `listing` must not have objects that wait for their removal.
void find_drift(Listing listing, const TableFacts& facts, const Model& model, inspection::DriftRows& rows);

// The same for the flowtable.
void find_drift(const OffloadInterfaces::Difference& difference, inspection::DriftRows& rows);

}  // namespace sluice::nftables
