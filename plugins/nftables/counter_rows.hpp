// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The counters of frontends as rows. Pure.
#pragma once

#include <vector>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// Adds a row for each of `counts` whose frontend belongs to a service port.
void add_counters(const std::vector<TrafficCount>& counts, const Model& model, inspection::CounterRows& rows);

}  // namespace sluice::nftables
