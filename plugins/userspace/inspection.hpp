// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Describes kernel rules and proxy sockets for `sluicectl services`: frontends, and where connections to them go.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/service_table.hpp"

namespace sluice::userspace {

// Adds a line for each frontend whose rules are in the kernel or that `writer` has written, and each object that no
// service port wants. Shows the endpoints of the listener that the rules redirect to, as the rules do not contain them.
// Reads the kernel. Throws sdk::Failure.
void inspect(PortalWriter& writer, const ServiceTable& table, const PortalFacts& facts, inspection::Answer& answer);

}  // namespace sluice::userspace
