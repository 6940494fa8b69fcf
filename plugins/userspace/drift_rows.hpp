// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the rules and proxy sockets that differ from what the last transaction wrote, for `sluicectl diff`.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/service_table.hpp"

namespace sluice::userspace {

// Reads the rules, and queries each proxy socket. Throws sdk::Failure.
void add_drift(PortalWriter& writer, const ServiceTable& table, inspection::DriftRows& rows);

}  // namespace sluice::userspace
