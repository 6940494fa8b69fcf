// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// --init-only: what needs every privilege, so that the daemon proper runs with
// CAP_NET_ADMIN alone (BEH 11.5, step 10).
#pragma once

#include "core/base/status.hpp"
#include "core/config/settings.hpp"

namespace sluice::daemon {

// Writes the settings of the kernel and lets the backend try what it needs and write
// its own, in each family this node has. What cannot be written is a warning, as at a start; a backend that
// works in no family is the failure. Blocks; needs no API server; makes no rule.
base::Status init_only(const config::Settings& settings);

}  // namespace sluice::daemon
