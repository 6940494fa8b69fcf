// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the traffic that the relay has counted, for `sluicectl counters`.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/userspace/service_table.hpp"

namespace sluice::userspace {

// Adds a row for each service port that has a listener, and one for each of its endpoints.
void add_counters(const ServiceTable& table, inspection::CounterRows& rows);

}  // namespace sluice::userspace
