// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// --init-only: does everything that needs full privileges, so that the daemon itself runs
// with CAP_NET_ADMIN alone (BEH 11.5, step 10).
#pragma once

#include "core/config/settings.hpp"
#include "lib/status.hpp"

namespace sluice::daemon {

// Writes sysctls, and calls probe() and prepare() of the backend in each family of this
// node. A failed write is a warning, as at a start; fails if the backend works in no family.
// Blocks; needs no API server; writes no rules.
lib::Status init_only(const config::Settings& settings);

}  // namespace sluice::daemon
