// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of the kernel and sockets of the proxy in words: Services, their frontends, and where connections to them go.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/service_table.hpp"

namespace sluice::userspace {

// Adds a line for each frontend whose rules are in the kernel or that `writer` has written, and each object that no
// Service port wants. Endpoints are those of the face that the rules lead to: no other part of the node knows them.
// Reads the kernel. Throws sdk::Failure.
void inspect(PortalWriter& writer, const ServiceTable& table, const PortalFacts& facts, inspection::Answer& answer);

}  // namespace sluice::userspace
